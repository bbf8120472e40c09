"""What tests share: logs to write, servers to start, readers to compare with."""

"""Code shared by the tests: logs to write, servers to start, readers to compare with."""

"""Commands that change, repair and pack logs."""

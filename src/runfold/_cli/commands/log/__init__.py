"""Commands that run, stop and demonstrate training."""

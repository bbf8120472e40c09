"""Commands that track, stop and demonstrate training."""

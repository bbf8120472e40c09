"""Commands that read what a log holds."""

"""Commands that list, show and check logs."""

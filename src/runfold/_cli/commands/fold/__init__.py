"""Commands that fold and compare groups of runs."""

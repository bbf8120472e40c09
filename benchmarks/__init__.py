"""Benchmarks of Runfold and its peers: the same logs in one run, with all values compared."""

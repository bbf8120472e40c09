"""Runfold beside its peers: the same logs, in one run, with all values compared."""

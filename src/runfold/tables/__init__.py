"""DataFrames: the values of many runs as one table for each kind."""

"""One module for each kind of data: stored values in, rows with named fields out."""

"""A whole logdir in one Parquet file: written, read in place of the logdir, and unpacked again."""

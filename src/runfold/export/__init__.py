"""Results written for others to read: event files, tables in every common format."""

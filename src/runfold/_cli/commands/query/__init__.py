"""Commands that query runs: as tables, by SQL, next to each other, as files."""

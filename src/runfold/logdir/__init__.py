"""Which files make up which run, how they are read, and what a restart hides."""

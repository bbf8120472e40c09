"""The interfaces of other packages, one file for each: switch by changing an import."""

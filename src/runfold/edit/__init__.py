"""Logs changed on disk: values, tags and runs removed, renamed or moved; broken files repaired."""

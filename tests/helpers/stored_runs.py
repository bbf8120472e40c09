"""Runs in a store and in their source folder."""

from helpers.stores import stored

QUIET = {"code": False, "system": False}


def files_of(folder):
    """Return the event files in a folder with their content."""
    return {path.name: path.read_bytes() for path in folder.glob("*tfevents*")}


def events_in(s3, below):
    return {name: data for name, data in stored(s3, below).items() if "tfevents" in name}

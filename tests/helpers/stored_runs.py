"""Runs in a store and in the folder that they came from."""

from helpers.stores import stored

QUIET = {"code": False, "system": False}


def files_of(folder):
    """The event files of a folder, and what is in them."""
    return {path.name: path.read_bytes() for path in folder.glob("*tfevents*")}


def events_in(s3, below):
    return {name: data for name, data in stored(s3, below).items() if "tfevents" in name}

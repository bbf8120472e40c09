"""Logs in other places: uploaded while they are written, fetched when they are read.

    address     what a URL looks like, and which driver it needs
    store       files below a URL: listed, read in parts, written whole, appended to
    sftp        the driver for those of a server
    choice      which files of a run's folder travel; projector: those of embeddings
    sender      what a store lacks of a folder, and the sending of it; freight: large files
    upload      the same in the background, while training goes on
    earlier     the event files that a resumed run has elsewhere
    mirror      the copy in the user's cache that is read, and kept up to date
    places      URLs among paths, as the paths of their copies

The names below are imported when they are first used: whoever logs to a disk, or
reads from one, pays for nothing here.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["Mirror", "Uploader", "fetch_file", "is_url", "upload_folder"]

if TYPE_CHECKING:
    from runfold.storage.address import is_url
    from runfold.storage.mirror import Mirror
    from runfold.storage.places import fetch_file
    from runfold.storage.upload import Uploader, upload_folder

_HOMES = {
    "Mirror": "mirror",
    "Uploader": "upload",
    "fetch_file": "places",
    "is_url": "address",
    "upload_folder": "upload",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'runfold.storage' has no attribute {name!r}")
    return getattr(import_module(f"runfold.storage.{_HOMES[name]}"), name)

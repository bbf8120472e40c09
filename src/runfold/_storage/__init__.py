"""Logs in other places: uploaded while they are written, fetched when they are read.

    url                what a URL looks like, and which driver it needs
    store              files below a URL: listed, read in parts, written whole, appended to
    sftp               the driver for servers that speak SFTP
    key_names          which keys of a store can be files on this machine
    upload_filter      which files of a run's folder are uploaded
    projector_files    the files of embeddings among them
    folder_sync        what a store lacks of a folder, and sending it
    background_upload  large files, one at a time in a thread
    uploader           uploads in the background while training continues
    final_upload       the last uploads of a program that has ended
    upload_process     the process that does them
    earlier_files      the event files that a resumed run has elsewhere
    mirror             the copy in the user's cache that is read and kept up to date
    local_paths        URLs among paths, as the paths of their copies

The names below are imported when they are first used: whoever logs to a disk, or
reads from one, pays for nothing here.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["Mirror", "Uploader", "fetch_file", "is_url", "upload_folder"]

if TYPE_CHECKING:
    from runfold._storage.local_paths import fetch_file
    from runfold._storage.mirror import Mirror
    from runfold._storage.uploader import Uploader, upload_folder
    from runfold._storage.url import is_url

_HOMES = {
    "Mirror": "mirror",
    "Uploader": "uploader",
    "fetch_file": "local_paths",
    "is_url": "url",
    "upload_folder": "uploader",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'runfold._storage' has no attribute {name!r}")
    return getattr(import_module(f"runfold._storage.{_HOMES[name]}"), name)

"""Remote logs: uploaded while they are written, and read in place or from a copy.

    url                parses and checks URLs, and names their drivers
    store              files below a URL: list, read, write, append
    fast_driver        fast reading from S3
    sftp               the driver for SFTP servers
    key_names          checks whether a store's keys can be files on this machine
    upload_filter      chooses the files of a run's folder to upload
    stored_configs     finds the configuration files of runs
    projector_files    finds the files of embeddings
    folder_sync        sends the missing parts of a folder to a store
    background_upload  sends large files, one at a time in a thread
    uploader           uploads in the background while training continues
    final_upload       the last uploads of a program that is exiting
    upload_process     the process that runs these uploads
    earlier_files      fetches a resumed run's earlier event files
    mirror             the files of a remote log: listed, and copied where needed
    remote_files       the event files of a remote log, read in place
    listed_tree        the folders of a remote log
    local_paths        maps URLs to local paths

The names below are imported on first use, so that programs that use only local logs
do not pay for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["Mirror", "Uploader", "fetch_file", "is_url", "upload_folder"]

if TYPE_CHECKING:
    from runfold._storage.local_paths import fetch_file
    from runfold._storage.mirror import Mirror
    from runfold._storage.uploader import Uploader, upload_folder
    from runfold._storage.url import is_url

_MODULES = {
    "Mirror": "mirror",
    "Uploader": "uploader",
    "fetch_file": "local_paths",
    "is_url": "url",
    "upload_folder": "uploader",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'runfold._storage' has no attribute {name!r}")
    return getattr(import_module(f"runfold._storage.{_MODULES[name]}"), name)

"""Files of embeddings, which a configuration can place anywhere below a run's folder."""

from __future__ import annotations

import posixpath
from pathlib import Path

from runfold._conventions import PROJECTOR_CONFIG
from runfold._events.kinds.embedding import parse_config, read_config_bytes


def is_config(name: str) -> bool:
    """Whether a file is a projector's configuration."""
    return name.rpartition("/")[2] == PROJECTOR_CONFIG


def named_files(root: str, name: str) -> set[str]:
    """Return the files that a configuration names, relative to `root`.

    Files outside the configuration's folder are left out. A broken configuration
    names no files.
    """
    try:
        embeddings = parse_config(read_config_bytes(Path(root), name).decode())
    except ValueError:
        return set()  # reported when the run is read
    folder = name.rpartition("/")[0]
    named = (
        path
        for entry in embeddings
        for path in (
            *(entry.tensor_path, entry.metadata_path),
            *(entry.bookmarks_path, entry.sprite_path),
        )
    )
    inside = (posixpath.normpath(path) for path in named if path and not path.startswith("/"))
    return {posixpath.join(folder, path) for path in inside if path.split("/")[0] != ".."}

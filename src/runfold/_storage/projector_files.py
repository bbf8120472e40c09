"""The files of embeddings: anywhere below a run's folder, where its configuration says."""

from __future__ import annotations

import posixpath
from pathlib import Path

from runfold._conventions import PROJECTOR_CONFIG
from runfold._events.kinds.embedding import parse_config, read_config_bytes


def is_config(name: str) -> bool:
    """Whether a file is a projector's configuration."""
    return name.rpartition("/")[2] == PROJECTOR_CONFIG


def named_files(root: str, name: str) -> set[str]:
    """The files that a configuration names, relative to the same root; none where it is broken.

    None of them lies outside the configuration's folder.
    """
    try:
        embeddings = parse_config(read_config_bytes(Path(root), name).decode())
    except ValueError:
        return set()  # whoever reads the run notes it
    folder = name.rpartition("/")[0]
    named = (
        path
        for one in embeddings
        for path in (one.tensor_path, one.metadata_path, one.bookmarks_path, one.sprite_path)
    )
    inside = (posixpath.normpath(path) for path in named if path and not path.startswith("/"))
    return {posixpath.join(folder, path) for path in inside if path.split("/")[0] != ".."}

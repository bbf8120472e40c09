"""Chooses the files of a run's folder to upload: its log, not other files next to it."""

from __future__ import annotations

from runfold._conventions import (
    ARTIFACTS,
    HEARTBEAT,
    PACK_MARKER,
    PACK_PART,
    PLUGINS,
    PROJECTOR_CONFIG,
    STOP,
    STOP_SEEN,
    UNFINISHED_ARTIFACT,
    is_run_file,
    side_path,
)

# Side files to transfer. A stop request comes from the store and is never sent there.
_STOP = f"/{side_path(STOP)}"
_SIDE_FILES = (f"/{side_path(HEARTBEAT)}", _STOP, f"/{side_path(STOP_SEEN)}")


def is_log(name: str) -> bool:
    """Return whether the file at this path is needed to read a log.

    Checkpoints next to the log are not needed. Neither are artifacts, which can be large.
    """
    last = name.rpartition("/")[2]
    if last.startswith(".") or is_artifact(name):
        return False
    return (
        is_run_file(name)
        or last == PROJECTOR_CONFIG
        or last in (PACK_MARKER, PACK_PART)
        or PLUGINS in name.split("/")[:-1]
        or f"/{name}".endswith(_SIDE_FILES)
    )


def is_own(name: str) -> bool:
    """Whether a file below a run's folder belongs to the run and should be uploaded."""
    if is_artifact(name):
        # An artifact that is still being saved has a temporary name.
        return not any(part.startswith(UNFINISHED_ARTIFACT) for part in name.split("/"))
    return is_log(name) and not f"/{name}".endswith(_STOP)


def is_unhidden(name: str) -> bool:
    """Whether a file belongs to the run, or is any other file that is not hidden."""
    return is_own(name) or not any(part.startswith(".") for part in name.split("/"))


def is_artifact(name: str) -> bool:
    """Whether a file is an artifact of a run."""
    return ARTIFACTS in name.split("/")[:-1]

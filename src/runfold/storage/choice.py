"""Which files of a run's folder travel: its log, never whatever else lies beside it."""

from __future__ import annotations

from runfold.events.kinds.embedding import CONFIG_NAME

SIDE_FOLDER = ".runfold"
HEARTBEAT = f"{SIDE_FOLDER}/heartbeat"
# A stop request, which comes from the storage and is never sent there; and that it was seen.
STOP = f"{SIDE_FOLDER}/stop"
SEEN = f"{SIDE_FOLDER}/stop.seen"
# Only the first of several machines can create it: the place belongs to that run.
CLAIM = f"{SIDE_FOLDER}/claim"

_ARTIFACTS = "artifacts"
_PLUGINS = "plugins"
# Of a folder of packs.
_PACKS = ("_runfold.json", "part.parquet")


def is_event_file(name: str) -> bool:
    """Whether a file only ever grows: an event file."""
    return "tfevents" in name.rpartition("/")[2]


def is_log(name: str) -> bool:
    """Whether a file is part of a log, by its path: what reading needs.

    Checkpoints that lie beside it are not, nor are artifacts, which may be large.
    """
    last = name.rpartition("/")[2]
    if last.startswith(".") or is_artifact(name):
        return False
    return (
        is_event_file(name)
        or last == CONFIG_NAME
        or last in _PACKS
        or _PLUGINS in name.split("/")[:-1]
        or f"/{name}".endswith((f"/{HEARTBEAT}", f"/{STOP}", f"/{SEEN}"))
    )


def is_own(name: str) -> bool:
    """Whether a file below a run's folder is the run's own: what is uploaded."""
    if is_artifact(name):
        # While it is being saved it has another name.
        return not any(part.startswith(".saving-") for part in name.split("/"))
    return is_log(name) and not f"/{name}".endswith(f"/{STOP}")


def is_unhidden(name: str) -> bool:
    """Whether a file is the run's own, or any other that is not hidden."""
    return is_own(name) or not any(part.startswith(".") for part in name.split("/"))


def is_artifact(name: str) -> bool:
    """Whether a file was saved with its run."""
    return _ARTIFACTS in name.split("/")[:-1]

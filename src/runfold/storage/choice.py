"""Which files of a run's folder travel: its log, never whatever else lies beside it."""

from __future__ import annotations

from runfold.events.kinds.embedding import CONFIG_NAME

SIDE_FOLDER = ".runfold"
HEARTBEAT = f"{SIDE_FOLDER}/heartbeat"
# That a stop request was seen.
SEEN = f"{SIDE_FOLDER}/stop.seen"

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
    *folders, last = name.split("/")
    if last.startswith(".") or _is_artifact(folders):
        return False
    return (
        is_event_file(name)
        or last == CONFIG_NAME
        or last in _PACKS
        or _PLUGINS in folders
        or name.endswith((f"/{HEARTBEAT}", f"/{SEEN}"))
        or name in (HEARTBEAT, SEEN)
    )


def is_own(name: str) -> bool:
    """Whether a file below a run's folder is the run's own: what is uploaded."""
    *folders, last = name.split("/")
    if _is_artifact(folders):
        # While it is being saved it has another name.
        return not any(part.startswith(".saving-") for part in (*folders, last))
    return is_log(name)


def _is_artifact(folders: list[str]) -> bool:
    return _ARTIFACTS in folders

"""The story of a run, read back from its log: status, configuration, code and where it ran.

A part that cannot be decoded is noted in the run's problems, and the one before
it counts; what no part tells is None, or empty.
"""

from __future__ import annotations

import json
import math
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from runfold._conventions import ARTIFACTS, MARK_TAG, STORY_PREFIX, is_system_tag
from runfold._events.kinds import text
from runfold._events.kinds.hparams import SessionEnd
from runfold._logdir.assemble import assemble_payloads, assemble_series
from runfold._logdir.series import Series
from runfold._story import story_parts
from runfold._story.status import RunStatus
from runfold._story.status import read_status as tell_status
from runfold._story.story_records import Artifact, Code, Mark
from runfold._tables.frames import hparam_values
from runfold._tables.frames.value_rows import Stored, decode_rows, fetched

if TYPE_CHECKING:
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog

# What a part is made of, but for objects by name, which is what most are.
_SHAPES: dict[str, type] = {
    **dict.fromkeys((story_parts.DIFF, story_parts.OUTPUT, story_parts.MARK), str),
    story_parts.COMMAND: object,
}
# What is taken of the part on code; anything else that a log says there is let be.
_CODE: dict[str, type] = {
    **dict.fromkeys(("root", "commit", "branch", "remote", "script", "script_text"), str),
    **dict.fromkeys(("executables", "masked", "notes"), list),
    "is_dirty": bool,
    "left_out": dict,
}
# No program nests its settings so; what does ends in a RecursionError sooner or later.
_DEEPEST = 100
# How the end of an hparams session says what a status says.
_STATES = {"success": "finished", "failure": "failed", "running": "running"}


def read_part(log: RunLog, part: str) -> Any:
    """What a run last said of one part of its story; None where it said nothing."""
    payloads = find_part(log, part)
    if payloads is None:
        return None
    places = (Stored(log, payloads, row) for row in reversed(range(len(payloads))))
    rows = decode_rows(((place, place.read()) for place in places), partial(_decode, part))
    return next((row.value for row in rows), None)


def read_all(log: RunLog, part: str, among: slice = slice(None)) -> list[Any]:
    """All that a run said of one part, or some of it, in the order of its files."""
    payloads = find_part(log, part)
    if payloads is None:
        return []
    payloads = payloads.only(among)
    rows = decode_rows(fetched([(log, payloads)]), partial(_decode, part))
    return [row.value for row in rows]


def read_output(log: RunLog) -> str:
    """The console text."""
    # Not by step: a resumed run counts its chunks from 0 again.
    return "".join(read_all(log, story_parts.OUTPUT))


def read_artifacts(log: RunLog) -> list[Artifact]:
    """The files that were saved with the run; their paths are in the folder where it is now."""
    found = {one["name"]: one for one in read_all(log, story_parts.ARTIFACT)}
    return [
        Artifact(name, os.path.join(log.path, ARTIFACTS, name), one["size"], one["sha256"])
        for name, one in found.items()
    ]


def read_marks(log: RunLog) -> list[Mark]:
    """The events that the run marked, in the order of its files.

    A mark stands at a step of the training, and is hidden with what a restart hides.
    """
    payloads = log.payloads.get(("text", MARK_TAG))
    if payloads is None:
        return []
    rows = decode_rows(fetched([(log, payloads.readable())]), partial(_decode, story_parts.MARK))
    return [Mark(row.step, row.wall_time, row.value) for row in rows]


def read_code(log: RunLog) -> Code | None:
    """The code that ran, with what was not committed."""
    code = read_part(log, story_parts.CODE)
    if code is None:
        return None
    diff, files = read_part(log, story_parts.DIFF), read_part(log, story_parts.FILES)
    said = {name: code[name] for name in _CODE if isinstance(code.get(name), _CODE[name])}
    for name, value in said.items():
        if isinstance(value, list):
            said[name] = [one for one in value if isinstance(one, str)]
        elif isinstance(value, dict):
            said[name] = {key: one for key, one in value.items() if isinstance(one, str)}
    return Code(**said, diff=diff or "", files=files or {})


def read_config(log: RunLog) -> dict[str, Any]:
    """The configuration as it was tracked; of a run without one, what `read_hparams` gives."""
    config: dict[str, Any] | None = read_part(log, story_parts.CONFIG)
    return read_hparams(log) if config is None else config


def read_hparams(log: RunLog) -> dict[str, Any]:
    """The hparams of a run."""
    return hparam_values.read_settings([log]).get(log.name, {})


def read_status(log: RunLog) -> RunStatus:
    """How the run fares. Of one that was not tracked the end of its hparams session tells."""
    words = read_all(log, story_parts.STATUS)
    if words:
        return tell_status(words, log.path, time.time(), log.last_sign)
    state, ended = "unknown", None
    # `add_hparams` of torch calls every session a success: the run's own folder comes first.
    for folder in (log, *log.parts):
        for one in hparam_values.by_run(hparam_values.stored_in(folder, is_own=True)).get(
            log.name, []
        ):
            if isinstance(one, SessionEnd):
                # 0 is what protobuf gives for a time that torch did not set.
                state, ended = _STATES.get(one.status, "unknown"), one.end_time or None
        if state != "unknown":
            break
    first, _ = log.wall_time_range
    return RunStatus(state, None if math.isnan(first) else first, ended)


def read_system(log: RunLog) -> list[Series]:
    """The load of the machine over time: the scalars under `system/`, whatever was restarted."""
    # Their steps count seconds: a marker that voids training steps says nothing of them.
    log.load()
    scalars = assemble_series(log.name, log.files, log.names, "keep")
    return [one for tag, one in scalars.items() if is_system_tag(tag)]


def find_part(log: RunLog, part: str) -> Payloads | None:
    """Where a part lies, whatever the restart policy."""
    key = ("text", STORY_PREFIX + part)
    payloads = log.payloads.get(key)
    if payloads is not None and payloads.hidden:
        # What a run says of itself stays true when it goes back to an earlier step.
        payloads = assemble_payloads(log.files, log.names, log.tags, "keep")[key]
    return None if payloads is None else payloads.readable()


def _decode(part: str, stored: bytes) -> Any:
    """What a stored text says. Raises ValueError for one that is no such part."""
    found = text.decode(stored)
    if not isinstance(found, str):
        raise ValueError("one text was expected, not several")
    try:
        value = story_parts.decode_story(found)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    if part == story_parts.CONFIG and not isinstance(value, dict):
        value = {part: value}
    if not issubclass(type(value), _SHAPES.get(part, dict)):
        raise ValueError(f"the {part} is of the type {type(value).__name__}")
    if part == story_parts.ARTIFACT:
        _check_artifact(value)
    if part == story_parts.FILES and not all(isinstance(one, str) for one in value.values()):
        raise ValueError("the text of a file is no text")
    if _is_deep(value):
        raise ValueError("the JSON is nested too deep")
    if "\\ud" in found.lower():
        json.dumps(value, ensure_ascii=False).encode()  # half a character is no text
    return value


def _check_artifact(value: dict[str, Any]) -> None:
    types = {"name": str, "size": int, "sha256": str}
    for key, wanted in types.items():
        if not isinstance(value.get(key), wanted):
            raise ValueError(f"the artifact's {key} is missing")
    # A log from elsewhere must not make a reader open files outside of the run.
    if any(part in ("", ".", "..") for part in value["name"].split("/")):
        raise ValueError("the artifact's name leads out of the run")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True

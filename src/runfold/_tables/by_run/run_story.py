"""The story of a run, read back from its log: status, configuration, code and machine.

A part that cannot be decoded is recorded in the run's problems, and its previous value is
used instead. Missing parts are None or empty.
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
from runfold._story.status import read_status as derive_status
from runfold._story.story_records import Artifact, Code, Mark
from runfold._tables.frames import hparam_values
from runfold._tables.frames.value_rows import Stored, decode_rows, fetched

if TYPE_CHECKING:
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog

# The types of parts that are not JSON objects.
_SHAPES: dict[str, type] = {
    **dict.fromkeys((story_parts.DIFF, story_parts.OUTPUT, story_parts.MARK), str),
    story_parts.COMMAND: object,
}
# The known fields of the code part; others are ignored.
_CODE: dict[str, type] = {
    **dict.fromkeys(("root", "commit", "branch", "remote", "script", "script_text"), str),
    **dict.fromkeys(("executables", "masked", "notes"), list),
    "is_dirty": bool,
    "left_out": dict,
}
# No real configuration is nested more deeply; a crafted one would cause a RecursionError.
_DEEPEST = 100
# The run state for each status of an hparams session.
_STATES = {"success": "finished", "failure": "failed", "running": "running"}


def read_part(log: RunLog, part: str) -> Any:
    """Return the latest value of one part of a run's story, or None."""
    payloads = find_part(log, part)
    if payloads is None:
        return None
    stored = (Stored(log, payloads, row) for row in reversed(range(len(payloads))))
    rows = decode_rows(((value, value.read()) for value in stored), partial(_decode, part))
    return next((row.value for row in rows), None)


def read_all(log: RunLog, part: str, among: slice = slice(None)) -> list[Any]:
    """Return all values of one part, or a slice of them, in file order."""
    payloads = find_part(log, part)
    if payloads is None:
        return []
    payloads = payloads.only(among)
    rows = decode_rows(fetched([(log, payloads)]), partial(_decode, part))
    return [row.value for row in rows]


def read_output(log: RunLog) -> str:
    """Return the console output."""
    # Chunks are not sorted by step, because a resumed run numbers its chunks from 0 again.
    return "".join(read_all(log, story_parts.OUTPUT))


def read_artifacts(log: RunLog) -> list[Artifact]:
    """Return the files saved with the run; their paths are in the run's current folder."""
    latest = {part["name"]: part for part in read_all(log, story_parts.ARTIFACT)}
    return [
        Artifact(name, os.path.join(log.path, ARTIFACTS, name), part["size"], part["sha256"])
        for name, part in latest.items()
    ]


def read_marks(log: RunLog) -> list[Mark]:
    """Return the events marked during the run, in file order.

    A mark belongs to a training step, so a restart hides it together with that step.
    """
    payloads = log.payloads.get(("text", MARK_TAG))
    if payloads is None:
        return []
    rows = decode_rows(fetched([(log, payloads.readable())]), partial(_decode, story_parts.MARK))
    return [Mark(row.step, row.wall_time, row.value) for row in rows]


def read_code(log: RunLog) -> Code | None:
    """Return the code that ran, including uncommitted changes, or None."""
    code = read_part(log, story_parts.CODE)
    if code is None:
        return None
    diff, files = read_part(log, story_parts.DIFF), read_part(log, story_parts.FILES)
    fields = {name: code[name] for name in _CODE if isinstance(code.get(name), _CODE[name])}
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = [item for item in value if isinstance(item, str)]
        elif isinstance(value, dict):
            fields[name] = {key: item for key, item in value.items() if isinstance(item, str)}
    return Code(**fields, diff=diff or "", files=files or {})


def read_config(log: RunLog) -> dict[str, Any]:
    """Return the tracked configuration or, without one, the hparams and found settings."""
    config: dict[str, Any] | None = read_part(log, story_parts.CONFIG)
    return read_hparams(log) if config is None else config


def read_hparams(log: RunLog) -> dict[str, Any]:
    """Return the hparams and found settings of a run."""
    return hparam_values.read_settings([log]).get(log.name, {})


def read_status(log: RunLog) -> RunStatus:
    """Return the run's status; for an untracked run, the status in its hparams session."""
    parts = read_all(log, story_parts.STATUS)
    if parts:
        return derive_status(parts, log.path, time.time(), log.last_sign)
    state, ended = "unknown", None
    # The run's own folder comes first: torch's `add_hparams` records every session below it as
    # a success.
    for folder in (log, *log.parts):
        for entry in hparam_values.by_run(hparam_values.stored_in(folder, is_own=True)).get(
            log.name, []
        ):
            if isinstance(entry, SessionEnd):
                # torch does not set the time, and protobuf's default is 0.
                state, ended = _STATES.get(entry.status, "unknown"), entry.end_time or None
        if state != "unknown":
            break
    first, _ = log.wall_time_range
    return RunStatus(state, None if math.isnan(first) else first, ended)


def read_system(log: RunLog) -> list[Series]:
    """Return the system metrics over time: the scalars under `system/`, ignoring restarts."""
    # The steps of these scalars count seconds, so a marker that hides training steps
    # does not apply.
    log.load()
    scalars = assemble_series(log.name, log.files, log.names, "keep")
    return [series for tag, series in scalars.items() if is_system_tag(tag)]


def find_part(log: RunLog, part: str) -> Payloads | None:
    """Return the stored values of a part, ignoring the restart policy, or None."""
    key = ("text", STORY_PREFIX + part)
    payloads = log.payloads.get(key)
    if payloads is not None and payloads.hidden:
        # The story stays valid when a run goes back to an earlier step.
        payloads = assemble_payloads(log.files, log.names, log.tags, "keep")[key]
    return None if payloads is None else payloads.readable()


def _decode(part: str, stored: bytes) -> Any:
    """Return the value of a stored part. Raises ValueError if it is malformed."""
    content = text.decode(stored)
    if not isinstance(content, str):
        raise ValueError("expected one string, got several")
    try:
        value = story_parts.decode_story(content)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if part == story_parts.CONFIG and not isinstance(value, dict):
        value = {part: value}
    if not issubclass(type(value), _SHAPES.get(part, dict)):
        raise ValueError(f"the {part} has the wrong type: {type(value).__name__}")
    if part == story_parts.ARTIFACT:
        _check_artifact(value)
    if part == story_parts.FILES and not all(isinstance(item, str) for item in value.values()):
        raise ValueError("the content of a file is not text")
    if _is_deep(value):
        raise ValueError("the JSON is nested too deeply")
    if "\\ud" in content.lower():
        json.dumps(value, ensure_ascii=False).encode()  # raises for an unpaired surrogate
    return value


def _check_artifact(value: dict[str, Any]) -> None:
    types = {"name": str, "size": int, "sha256": str}
    for key, expected in types.items():
        if not isinstance(value.get(key), expected):
            raise ValueError(f"the artifact's {key} is missing")
    # A log from an untrusted source must not make a reader open files outside the run.
    if any(part in ("", ".", "..") for part in value["name"].split("/")):
        raise ValueError("the artifact's path is outside the run's folder")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True

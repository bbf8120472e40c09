"""The files of a stop request in a run's side folder: what was asked, and that the run saw it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from runfold._conventions import SIDE_FOLDER, STOP, STOP_SEEN
from runfold._story.side_files import as_float, read_aside

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Who asked a run to stop, when (seconds since 1970) and why; empty where nobody said."""

    who: str = ""
    host: str = ""
    when: float | None = None
    reason: str = ""


class Heard(NamedTuple):
    """A request that a run was sent, and when the run saw it; None where it did not yet."""

    request: StopRequest
    seen: float | None


def find_request(folder: str, started: float | None) -> Heard | None:
    """What the run of a folder, which began at that time, was asked; None where nothing was.

    One that an earlier run of the same folder saw does not count.
    """
    told = read_aside(folder, STOP_SEEN)
    seen = as_float(told.get("seen"))
    if seen is not None and started is not None and seen >= started:
        return Heard(read_request(told), seen)
    if os.path.exists(os.path.join(folder, SIDE_FOLDER, STOP)):
        return Heard(read_request(read_aside(folder, STOP)), None)
    return None


def read_request(found: Mapping[str, Any]) -> StopRequest:
    """What a request says; a file that says nothing readable is a request all the same."""
    who, host, reason = (str(found.get(name, "")) for name in ("who", "host", "reason"))
    return StopRequest(who, host, as_float(found.get("when")), reason)

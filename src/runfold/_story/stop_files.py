"""The files of a stop request in a run's side folder: the request, and its receipt."""

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
    """A request to stop a run: who sent it, when (seconds since 1970) and why, if known."""

    who: str = ""
    host: str = ""
    when: float | None = None
    reason: str = ""


class SentRequest(NamedTuple):
    """A request that was sent to a run, and the time when the run saw it, or None."""

    request: StopRequest
    seen: float | None


def find_request(folder: str, started: float | None) -> SentRequest | None:
    """Return the stop request for a run that began at `started`; None if there is none.

    Ignores requests that an earlier run in the same folder saw.
    """
    content = read_aside(folder, STOP_SEEN)
    seen = as_float(content.get("seen"))
    if seen is not None and started is not None and seen >= started:
        return SentRequest(read_request(content), seen)
    if os.path.exists(os.path.join(folder, SIDE_FOLDER, STOP)):
        return SentRequest(read_request(read_aside(folder, STOP)), None)
    return None


def read_request(content: Mapping[str, Any]) -> StopRequest:
    """Return the request in a file's content; unreadable content is still a request."""
    who, host, reason = (str(content.get(name, "")) for name in ("who", "host", "reason"))
    return StopRequest(who, host, as_float(content.get("when")), reason)

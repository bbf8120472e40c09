"""Which tags are folded or compared: those with scalars, by name or glob."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold.errors import UnknownTag
from runfold.select import Names, select

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold.logdir.log import RunLog


def choose_tags(logs: Iterable[RunLog], wanted: Names = None) -> list[str]:
    """The tags with scalars in any run that are wanted, by default all. Raises UnknownTag."""
    logs = list(logs)
    names = list(dict.fromkeys(tag for log in logs for tag in log.scalars))
    if wanted is not None:
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    try:
        return select(names, wanted, where="of kind scalar")
    except UnknownTag:
        # A histogram of that name is better named as such than as not there.
        for tag in wanted or ():
            for log in logs:
                if tag not in names and any(tag == other for _, other in log.payloads):
                    log.series(tag)
        raise

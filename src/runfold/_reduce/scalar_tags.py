"""Which tags are folded or compared: those with scalars, by name or glob."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._conventions import STORY_PREFIX, SYSTEM_PREFIX, is_system_tag
from runfold._humanize import human_count
from runfold._select import Names, select
from runfold._story.story_parts import STATUS
from runfold.errors import UnknownTag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runfold._logdir.run_log import RunLog


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


def set_system_apart(logs: Sequence[RunLog], names: list[str]) -> tuple[list[str], list[str]]:
    """The tags that the user logged, and what is left out of them, in words.

    What a tracked run logs of its machine has seconds for steps, and no two runs
    have the same ones. Where there is nothing else, it is what was meant.
    """
    if not any(("text", STORY_PREFIX + STATUS) in log.payloads for log in logs):
        return names, []
    own = [name for name in names if not is_system_tag(name)]
    count = len(names) - len(own)
    if not own or not count:
        return names, []
    tags = human_count(count, "tag")
    return own, [f"{tags} of the machine's load ({SYSTEM_PREFIX}*), not asked for"]

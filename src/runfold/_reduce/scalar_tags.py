"""The scalar tags to reduce or compare, selected by name or glob."""

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


def choose_tags(logs: Iterable[RunLog], tags: Names = None) -> list[str]:
    """Return the selected scalar tags that any run has (default: all). Raises UnknownTag."""
    logs = list(logs)
    names = list(dict.fromkeys(tag for log in logs for tag in log.scalars))
    if tags is not None:
        tags = [tags] if isinstance(tags, str) else list(tags)
    try:
        return select(names, tags, where="of kind scalar")
    except UnknownTag:
        # If the tag is of a different kind, this raises an error that says so.
        for tag in tags or ():
            for log in logs:
                if tag not in names and any(tag == other for _, other in log.payloads):
                    log.series(tag)
        raise


def set_system_apart(logs: Sequence[RunLog], names: list[str]) -> tuple[list[str], list[str]]:
    """Return the tags without the system metrics of tracked runs, and a note on those metrics.

    The steps of system metrics are seconds, which differ between runs. If there are no other
    tags, the system metrics are kept.
    """
    if not any(("text", STORY_PREFIX + STATUS) in log.payloads for log in logs):
        return names, []
    own = [name for name in names if not is_system_tag(name)]
    count = len(names) - len(own)
    if not own or not count:
        return names, []
    tags = human_count(count, "tag")
    return own, [f"{tags} of system metrics ({SYSTEM_PREFIX}*), not requested"]

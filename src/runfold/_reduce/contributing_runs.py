"""The runs of each group that have the requested tags; others are left out and reported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runfold._humanize import escape, human_count, human_list
from runfold._reduce.axes import AXES
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runfold._reduce.groups import Members


def having_axis(
    groups: Sequence[Members], x: str, *, is_lax: bool, has_hints: bool
) -> tuple[list[Members], list[str]]:
    """Return the groups, leaving out runs that lack the x-axis tag, and a note on these runs.

    Raises CannotFold if a run lacks this tag, unless `is_lax` is set.
    """
    if x in AXES:
        return list(groups), []
    names = [log.name for own in groups for log in own.logs if x not in log.scalars]
    if not names:
        return list(groups), []
    lacking = f"{human_count(len(names), 'run')} without tag '{escape(x)}': {human_list(names)}"
    if not is_lax:
        raise CannotFold(
            f"The x-axis is a tag that some runs lack, so nothing was reduced: {lacking}. "
            "To leave these runs out, set lax_tags=True (--lax-tags)."
        )
    having = [replace(own, logs=[log for log in own.logs if x in log.scalars]) for own in groups]
    hint = " (to raise an error instead: --no-lax-tags)" if has_hints else ""
    return [own for own in having if own.logs], [lacking + hint]


def having_tags(
    groups: Sequence[Members], tags: Sequence[str], *, is_lax: bool
) -> tuple[list[Members], list[str]]:
    """Return the groups, leaving out runs that have none of the tags, and a note on these runs.

    Unless `is_lax` is set, a group keeps all its runs if any of them has one of the tags.
    """
    members, names = [], []
    for own in groups:
        having = [log for log in own.logs if _has_any(log.scalars, tags)]
        if having and not is_lax:
            having = list(own.logs)
        if len(having) < len(own.logs):
            kept = {log.name for log in having}
            names += [log.name for log in own.logs if log.name not in kept]
        if having:
            members.append(replace(own, logs=having))
    if not names:
        return members, []
    missing = f"the tag '{escape(tags[0])}'" if len(tags) == 1 else f"any of the {len(tags):,} tags"
    return members, [f"{human_count(len(names), 'run')} without {missing}: {human_list(names)}"]


def _has_any(scalars: Mapping[str, object], tags: Sequence[str]) -> bool:
    if len(tags) == 1:  # quickly, because there can be 100,000 runs
        return tags[0] in scalars
    return any(tag in scalars for tag in tags)

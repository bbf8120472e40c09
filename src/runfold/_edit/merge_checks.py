"""Values of several runs in one: refused where readers could not tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runfold._humanize import escape
from runfold.errors import CannotEdit

if TYPE_CHECKING:
    from runfold._edit.moved_tags import Arrival
    from runfold._edit.run_order import RunEdit
    from runfold._edit.tag_rules import Left

# Of each tag and each run of the result that it is from: the run whose steps of it reach
# furthest so far, and what is left of it there.
_Seen = dict[str, dict[str, tuple[str, "Left"]]]


def check_together(target: str, residents: Sequence[RunEdit], arrivals: Sequence[Arrival]) -> None:
    """Refuse a tag that holds two kinds of data, or that arrives with steps that are there.

    Runs that are merged may share steps: what hides them is known. A tag that moves
    is read after what is there, and may go on behind it. Raises CannotEdit.
    """
    seen: _Seen = {}
    for run in residents:
        for left in run.rewrite.list_left(run.counts):
            _check(seen, target, run.name, left, target)
    for arrival in arrivals:
        for left in arrival.rewrite.list_left(arrival.counts):
            _check(seen, arrival.origin, arrival.source.name, left, target)


def _check(seen: _Seen, origin: str, run: str, left: Left, target: str) -> None:
    known = seen.setdefault(left.name, {})
    for other_origin, (other_run, other) in known.items():
        if not left.kinds & other.kinds:
            one, two = (", ".join(sorted(each.kinds)) for each in (other, left))
            reason = f"they hold two kinds of data: {one} and {two}"
        elif origin != other_origin and left.first <= other.last:
            reason = (
                f"steps {left.first} to {left.last} of the one do not follow behind steps"
                f" {other.first} to {other.last} of the other"
            )
        else:
            continue
        raise CannotEdit(
            f"Run '{escape(target)}' would have tag '{escape(left.name)}' from runs"
            f" '{escape(other_run)}' and '{escape(run)}', and {reason}. Nothing was changed."
            " Rename or delete it in one of them first, with --runs."
        )
    if origin not in known or known[origin][1].last < left.last:
        known[origin] = run, left

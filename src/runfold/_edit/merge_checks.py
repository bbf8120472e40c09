"""Rejects a merge of values from several runs if readers could not tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runfold._humanize import escape
from runfold.errors import CannotEdit

if TYPE_CHECKING:
    from runfold._edit.moved_tags import Arrival
    from runfold._edit.run_order import RunEdit
    from runfold._edit.tag_rules import Remainder

# By tag, and by the run in the result that the tag comes from: the original run with the highest
# step so far, and the remainder of the tag in that run.
_Seen = dict[str, dict[str, tuple[str, "Remainder"]]]


def check_together(target: str, residents: Sequence[RunEdit], arrivals: Sequence[Arrival]) -> None:
    """Reject a tag that has two kinds of data, or that arrives with steps that already exist.

    Merged runs can share steps, because it is known which values are hidden. A moved
    tag is read after the existing values and can continue them. Raises CannotEdit.
    """
    seen: _Seen = {}
    for run in residents:
        for remainder in run.rewrite.list_remainders(run.counts):
            _check(seen, target, run.name, remainder, target)
    for arrival in arrivals:
        for remainder in arrival.rewrite.list_remainders(arrival.counts):
            _check(seen, arrival.origin, arrival.source.name, remainder, target)


def _check(seen: _Seen, origin: str, run: str, remainder: Remainder, target: str) -> None:
    known = seen.setdefault(remainder.name, {})
    for other_origin, (other_run, other) in known.items():
        if not remainder.kinds & other.kinds:
            first, second = (", ".join(sorted(each.kinds)) for each in (other, remainder))
            reason = f"the values are of different kinds: {first} and {second}"
        elif origin != other_origin and remainder.first <= other.last:
            reason = (
                f"steps {remainder.first} to {remainder.last} do not come after steps"
                f" {other.first} to {other.last}"
            )
        else:
            continue
        raise CannotEdit(
            f"Run '{escape(target)}' would get tag '{escape(remainder.name)}' from runs"
            f" '{escape(other_run)}' and '{escape(run)}', and {reason}. Nothing was changed."
            " First rename or delete the tag in one of these runs, with --runs."
        )
    if origin not in known or known[origin][1].last < remainder.last:
        known[origin] = run, remainder

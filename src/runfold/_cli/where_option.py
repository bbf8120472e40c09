"""The runs selected by `--where`, for every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog


def choose_logs(logdir: Logdir, condition: str | None) -> list[RunLog]:
    """Return the runs that match a condition, or all runs if it is None.

    A condition requires reading every run.
    """
    if condition is None:
        return list(logdir.logs.values())
    from runfold._runs import Runs

    return [logdir.logs[name] for name in Runs(logdir).where(condition)]


def count_chosen(logdir: Logdir, count: int) -> str:
    """Return how many of a logdir's runs were selected, such as "2 runs of 5"."""
    total = len(logdir.logs)
    selected = human_count(count, "run")
    return selected if count == total else f"{selected} of {human_count(total)}"


def no_match(logdir: Logdir, condition: str) -> str:
    """Return the message for a condition that no run matches."""
    fact = (
        "The only run does not match"
        if len(logdir.logs) == 1
        else f"None of the {human_count(len(logdir.logs), 'run')} matches"
    )
    return f"{fact} the condition: {escape(condition)}"

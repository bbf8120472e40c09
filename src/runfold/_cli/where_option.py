"""The runs that `--where` chooses, the same for every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog


def choose_logs(logdir: Logdir, condition: str | None) -> list[RunLog]:
    """The runs for which a condition holds, which reads them all; all without one."""
    if condition is None:
        return list(logdir.logs.values())
    from runfold._runs import Runs

    return [logdir.logs[name] for name in Runs(logdir).where(condition)]


def count_chosen(logdir: Logdir, count: int) -> str:
    """How many runs were chosen of how many."""
    every = len(logdir.logs)
    chosen = human_count(count, "run")
    return chosen if count == every else f"{chosen} of {human_count(every)}"


def none_fulfils(logdir: Logdir, condition: str) -> str:
    """What to say where no run is left."""
    of = (
        "The only run does not fulfil"
        if len(logdir.logs) == 1
        else (f"None of the {human_count(len(logdir.logs), 'run')} fulfils")
    )
    return f"{of} the condition: {escape(condition)}"

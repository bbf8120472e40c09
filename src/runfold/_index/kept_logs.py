"""The logs of a logdir's runs by name, each created when it is first accessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runfold._logdir.run_log import RunLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runfold._events.problems import Problem
    from runfold._index.kept_runs import KeptRuns
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.payloads import Payloads


class KeptLogs(Mapping[str, RunLog]):
    """The logs of all runs by name, in order.

    `make` creates the log of the run with this number. The logs need not be created to list or
    count the runs.
    """

    def __init__(self, names: Sequence[str], make: Callable[[int], RunLog]) -> None:
        self._numbers = {name: number for number, name in enumerate(names)}
        self._make = make
        self._made: dict[str, RunLog] = {}

    def __getitem__(self, name: str) -> RunLog:
        log = self._made.get(name)
        # Two threads must get the same log.
        return self._made.setdefault(name, self._make(self._numbers[name])) if log is None else log

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def made(self) -> list[RunLog]:
        """Return the logs that have been created so far."""
        return list(self._made.values())

    def find_made(self, name: str) -> RunLog | None:
        """Return the log of a run if it has been created."""
        return self._made.get(name)


class PlainLog(RunLog):
    """The log of a run that is stored as containing nothing but scalars.

    While the stored run is in use, this is known without reading it.
    """

    __slots__ = ("_kept", "_row")

    def __init__(self, kept: KeptRuns, row: int, run: FoundRun, *options: Any) -> None:
        self._kept = kept
        self._row = row
        super().__init__(run, *options)

    @property
    def is_plain(self) -> bool:
        """Whether the run is still as it is stored, and has not been read."""
        return not self.is_loaded and self._kept.is_used(self._row)

    @property
    def payloads(self) -> Mapping[tuple[str, str], Payloads]:
        """The non-scalar values of the run, by kind and tag."""
        return {} if self.is_plain else super().payloads

    @property
    def own_payloads(self) -> Mapping[tuple[str, str], Payloads]:
        """The non-scalar values in the run's own folder, by kind and tag."""
        return {} if self.is_plain else super().own_payloads

    def list_problems(self) -> list[Problem]:
        """Return all problems of the run."""
        if self.is_plain:
            return [problem.in_run(self.name) for problem in self.late_problems]
        return super().list_problems()

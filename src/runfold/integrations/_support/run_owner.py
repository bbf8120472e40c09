"""Base classes for loggers and callbacks: one for `with` blocks, one for tracking a single run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from runfold._log.track.tracker import Tracker
    from runfold.integrations._support.framework_run import FrameworkRun


class WithBlock:
    """Calls `_leave`, which ends a run, at the end of a `with` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        """End the run, with the exception that ended the block, if any."""


class RunOwner(WithBlock):
    """Gives access to the run in `_run`, and ends it at the end of a `with` block.

    A class that must also end other objects overrides `_leave`.
    """

    _run: FrameworkRun

    def _leave(self, error: BaseException | None) -> None:
        self._run.finish(error)

    @property
    def tracker(self) -> Tracker:
        """The run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self._run.tracker

    @property
    def folder(self) -> str | None:
        """The run's folder; None before the run starts."""
        return self._run.folder

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop."""
        return self._run.should_stop

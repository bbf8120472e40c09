"""The base class of the callbacks for gradient boosting libraries."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any

from runfold._log.track.config import as_plain
from runfold.integrations._support.framework_run import FrameworkRun
from runfold.integrations._support.run_owner import RunOwner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runfold._log.track.tracker import Tracker


class BoostingRun(RunOwner):
    """The base class of callbacks for gradient boosting libraries, with one run per training.

    Training that starts at the first round starts a new run. If training continues a model and uses
    the same callback, the run continues after that model's last round.

    These libraries do not report exceptions to callbacks. In a `with` block, the callback records
    how the block ended. Otherwise, the end of training is recorded when the program ends.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._hparams = hparams
        self._run = FrameworkRun(logdir, name, **options)
        self._has_trained = False
        self._is_training = False

    def _leave(self, error: BaseException | None) -> None:
        self._end_training(error)

    def _start_training(
        self, first_step: int, params: Mapping[str, Any], *, continues: bool
    ) -> None:
        """Start a run, or continue it at a step, and log the hparams.

        `continues` is whether training continues an existing model.
        """
        run = self._run
        if self._has_trained:
            self._end_training(self._find_failure() if self._is_training else None)
            if continues:
                run.continue_at(first_step)
            else:
                self._run = FrameworkRun(run.logdir, run.name, **{**run.options, "resume": False})
        elif run.options.get("resume") is True:
            # The library knows where training resumes. Later steps are from an interrupted attempt.
            run.options["resume"] = first_step
        self._has_trained = self._is_training = True
        # Whether to mark the run as failed if it is still open when the program ends.
        self._run.is_training = self._find_failure() is not None
        # Early stopping may leave the run open, so end it when this object is deleted. When the
        # program ends, other code does that.
        weakref.finalize(self, self._run.finish).atexit = False
        plain = as_plain(self._hparams if self._hparams is not None else {})
        hparams = plain if isinstance(plain, dict) else {"hparams": plain}
        self._run.log_config({**params, **hparams})

    def _end_training(self, error: BaseException | None = None) -> None:
        """End the run."""
        self._is_training = False
        self._run.finish(error)

    def _find_failure(self) -> BaseException | None:
        """Return the error for a run that training did not end; None if it may have succeeded."""
        return RuntimeError("Training did not finish.")


def log_latest(run: Tracker, history: Mapping[Any, Any], step: int) -> None:
    """Log the last value of each metric in `{dataset: {metric: [values]}}`.

    A mean with its standard deviation becomes two tags, which end in `-mean` and `-std`.
    """
    add_scalar = run.add_scalar
    for dataset, metrics in history.items():
        for metric, values in metrics.items():
            if not values:
                continue
            value = values[-1]
            if type(value) is tuple and len(value) == 2:
                add_scalar(f"{dataset}/{metric}-mean", value[0], step)
                add_scalar(f"{dataset}/{metric}-std", value[1], step)
            else:
                add_scalar(f"{dataset}/{metric}", value, step)

"""Runfold makes TensorBoard logs useful after training.

    import runfold as rf

    runs = rf.open("runs/")
    runs["seed-1"]["train/loss"].values
    runs.scalars(tags="train/*")

The names below are imported when they are first used, so that `import runfold`
costs next to nothing.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = ["Run", "Runs", "Series", "SummaryWriter", "errors", "open", "read_table", "track"]

if TYPE_CHECKING:
    from runfold import errors
    from runfold.log.summary import SummaryWriter
    from runfold.log.track import Tracker
    from runfold.logdir.series import Series
    from runfold.run import Run
    from runfold.runs import Runs
    from runfold.runs import open_runs as open
    from runfold.tables.arrow import read_table

    track = Tracker

_HOMES = {
    "Run": ("runfold.run", "Run"),
    "Runs": ("runfold.runs", "Runs"),
    "Series": ("runfold.logdir.series", "Series"),
    "SummaryWriter": ("runfold.log.summary", "SummaryWriter"),
    "errors": ("runfold.errors", None),
    "open": ("runfold.runs", "open_runs"),
    "read_table": ("runfold.tables.arrow", "read_table"),
    "track": ("runfold.log.track", "Tracker"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'runfold' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value: object = import_module(module)
    if attribute is not None:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

"""The run of another tracker that mirrors a tracked run, as a part of the run's writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runfold._log.writer.exit_reason import raised_last
from runfold._log.writer.life import Part

if TYPE_CHECKING:
    from runfold._log.trackers.wandb_mirror import WandbMirror
    from runfold._log.writer.sink import Sink


class Mirroring(Part):
    """Starts a mirror when the run's event file is opened, and ends it when the file is closed."""

    def __init__(self, mirror: WandbMirror) -> None:
        self._mirror = mirror

    def reopen(self, sink: Sink) -> None:
        """Let the mirror start, now that the run has a file."""
        self._mirror.start(raised_last)

    def close(self, sink: Sink) -> None:
        """End the mirror's run, because the file is closed."""
        self._mirror.end(sink.raised())

    def after_fork(self) -> None:
        """Leave the mirror's run to the parent process."""
        self._mirror.leave()


def make_mirror(mirror: Any) -> WandbMirror | None:
    """Return the mirror for the `mirror` option of `rf.track`. Raises TypeError or ValueError."""
    if mirror is None:
        return None
    from runfold._log.trackers.wandb_mirror import WandbMirror

    if isinstance(mirror, str):
        if mirror != "wandb":
            raise ValueError(f"mirror: expected 'wandb', got {mirror!r}")
        return WandbMirror(None)
    if isinstance(mirror, Mapping):
        return WandbMirror(dict(mirror))
    if callable(getattr(mirror, "log", None)) and hasattr(mirror, "config"):
        return WandbMirror(None, mirror)
    raise TypeError(
        "mirror: expected 'wandb', a mapping of options of wandb.init, or a W&B run, "
        f"got {mirror!r}"
    )

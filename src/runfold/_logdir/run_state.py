"""What was read from a run, without its points, for another process or another day."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runfold._core.tag_table import Tags

if TYPE_CHECKING:
    from runfold._events.read_state import ReadState
    from runfold._logdir.run_log import RunLog


class RunState(NamedTuple):
    """What was read from the files in a run's own folder, except the points. It can be pickled.

    The points are counted, and decoded from the files when they are needed. The folders that
    `add_hparams` created have their own states.
    """

    tags: bytes
    files: list[ReadState]


def save_state(log: RunLog) -> RunState:
    """Return what was read from a run's own folder."""
    return RunState(log.tags.dump(), [file.save() for file in log.files])


def restore_state(log: RunLog, state: RunState) -> None:
    """Make a run continue from a state, as if it had read the files itself.

    The run must have a `cache`, from which its points are decoded, and must not have been read.
    Files that the state does not include are read by the next refresh. Raises ValueError if the
    state is invalid; then the run must not be used.
    """
    log.restore(Tags.load(state.tags), state.files)

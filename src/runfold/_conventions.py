"""Names of files, folders and tags: those that Runfold gives, and TensorBoard's that it knows.

No other module has a copy of any of them.
"""

from __future__ import annotations

import itertools
import os
import re
import time

from runfold._system import host_name

# The folder next to a run's event files for what is not its log, and the files in it.
SIDE_FOLDER = ".runfold"
HEARTBEAT = "heartbeat"
# A stop request; and that the run has seen it.
STOP = "stop"
STOP_SEEN = "stop.seen"
# Only the first of several processes or machines can create it: the folder belongs to that run.
CLAIM = "claim"
# Rank zero of a distributed job logs to this run.
RANK_ZERO = "rank-zero"
# The event files that came from a store, and are not sent back to it.
FETCHED = "fetched"
# The index of experiments, in the side folder of a logdir.
EXPERIMENTS = "experiments.json"

# The folder of the files that were saved with a run, and what their names begin with meanwhile.
ARTIFACTS = "artifacts"
UNFINISHED_ARTIFACT = ".saving-"

# A folder of packs: the file that marks it, and the pack in each folder below.
PACK_MARKER = "_runfold.json"
PACK_PART = "part.parquet"

# torch names its event files as Runfold does, and empties existing ones: Runfold's end otherwise.
EVENT_FILE_SUFFIX = ".runfold"
# The event files of a fold: Runfold may replace them, and does not fold them again.
REDUCED_SUFFIX = ".runfold-reduced"
# The event files of `runfold demo`, and the file that marks its logdir.
DEMO_SUFFIX = ".runfold-demo"
# Before a number: the event files that moved tags arrive in.
MOVED_INFIX = ".moved-"

# Tags of what a tracked run records about itself, of its machine's load, and of its batches.
STORY_PREFIX = "runfold/"
MARK_TAG = "runfold/mark"
BOXES_PREFIX = "runfold/boxes/"
SYSTEM_PREFIX = "system/"
BATCH_PREFIX = "batch/"

# The tag that torch gives to the devices that a graph ran on.
GRAPH_METADATA_TAG = "step1"

# Names of TensorBoard.
HPARAMS_PREFIX = "_hparams_/"
HPARAMS_EXPERIMENT = "_hparams_/experiment"
HPARAMS_SESSION_START = "_hparams_/session_start_info"
HPARAMS_SESSION_END = "_hparams_/session_end_info"
CUSTOM_SCALARS_TAG = "custom_scalars__config__"
PROJECTOR_CONFIG = "projector_config.pbtxt"
PLUGINS = "plugins"
EVENT_FILE_MARK = "tfevents"
EVENT_FILE_PREFIX = "events.out.tfevents"

_PROFILE_SUFFIX = ".profile-empty"
_TEMPORARY = re.compile(r"\.runfold-[0-9a-f]{16}\.tmp")

_counter = itertools.count()


def is_run_file(path: str) -> bool:
    """Whether TensorBoard takes the folder of this file for a run, by its name.

    It is an event file, or the empty file by which the profiler makes a run known.
    """
    return EVENT_FILE_MARK in os.path.basename(path)


def is_event_file(path: str) -> bool:
    """Whether a file may hold events, by its name."""
    return is_run_file(path) and not path.endswith(_PROFILE_SUFFIX)


def name_event_file(suffix: str) -> str:
    """Return a name for an event file that no other call has, here or on another machine.

    Those of one process are in order as texts too: TensorBoard reads them in this order,
    and of a run that is resumed within a second the tenth file must not come before the ninth.
    """
    stamp = f"{int(time.time()):010d}.{host_name()}.{os.getpid()}.{next(_counter):06d}"
    return f"{EVENT_FILE_PREFIX}.{stamp}{suffix}"


def name_temporary() -> str:
    """Return a random name for a file or folder that is not finished."""
    # Not from the final name, which may be as long as names can be.
    return f".runfold-{os.urandom(8).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Whether `name_temporary` gave this name."""
    return _TEMPORARY.fullmatch(name) is not None


def side_path(name: str) -> str:
    """Return the path of a side file below its run's folder, with `/`."""
    return f"{SIDE_FOLDER}/{name}"


def is_story_tag(tag: str) -> bool:
    """Whether a tag is of what a run records about itself, or of boxes on its images."""
    return tag.startswith(STORY_PREFIX)


def is_system_tag(tag: str) -> bool:
    """Whether a tag is of the load of a tracked run's machine."""
    return tag.startswith(SYSTEM_PREFIX)

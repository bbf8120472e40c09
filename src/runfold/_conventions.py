"""Names of files, folders and tags: Runfold's own, and TensorBoard's.

Other modules import these names instead of repeating them.
"""

from __future__ import annotations

import itertools
import os
import re
import time

from runfold._system import host_name

# The folder next to a run's event files for files that are not part of the log.
SIDE_FOLDER = ".runfold"
HEARTBEAT = "heartbeat"
# A stop request, and the run's confirmation that it has seen the request.
STOP = "stop"
STOP_SEEN = "stop.seen"
# Only one process on one machine can create this file; the run of that process owns the folder.
CLAIM = "claim"
# Marks a run that rank zero of a distributed job logs to.
RANK_ZERO = "rank-zero"
# The list of event files that were fetched from a store and are not sent back.
FETCHED = "fetched"
# The index of experiments, in the side folder of a logdir.
EXPERIMENTS = "experiments.json"

# The folder for files saved with a run, and the prefix of their names while they are copied.
ARTIFACTS = "artifacts"
UNFINISHED_ARTIFACT = ".saving-"

# A folder of packs: the file that marks it, and the pack in each subfolder.
PACK_MARKER = "_runfold.json"
PACK_PART = "part.parquet"

# torch truncates existing files with the same name, so Runfold's names end differently.
EVENT_FILE_SUFFIX = ".runfold"
# Reduced event files: Runfold may replace them, and does not reduce them again.
REDUCED_SUFFIX = ".runfold-reduced"
# The event files of `runfold demo`, and the file that marks its logdir.
DEMO_SUFFIX = ".runfold-demo"
# Precedes a number in the names of event files for moved tags.
MOVED_INFIX = ".moved-"

# Tags and prefixes for a tracked run's information, system metrics and batches.
STORY_PREFIX = "runfold/"
MARK_TAG = "runfold/mark"
BOXES_PREFIX = "runfold/boxes/"
SYSTEM_PREFIX = "system/"
BATCH_PREFIX = "batch/"

# torch's tag for the devices that a graph ran on.
GRAPH_METADATA_TAG = "step1"

# The suffix that torch's and tensorboardX's writers add to text tags.
TEXT_SUFFIX = "/text_summary"

# TensorBoard's names.
HPARAMS_PREFIX = "_hparams_/"
HPARAMS_EXPERIMENT = "_hparams_/experiment"
HPARAMS_SESSION_START = "_hparams_/session_start_info"
HPARAMS_SESSION_END = "_hparams_/session_end_info"
CUSTOM_SCALARS_TAG = "custom_scalars__config__"
PROJECTOR_CONFIG = "projector_config.pbtxt"
PLUGINS = "plugins"
EVENT_FILE_MARK = "tfevents"
EVENT_FILE_PREFIX = "events.out.tfevents"

# The folder in which Hydra saves the configuration of a job.
HYDRA_FOLDER = ".hydra"
# Files in which frameworks save a run's configuration, in order of precedence. Paths contain `/`.
CONFIG_FILES = (
    "hparams.yaml",
    "hparams.yml",
    ".hydra/config.yaml",
    "params.json",
    "config.yaml",
    "config.yml",
    "config.json",
    "args.yaml",
    "args.yml",
    "args.json",
    ".hydra/overrides.yaml",
    "trainer_state.json",
)
CONFIG_NAMES = frozenset(path.rpartition("/")[2] for path in CONFIG_FILES)
MOST_CONFIG_BYTES = 1 << 20

_PROFILE_SUFFIX = ".profile-empty"
_TEMPORARY = re.compile(r"\.runfold-[0-9a-f]{16}\.tmp")

_counter = itertools.count()


def is_run_file(path: str) -> bool:
    """Whether a file's name makes its folder a run in TensorBoard.

    True for an event file, and for the empty file that the profiler writes to mark a run.
    """
    return EVENT_FILE_MARK in os.path.basename(path)


def is_event_file(path: str) -> bool:
    """Whether a file may contain events, judging by its name."""
    return is_run_file(path) and not path.endswith(_PROFILE_SUFFIX)


def name_event_file(suffix: str, least_seconds: int = 0) -> str:
    """Return a unique name for an event file, across all calls and machines.

    TensorBoard reads files in the alphabetical order of their names, so the names from
    one process sort in the order of the calls: the tenth file within a second must not
    come before the ninth. `least_seconds` is the earliest time that the name can contain.
    """
    seconds = max(int(time.time()), least_seconds)
    stamp = f"{seconds:010d}.{host_name()}.{os.getpid()}.{next(_counter):06d}"
    return f"{EVENT_FILE_PREFIX}.{stamp}{suffix}"


def name_temporary() -> str:
    """Return a random name for a file or folder that is not finished."""
    # Not derived from the final name, which may already have the maximum length.
    return f".runfold-{os.urandom(8).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a name was returned by `name_temporary`."""
    return name.startswith(".") and _TEMPORARY.fullmatch(name) is not None


def side_path(name: str) -> str:
    """Return the path of a side file relative to its run's folder, with `/`."""
    return f"{SIDE_FOLDER}/{name}"


def is_story_tag(tag: str) -> bool:
    """Whether a tag belongs to a run's own information, or to boxes on its images."""
    return tag.startswith(STORY_PREFIX)


def is_system_tag(tag: str) -> bool:
    """Whether a tag is a system metric of a tracked run."""
    return tag.startswith(SYSTEM_PREFIX)

"""W&B, after `wandb.init(sync_tensorboard=True)` or `wandb.tensorboard.patch()`.

W&B reads event files itself, once it knows their folder. It reads one file of a folder
after the other, also in the folders below, and leaves a file as soon as there is a
newer one. It skips files that are older than its run, by the time in their names. So
each file gets a folder of its own in W&B's folder of the run, with a link to the file.
A file that an earlier run has read in part is copied from there on. So is the file of a
log at a URL, which may be removed before W&B has read it.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runfold._conventions import EVENT_FILE_SUFFIX, name_event_file
from runfold._log.trackers.known_trackers import Integration, read_closure
from runfold._system import host_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._log.trackers.followed_files import Feed

_CHUNK = 1 << 20
# How long W&B waits for a second folder, before it decides that tags need no prefix.
_WAIT = 10.0


@dataclass(slots=True)
class Reading:
    """How one run of W&B reads an event file."""

    run: weakref.ref[Any]
    # How much of the event file this run and those before it have received.
    position: int
    # The copy that W&B reads, or None where it reads the event file itself.
    copy: str | None

    def catch_up(self, path: str, size: int) -> None:
        """Let W&B read the first `size` bytes of the event file at `path`."""
        if self.copy is not None and self.position < size:
            with open(path, "rb") as source, open(self.copy, "ab") as copy:
                source.seek(self.position)
                while self.position < size:
                    data = source.read(min(_CHUNK, size - self.position))
                    if not data:
                        return
                    copy.write(data)
                    self.position += len(data)
        self.position = max(self.position, size)


class Wandb(Integration):
    """Tells W&B which event files to read."""

    name = "W&B"
    package = "wandb"

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._run: Any = None
        self._is_ended = False
        # The folders of the event files in the current run, and how many files it reads.
        self._folders: set[str] = set()
        self._files = 0

    def find_run(self, package: Any, feed: Feed) -> Any:
        """Return the active run of this process, if W&B has patched TensorBoard."""
        run = package.run
        if run is None or not package.patched["tensorboard"] or run.disabled:
            return None
        is_ended = self._is_ended and self._run is run
        return run if run._init_pid == os.getpid() and not is_ended else None

    def watch_end(self, run: Any, settle: Callable[[], None]) -> None:
        """Have `settle` called before the run ends, by W&B's own list of such functions."""
        module = sys.modules["wandb.sdk.wandb_run"]

        def settle_and_end() -> None:
            settle()
            # What is logged while W&B finishes is for its next run.
            self._is_ended = self._run is run

        hook = module.TeardownHook(settle_and_end, module.TeardownStage.EARLY)
        run._teardown_hooks.append(hook)

    def forget(self, runs: list[Any]) -> None:
        """Take a new lock: in the child of a fork, nobody would release the old one."""
        self._lock = threading.Lock()

    def send(self, package: Any, run: Any, feed: Feed, size: int) -> None:
        """Have W&B read the event file up to `size`."""
        with self._lock:
            if self._run is not run:
                self._run, self._is_ended = run, False
                self._folders, self._files = set(), 0
            reading = feed.states.get(self.name)
            if reading is None or reading.run() is not run:
                closure = _read_patch(package)
                root = _find_root(feed.folder, closure) or self._infer_root(feed)
                if not root:
                    return
                start = 0 if reading is None else reading.position
                reading = self._begin(run, feed, root, start, closure.get("save", True))
                feed.states[self.name] = reading
            reading.catch_up(feed.path, size)

    def _infer_root(self, feed: Feed) -> str:
        """Return what all folders have in common, or "" where another may follow soon.

        W&B does so, too, and prefixes tags with the part of the folder below it.
        """
        self._folders |= feed.open_folders() | {feed.folder}
        is_early = time.monotonic() < feed.opened + _WAIT
        if len(self._folders) == 1 and is_early and not feed.is_urgent:
            return ""
        return os.path.commonpath(self._folders)

    def _begin(self, run: Any, feed: Feed, root: str, start: int, save: bool) -> Reading:
        """Tell W&B about a file of which earlier runs have received `start` bytes."""
        self._files += 1
        base = os.path.join(_make_base(run), str(self._files))
        folder = os.path.normpath(os.path.join(base, os.path.relpath(feed.folder, root)))
        os.makedirs(folder)
        started = getattr(run.settings, "x_start_time", None) or math.inf
        is_new = _stamp(feed.path) >= started // 1
        name = os.path.basename(feed.path) if is_new else name_event_file(EVENT_FILE_SUFFIX)
        path = os.path.join(folder, name)
        is_copy = start > 0 or feed.is_staged
        if not is_copy:
            os.symlink(feed.path, path)
        run._tensorboard_callback(folder, save=save, root_logdir=base)
        return Reading(weakref.ref(run), start, path if is_copy else None)


def _read_patch(package: Any) -> dict[str, Any]:
    """Return the arguments of `wandb.tensorboard.patch`, which only its patches hold."""
    for module, name in package.patched["tensorboard"]:
        patched = getattr(sys.modules.get(module), name, None)
        if patched is not None:
            return read_closure(vars(patched)["__init__"] if isinstance(patched, type) else patched)
    return {}


def _find_root(folder: str, closure: dict[str, Any]) -> str:
    """Return the root that W&B's patch finds for a folder, or "" where it leaves that open."""
    # The default folder of torch's writer, and of Runfold's: it has no parts to show.
    default = re.search(rf"-\d+_{re.escape(host_name())}", folder)
    if default is not None:
        return folder[: default.end()]
    given = closure.get("root_logdir")
    root = os.path.abspath(given) if given else ""
    return root if root and os.path.commonpath([root, folder]) == root else ""


def _stamp(path: str) -> int:
    """Return the time in the name of an event file, in seconds since 1970."""
    return int(os.path.basename(path).split(".")[3])


def _make_base(run: Any) -> str:
    """Return the folder for copies: in W&B's folder of the run, to be kept as long as that."""
    folder = run.settings.sync_dir
    if os.path.isdir(folder):
        return os.path.join(folder, "runfold")
    import tempfile

    return tempfile.mkdtemp()

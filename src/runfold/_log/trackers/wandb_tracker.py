"""W&B, after `wandb.init(sync_tensorboard=True)` or `wandb.tensorboard.patch()`.

W&B reads event files itself; it only needs their folder. It reads the files of a folder
and its subfolders one after the other, and abandons a file as soon as there is a
newer one. It skips files that are older than its run, judging by the time in their names.
Therefore each file gets a separate folder, with a link to the file, in W&B's folder for
the run. If an earlier run has read part of a file, the rest is copied instead. The file
of a log at a URL is also copied, because it may be deleted before W&B has read it.
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
# Number of seconds that W&B waits for a second folder before it decides that tags need no prefix.
_WAIT = 10.0


@dataclass(slots=True)
class Reading:
    """How far a W&B run has read an event file, and from where."""

    run: weakref.ref[Any]
    # Bytes of the event file that this and earlier runs have received.
    position: int
    # The copy that W&B reads, or None if it reads the event file itself.
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
        # The folders and the number of the event files that the current run reads.
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
        """Call `settle` before the run ends, using W&B's own teardown hooks."""
        module = sys.modules["wandb.sdk.wandb_run"]

        def settle_and_end() -> None:
            settle()
            # Data logged while W&B finishes belongs to its next run.
            self._is_ended = self._run is run

        hook = module.TeardownHook(settle_and_end, module.TeardownStage.EARLY)
        run._teardown_hooks.append(hook)

    def forget(self, runs: list[Any]) -> None:
        """Create a new lock: in a forked child, the old one might never be released."""
        self._lock = threading.Lock()

    def send(self, package: Any, run: Any, feed: Feed, size: int) -> None:
        """Let W&B read the event file up to `size`."""
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
        """Return the common parent of all folders, or "" if another folder may follow soon.

        W&B does the same, and prefixes tags with the path below this folder.
        """
        self._folders |= feed.open_folders() | {feed.folder}
        is_early = time.monotonic() < feed.opened + _WAIT
        if len(self._folders) == 1 and is_early and not feed.is_urgent:
            return ""
        return os.path.commonpath(self._folders)

    def _begin(self, run: Any, feed: Feed, root: str, start: int, save: bool) -> Reading:
        """Announce a file to W&B from byte `start`; earlier runs received the preceding bytes."""
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
    """Return the arguments of `wandb.tensorboard.patch`, which are stored only in its patches."""
    for module, name in package.patched["tensorboard"]:
        patched = getattr(sys.modules.get(module), name, None)
        if patched is not None:
            return read_closure(vars(patched)["__init__"] if isinstance(patched, type) else patched)
    return {}


def _find_root(folder: str, closure: dict[str, Any]) -> str:
    """Return the root that W&B's patch would find for a folder, or "" if it would infer one."""
    # The default folder of torch's and Runfold's writers does not become a prefix.
    default = re.search(rf"-\d+_{re.escape(host_name())}", folder)
    if default is not None:
        return folder[: default.end()]
    given = closure.get("root_logdir")
    root = os.path.abspath(given) if given else ""
    return root if root and os.path.commonpath([root, folder]) == root else ""


def _stamp(path: str) -> int:
    """Return the Unix time in the name of an event file."""
    return int(os.path.basename(path).split(".")[3])


def _make_base(run: Any) -> str:
    """Return the folder for copies, inside W&B's folder for the run: both are deleted together."""
    folder = run.settings.sync_dir
    if os.path.isdir(folder):
        return os.path.join(folder, "runfold")
    import tempfile

    return tempfile.mkdtemp()

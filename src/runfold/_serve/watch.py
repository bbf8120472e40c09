"""Watches logs for changes, reads them in a thread and reports what is new."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from runfold._storage.url import is_url
from runfold._system import file_system_of
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from runfold._serve.live_stream import Hub
    from runfold._serve.run_source import Changed, Source

log = logging.getLogger("runfold.serve")

# Expected errors, logged without a traceback.
_FORESEEN = (RunfoldError, OSError, MemoryError)

POLL_SECONDS = 1.0
# How often to list a bucket. Each listing costs money.
STORE_SECONDS = 5.0
# How often to check even if the system reports changes: it misses some, for example through links.
_SLOW_SECONDS = 5.0
# The minimum pause between refreshes, for jobs that write all the time. Even slow
# refreshes, such as those of very many runs, take at most a fifth of the time.
_PAUSE_SECONDS = 0.25
_PAUSE_RATIO = 4.0

# File systems that other machines change without a notification on this one.
_REMOTE = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4"),
        *("orangefs", "smb3", "smbfs", "wekafs"),
        # Host folders in a virtual machine.
        *("drvfs", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"),
    )
)


class Watcher:
    """Refreshes a source in its own thread whenever its files may have changed.

    `publish` is called in that thread with every change. If `poll` is given, files
    are checked every `poll` seconds; otherwise, they are polled only if the system cannot
    report changes. Errors are logged, and the refresh is tried again.
    """

    def __init__(
        self, source: Source, publish: Callable[[Changed], object], poll: float | None = None
    ) -> None:
        self._source = source
        self._publish = publish
        if poll is None and not can_watch(source.paths):
            poll = STORE_SECONDS if any(map(is_url, source.paths)) else POLL_SECONDS
        self.poll = poll
        self._warned = ""
        self._stop = threading.Event()
        # A daemon, so that a network disk that hangs cannot keep the server from exiting.
        self._thread = threading.Thread(target=self._run, name="runfold-watch", daemon=True)

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """Stop watching, and wait up to `seconds` for the thread to end."""
        self._stop.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        self._load(None)
        if self.poll is None:
            try:
                self._follow(self._watch())
            except Exception as error:  # for example if other programs use all inotify watches
                log.warning(
                    "The system cannot report file changes (%s); checking files every %g s.",
                    error,
                    POLL_SECONDS,
                )
        self._follow(self._ticks(self.poll or POLL_SECONDS))

    def _watch(self) -> Iterator[object]:
        import watchfiles

        return watchfiles.watch(
            *self._source.paths,
            watch_filter=None,
            debounce=400,
            step=50,
            stop_event=self._stop,
            rust_timeout=int(_SLOW_SECONDS * 1000),
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=False,
            # With True, watchfiles would ignore every error and then never report anything.
            ignore_permission_denied=False,
        )

    def _ticks(self, seconds: float) -> Iterator[object]:
        while not self._stop.wait(seconds):
            yield None

    def _follow(self, signs: Iterable[object]) -> None:
        for _ in signs:
            took = self._refresh()
            if self._stop.wait(max(_PAUSE_SECONDS, _PAUSE_RATIO * took)):
                return

    def _refresh(self) -> float:
        """Publish changes; return the seconds this took, excluding the wait for requests."""
        try:
            while (changed := self._source.refresh()) is None:  # requests kept running too long
                if self._stop.wait(_PAUSE_SECONDS):
                    return 0.0
        except _FORESEEN as error:
            self._warn("The logs could not be refreshed: %s", error)
            return 0.0
        except Exception:
            log.exception("The logs could not be refreshed.")
            return 0.0
        self._warned = ""
        began = time.monotonic()
        if changed:
            # Only runs that have been read are checked for growth.
            self._load(changed.new)
            self._publish(changed)
        return changed.seconds + time.monotonic() - began

    def _load(self, names: list[str] | None) -> None:
        try:
            if names is not None or self._source.facts() is None:
                self._source.logs(names)
        except _FORESEEN as error:
            self._warn("Some runs could not be read: %s", error)
        except Exception:
            log.exception("Some runs could not be read.")

    def _warn(self, message: str, error: Exception) -> None:
        """Log an error on one line, but not again until it changes."""
        text = "not enough memory" if isinstance(error, MemoryError) else str(error)
        if text != self._warned:
            log.warning(message, text)
        self._warned = text


def can_watch(paths: Iterable[str]) -> bool:
    """Whether the system reports all changes under these paths, which must be local folders."""
    return all(os.path.isdir(path) and not is_remote(path) for path in paths)


def is_remote(path: str, mounts: str = "/proc/self/mounts") -> bool:
    """Whether a path is on a network disk; False if the system cannot tell."""
    name = file_system_of(path, mounts)
    return name in _REMOTE or name.startswith("fuse")


@asynccontextmanager
async def following(source: Source, hub: Hub, poll: float | None = None) -> AsyncIterator[None]:
    """Send all changes to the hub's pages; at the end of the context, close the hub."""
    loop = asyncio.get_running_loop()

    def publish(changed: Changed) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(hub.publish, changed)

    watcher = Watcher(source, publish, poll)
    watcher.start()
    source.is_live = True
    try:
        yield
    finally:
        hub.close()
        await asyncio.to_thread(watcher.stop)

"""Logs that grow: seen on disk, read in a thread, told to whoever listens."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from runfold._storage.url import is_url
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from runfold._serve.live_stream import Hub
    from runfold._serve.run_source import Changed, Source

log = logging.getLogger("runfold.serve")

# Errors that say what is wrong without a traceback.
_FORESEEN = (RunfoldError, OSError, MemoryError)

POLL_SECONDS = 1.0
# A bucket is listed so often: each time is paid for.
STORE_SECONDS = 5.0
# Also where the system tells of changes: it does not tell of all, as behind some links.
_SLOW_SECONDS = 5.0
# A job that writes all the time is looked at so often at most; and a refresh that takes
# long, as of very many runs, takes up no more than a fifth of the time.
_PAUSE_SECONDS = 0.25
_PAUSE_RATIO = 4.0

# File systems whose changes come from elsewhere, so that this machine is not told of them.
_REMOTE = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4"),
        *("orangefs", "smb3", "smbfs", "wekafs"),
        # Folders of a host in a virtual machine.
        *("drvfs", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"),
    )
)


class Watcher:
    """Refreshes a source in a thread of its own whenever its files may have changed.

    `tell` is called in that thread with every change that was found. With `poll`
    files are looked at every so many seconds; by default only where the system
    does not tell of changes. What goes wrong is logged, and tried again.
    """

    def __init__(
        self, source: Source, tell: Callable[[Changed], object], poll: float | None = None
    ) -> None:
        self._source = source
        self._tell = tell
        if poll is None and not can_watch(source.paths):
            poll = STORE_SECONDS if any(map(is_url, source.paths)) else POLL_SECONDS
        self.poll = poll
        self._warned = ""
        self._stop = threading.Event()
        # A network disk that hangs must not keep the server from ending.
        self._thread = threading.Thread(target=self._run, name="runfold-watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """End, and wait for it for so long."""
        self._stop.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        self._load(None)
        if self.poll is None:
            try:
                self._follow(self._watch())
            except Exception as error:  # such as no more watches: another may have used them up
                log.warning(
                    "The system does not tell of changes (%s); files are looked at every %g s.",
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
            # It would pass over every trouble, and tell of nothing from then on.
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
        """Tell what is new; the seconds of it, but for those in which requests were waited for."""
        try:
            while (changed := self._source.refresh()) is None:  # requests were at work for long
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
            # What nobody read would not be seen to grow.
            self._load(changed.new)
            self._tell(changed)
        return changed.seconds + time.monotonic() - began

    def _load(self, names: list[str] | None) -> None:
        try:
            self._source.logs(names)
        except _FORESEEN as error:
            self._warn("Some runs could not be read: %s", error)
        except Exception:
            log.exception("Some runs could not be read.")

    def _warn(self, message: str, error: Exception) -> None:
        """Log an error in one line, and not again while it stays the same."""
        text = "not enough memory" if isinstance(error, MemoryError) else str(error)
        if text != self._warned:
            log.warning(message, text)
        self._warned = text


def can_watch(paths: Iterable[str]) -> bool:
    """Whether the system tells of all changes below these paths: folders on disks of its own."""
    return all(os.path.isdir(path) and not is_remote(path) for path in paths)


def is_remote(path: str, mounts: str = "/proc/self/mounts") -> bool:
    """Whether a path lies on a network disk; False where the system does not say."""
    try:
        with open(mounts, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return False
    place = os.fsencode(os.path.realpath(path))
    best, kind = b"", b""
    for line in lines:
        parts = line.split()
        if len(parts) < 3:
            continue
        # A space in a path is \040 there.
        root = parts[1].decode("unicode_escape").encode("latin-1", "replace").rstrip(b"/") + b"/"
        # Of two at one place the later one covers the other.
        if (place + b"/").startswith(root) and len(root) >= len(best):
            best, kind = root, parts[2]
    name = kind.decode("ascii", "replace")
    return name in _REMOTE or name.startswith("fuse")


@asynccontextmanager
async def following(source: Source, hub: Hub, poll: float | None = None) -> AsyncIterator[None]:
    """Tell the pages of a hub of all changes, until the end of the context, which ends them."""
    loop = asyncio.get_running_loop()

    def tell(changed: Changed) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(hub.publish, changed)

    watcher = Watcher(source, tell, poll)
    watcher.start()
    source.is_live = True
    try:
        yield
    finally:
        hub.close()
        await asyncio.to_thread(watcher.stop)

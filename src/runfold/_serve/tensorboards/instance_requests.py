"""Actions on instances for commands and pages: open one, end one, read its log."""

from __future__ import annotations

import os
import time
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from runfold._conventions import PACK_MARKER
from runfold._humanize import human_list
from runfold._pack.pack_layout import SUFFIX
from runfold._serve.tensorboards.instance_store import MOST, UnknownInstance
from runfold._serve.tensorboards.log_lines import Line, Marker
from runfold._serve.tensorboards.process_files import LOG, OLD_LOG
from runfold._storage.url import is_url
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runfold._serve.tensorboards.instance_options import Options
    from runfold._serve.tensorboards.instance_runs import Sources
    from runfold._serve.tensorboards.instance_store import Instance, Store

_FOLLOW_SECONDS = 0.2
_LONGEST_LINE = 64 << 10


class OnlyPacks(RunfoldError, ValueError):
    """The logdirs are packs, which TensorBoard cannot read."""


def open_instance(
    store: Store,
    sources: Sources,
    options: Options,
    description: str = "",
    *,
    is_supervisor: bool = False,
    most: int = MOST,
) -> tuple[Instance, bool]:
    """Return a live or new instance with these sources and options, and whether it is new.

    The supervisor starts a new instance the next time it checks the store. If a logdir is a
    URL and this process is not the supervisor, the instance is started here, because this
    process has the credentials; the supervisor then takes it over. Raises OnlyPacks if
    TensorBoard cannot read any logdir, and TooManyInstances beyond the limit of `most`.
    """
    if all(map(_is_pack, sources.logdirs)):
        names = human_list(map(os.path.basename, sources.logdirs))
        raise OnlyPacks(
            f"TensorBoard reads event files, not packs such as {names}. Restore the event files"
            " with `runfold unpack`."
        )
    if is_supervisor or not any(map(is_url, sources.logdirs)):
        return store.claim(sources, options, description, most=most)
    from runfold._serve.tensorboards.instance import spawn

    def begin(instance: Instance) -> dict[str, Any]:
        process = spawn(instance, store.folder_of(instance.id))
        return {"pid": process.pid, "pid_started": process.started}

    return store.claim(sources, options, description, begin, most)


def _is_pack(path: str) -> bool:
    is_file = path.endswith(SUFFIX) and os.path.isfile(path)
    return is_file or os.path.isfile(os.path.join(path, PACK_MARKER))


def end_instance(store: Store, id: str) -> Instance:
    """Ask the supervisor to end an instance, given by id, name, or a prefix of either.

    An instance that has ended is returned unchanged. Raises UnknownInstance.
    """
    instance = store.get(id)
    if not instance.is_live:
        return instance
    return store.update(instance.id, wanted="down", state="TERMINATING")


def read_log(
    store: Store,
    id: str,
    head: int | None = None,
    tail: int | None = None,
    follow: bool = False,
) -> Iterator[str]:
    """Yield the lines of an instance's log, without line breaks: all, the first or the last.

    With `follow`, also yield later lines until the instance ends. Raises UnknownInstance
    at once.
    """
    return (line.text for line in read_lines(store, id, head, tail, follow))


def read_lines(
    store: Store,
    id: str,
    head: int | None = None,
    tail: int | None = None,
    follow: bool = False,
    is_wanted: Callable[[Line], bool] = lambda _: True,
) -> Iterator[Line]:
    """Yield the same lines as `read_log`, with level and time, if `is_wanted` accepts them."""
    instance = store.get(id)
    id = instance.id
    folder = store.folder_of(id)
    log = _Log(os.path.join(folder, LOG))
    marker = Marker(instance.created)
    old = _Log(os.path.join(folder, OLD_LOG)).read(is_whole=True)
    existing = marker.mark(chain(old, log.read(is_whole=not follow)))
    lines: Iterator[Line] = filter(is_wanted, existing)
    if head is not None:
        return islice(lines, head)
    if tail is not None:
        # Evaluated now, because the last lines are those written before following begins.
        lines = iter(deque(lines, maxlen=tail))
    if not follow:
        return lines
    return chain(lines, filter(is_wanted, marker.mark(_follow(store, id, log))))


def _follow(store: Store, id: str, log: _Log) -> Iterator[str]:
    """Yield the lines added to a log until its instance ends."""
    while True:
        # Check before reading, so that the last read includes everything written.
        has_ended = _has_ended(store, id)
        yield from log.read(is_whole=has_ended)
        if has_ended:
            return
        time.sleep(_FOLLOW_SECONDS)


def _has_ended(store: Store, id: str) -> bool:
    try:
        return not store.get(id).is_live
    except UnknownInstance:
        return True


class _Log:
    """A log file that grows, and is truncated from time to time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = 0
        self._part = b""

    def read(self, is_whole: bool = False) -> Iterator[str]:
        """Yield new lines. An incomplete last line is withheld unless `is_whole`."""
        try:
            with open(self._path, "rb") as file:
                if os.fstat(file.fileno()).st_size < self._position:
                    self._position = 0
                file.seek(self._position)
                for line in iter(lambda: file.readline(_LONGEST_LINE), b""):
                    self._position += len(line)
                    self._part += line
                    if line.endswith(b"\n") or len(self._part) >= _LONGEST_LINE:
                        yield self._take()
        except FileNotFoundError:
            return
        if is_whole and self._part:
            yield self._take()

    def _take(self) -> str:
        line, self._part = self._part, b""
        return line.decode("utf-8", "replace").rstrip("\r\n")

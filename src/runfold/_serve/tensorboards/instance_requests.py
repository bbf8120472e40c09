"""What commands and pages ask of instances: open one, end one, read its log."""

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
    """What is to be shown lies in packs, which TensorBoard does not read."""


def open_instance(
    store: Store,
    sources: Sources,
    options: Options,
    description: str = "",
    *,
    is_keeper: bool = False,
    most: int = MOST,
) -> tuple[Instance, bool]:
    """A live instance with these sources and options, or else a new one; whether it is new.

    A keeper starts it as soon as it looks. One of a store is started here and taken over by
    the keeper, unless that is this process: who asks for it has the credentials. Raises
    OnlyPacks where there is nothing that TensorBoard can read, and TooManyInstances where a
    new one would be more than `most`.
    """
    if all(map(_is_pack, sources.logdirs)):
        names = human_list(map(os.path.basename, sources.logdirs))
        raise OnlyPacks(
            f"TensorBoard reads event files, and no packs, as {names}. `runfold unpack` gives"
            " the event files back."
        )
    if is_keeper or not any(map(is_url, sources.logdirs)):
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
    """An instance that is to end, by its id, a prefix or its name; a keeper sees to it.

    One that has ended stays as it is. Raises UnknownInstance.
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
    """Yield the lines of an instance's log, without their ends: all, the first or the last.

    With `follow` also those to come, until the instance has ended. Raises
    UnknownInstance at once.
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
    """Yield what `read_log` does, with what each line tells; of those that are wanted."""
    instance = store.get(id)
    id = instance.id
    folder = store.folder_of(id)
    log = _Log(os.path.join(folder, LOG))
    marker = Marker(instance.created)
    old = _Log(os.path.join(folder, OLD_LOG)).read(is_whole=True)
    there = marker.mark(chain(old, log.read(is_whole=not follow)))
    lines: Iterator[Line] = filter(is_wanted, there)
    if head is not None:
        return islice(lines, head)
    if tail is not None:
        # Now: the last ones are those before what is to come.
        lines = iter(deque(lines, maxlen=tail))
    if not follow:
        return lines
    return chain(lines, filter(is_wanted, marker.mark(_follow(store, id, log))))


def _follow(store: Store, id: str, log: _Log) -> Iterator[str]:
    """Yield what is added to a log until its instance has ended."""
    while True:
        # Asked first: what was written until then is then read.
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
    """A log file that grows, and is now and then begun anew."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = 0
        self._part = b""

    def read(self, is_whole: bool = False) -> Iterator[str]:
        """Yield the lines that are new; the last one once it has its end, or is the last ever."""
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

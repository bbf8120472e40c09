"""The index of a logdir: which id each experiment and trial has, and what was said of it.

It lies in the logdir as `.runfold/experiments.json`, so that all who share the
logdir share the ids; where that cannot be written, and for the URL of a store, in
the user's state folder.
Ids are given in the order of first sight and never again, also when what had
them is gone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import tempfile
import warnings
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from runfold.log.aside import SIDE_FOLDER
from runfold.state import make_private, state_folder
from runfold.storage.address import is_url
from runfold.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_NAME = "experiments.json"
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(slots=True)
class Entry:
    """What the index has of one experiment."""

    id: int
    labels: list[str] = field(default_factory=list)
    note: str = ""
    is_archived: bool = False


@dataclass(slots=True)
class Index:
    """Entries of experiments and ids of trials, by name."""

    experiments: dict[str, Entry] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)

    def take_in(self, experiments: Iterable[str], trials: Iterable[str]) -> bool:
        """Give ids to those that have none, in this order; whether there were any."""
        last = max((entry.id for entry in self.experiments.values()), default=0)
        new = [name for name in dict.fromkeys(experiments) if name not in self.experiments]
        self.experiments |= {name: Entry(last + n) for n, name in enumerate(new, 1)}
        last = max(self.trials.values(), default=0)
        others = [name for name in trials if name not in self.trials]
        self.trials |= {name: last + n for n, name in enumerate(others, 1)}
        return bool(new or others)

    def follow(self, shared: Index) -> None:
        """Take what the index of others has and this one lacks, if its ids are free here."""
        taken = {entry.id for entry in self.experiments.values()}
        for name, entry in shared.experiments.items():
            if entry.id not in taken:
                self.experiments.setdefault(name, entry)
        numbers = set(self.trials.values())
        for name, number in shared.trials.items():
            if number not in numbers:
                self.trials.setdefault(name, number)


def load_index(logdir: str, experiments: list[str], trials: list[str]) -> Index:
    """The index with an id for each of these names. Writes it if some are new."""
    index = _read(_place_in(logdir)) or Index()
    if not index.take_in(experiments, trials):
        return index
    return change_index(logdir, lambda index: index.take_in(experiments, trials))


def change_index(logdir: str, change: Callable[[Index], object]) -> Index:
    """Change the index, and give it as it is then; nobody else changes it meanwhile.

    Where the logdir cannot be written, the user's own copy is changed. Raises OSError.
    """
    own, place = _own_place(logdir), _place_in(logdir)
    if is_url(logdir):
        return _change(own, change)
    try:
        if place != own:
            return _change(place, change)
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
    shared = _read(os.path.join(logdir, SIDE_FOLDER, _NAME)) or Index()

    def change_own(index: Index) -> None:
        # Those who may write there speak of their ids: what is new here is given the same.
        index.follow(shared)
        change(index)

    return _change(own, change_own)


def _place_in(logdir: str) -> str:
    """Where the index is: in the logdir, unless it cannot be written and the user has one."""
    place = os.path.join(logdir, SIDE_FOLDER, _NAME)
    own = _own_place(logdir)
    if is_url(logdir):
        return own
    folder = os.path.dirname(place) if os.path.exists(place) else logdir
    return own if not os.access(folder, os.W_OK) and os.path.exists(own) else place


def _own_place(logdir: str) -> str:
    whole = os.fsencode(logdir.rstrip("/") if is_url(logdir) else os.path.realpath(logdir))
    return state_folder("experiments", f"{sha256(whole).hexdigest()[:32]}.json")


def _change(place: str, change: Callable[[Index], object]) -> Index:
    folder = os.path.dirname(place)
    if os.path.basename(folder) == SIDE_FOLDER:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
            _share(folder, 0o2777)
    else:
        make_private(folder)
    with _locked(place + ".lock"):
        index = _read(place) or Index()
        change(index)
        _write(place, index)
    return index


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    is_new = not os.path.exists(path)
    with open(path, "ab") as file:
        if is_new and os.path.basename(os.path.dirname(path)) == SIDE_FOLDER:
            _share(path, 0o666)
        # Some network disks have no locks; a rename keeps the file whole all the same.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read(place: str) -> Index | None:
    """What a file says; None where there is none, or one that says nothing. Raises OSError."""
    try:
        with open(place, encoding="utf-8") as file:
            found = json.load(file)
        return Index(
            {name: _entry(entry) for name, entry in found["experiments"].items()},
            {str(name): int(number) for name, number in found["trials"].items()},
        )
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        _set_aside(place)
        return None


def _entry(said: Any) -> Entry:
    labels = [str(label) for label in said["labels"]]
    return Entry(int(said["id"]), labels, str(said["note"]), bool(said["is_archived"]))


def _set_aside(place: str) -> None:
    """Keep a broken index beside the new one; it is the only place where the old ids are."""
    kept = place + ".broken"
    with contextlib.suppress(OSError):
        os.replace(place, kept)
    warnings.warn(
        f"{escape(place)} could not be read. Experiments get new ids, and labels and notes are"
        f" not there; what was in it is in {escape(kept)}.",
        RuntimeWarning,
        stacklevel=2,
    )


def _share(path: str, most: int) -> None:
    """Let whoever may read and write the logdir do so with what lies in its `.runfold`.

    Otherwise the ids would be those of the one who asked first, and all others,
    whom their umask keeps out, would have ids of their own.
    """
    folder = path if os.path.basename(path) == SIDE_FOLDER else os.path.dirname(path)
    with contextlib.suppress(OSError):  # a disk without modes, or the file of somebody else
        os.chmod(path, os.stat(os.path.dirname(folder)).st_mode & most)


def _write(place: str, index: Index) -> None:
    handle, draft = tempfile.mkstemp(prefix=".experiments-", dir=os.path.dirname(place))
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(index), file, indent=1, ensure_ascii=True)
        if os.path.basename(os.path.dirname(place)) == SIDE_FOLDER:
            _share(draft, 0o666)
        os.replace(draft, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise

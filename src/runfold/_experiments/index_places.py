"""The location of a logdir's index: the logdir itself or the user's state folder.

In the logdir it is `.runfold/experiments.json`, so that all users of the logdir share the
ids. The index is in the state folder if the logdir cannot be written, if another user
could have planted its `.runfold`, or if the logdir is a URL.
"""

from __future__ import annotations

import contextlib
import errno
import os
import warnings
from hashlib import sha256
from typing import TYPE_CHECKING

from runfold._conventions import EXPERIMENTS, SIDE_FOLDER
from runfold._experiments.experiment_index import Index
from runfold._experiments.index_file import IndexFile
from runfold._files import Untrusted, open_folder
from runfold._humanize import escape
from runfold._state import make_private, state_folder
from runfold._storage.url import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


def load_index(
    logdir: str, experiments: list[str], trials: list[str], *, is_written: bool = True
) -> Index:
    """Return the index, with an id for each of these names.

    New ids are stored in the index, unless `is_written` is False.
    """
    is_own = is_url(logdir) or (_has_own(logdir) and not _can_share(logdir))
    index = (_read_own if is_own else _read_shared)(logdir)
    if not index.assign_ids(experiments, trials) or not is_written:
        return index
    return change_index(logdir, lambda index: index.assign_ids(experiments, trials))


def change_index(logdir: str, change: Callable[[Index], object]) -> Index:
    """Change the index under its lock and return it.

    If the logdir cannot be written, the user's own copy is changed. Raises OSError.
    """
    if is_url(logdir):
        with _open_own(logdir) as file:
            return _apply(change, file)
    try:
        with _open_shared(logdir, is_written=True) as file:
            return _apply(change, file)
    except (Untrusted, TimeoutError) as error:
        warnings.warn(
            f"{escape(os.fsdecode(error.filename))}: {error.strerror}. Ids, labels and notes are"
            " stored in your state folder instead of the logdir, and are not shared with others.",
            RuntimeWarning,
            stacklevel=2,
        )
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
    shared = _read_shared(logdir)

    def change_own(index: Index) -> None:
        # Other users see the ids in the logdir's index, so use the same ids here.
        index.merge(shared)
        change(index)

    with _open_own(logdir) as file:
        return _apply(change_own, file)


def _apply(change: Callable[[Index], object], file: IndexFile) -> Index:
    with file.locked():
        index = file.read() or Index()
        change(index)
        file.write(index)
    return index


@contextlib.contextmanager
def _open_shared(logdir: str, *, is_written: bool = False) -> Iterator[IndexFile]:
    """Yield the index's file in the logdir; create its folder if `is_written`.

    Raises Untrusted, like `open_folder`, and OSError.
    """
    side = os.path.join(logdir, SIDE_FOLDER)
    is_new = is_written and _make_folder(side)
    mode = os.stat(logdir).st_mode
    with open_folder(side, is_written=is_written) as folder:
        if is_new:
            _share(folder, mode)
        yield IndexFile(folder, os.path.join(side, EXPERIMENTS), mode & 0o666)


@contextlib.contextmanager
def _open_own(logdir: str) -> Iterator[IndexFile]:
    """Yield the index's file in the user's state folder, created if needed. Raises OSError."""
    path = _own_path(logdir)
    make_private(os.path.dirname(path))
    # Links are allowed here, because the state folder belongs to the user.
    with open_folder(os.path.realpath(os.path.dirname(path))) as folder:
        yield IndexFile(folder, path, 0o600)


def _read_shared(logdir: str) -> Index:
    """Return the index in the logdir; an empty one if there is none."""
    try:
        with _open_shared(logdir) as file:
            return file.read() or Index()
    except (FileNotFoundError, PermissionError):
        return Index()


def _read_own(logdir: str) -> Index:
    """Return the index in the user's state folder; an empty one if there is none."""
    if not _has_own(logdir):
        return Index()
    with _open_own(logdir) as file:
        return file.read() or Index()


def _has_own(logdir: str) -> bool:
    """Return whether the user's state folder has an index for the logdir."""
    return os.path.exists(_own_path(logdir))


def _can_share(logdir: str) -> bool:
    """Return whether the index in the logdir can be written."""
    folder = os.path.join(logdir, SIDE_FOLDER)
    try:
        with open_folder(folder, is_written=True):
            pass
    except FileNotFoundError:
        folder = logdir
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _own_path(logdir: str) -> str:
    whole = os.fsencode(logdir.rstrip("/") if is_url(logdir) else os.path.realpath(logdir))
    return state_folder("experiments", f"{sha256(whole).hexdigest()[:32]}.json")


def _make_folder(path: str) -> bool:
    try:
        os.mkdir(path)
    except FileExistsError:
        return False
    return True


def _share(folder: int, mode: int) -> None:
    """Give the new `.runfold` the permissions of the logdir, regardless of the umask.

    Otherwise only the first user could assign shared ids.
    """
    # Another user may have replaced the folder since it was created.
    if os.fstat(folder).st_uid == os.geteuid() and not os.listdir(folder):
        with contextlib.suppress(OSError):  # a file system without modes
            os.fchmod(folder, mode & 0o3777)

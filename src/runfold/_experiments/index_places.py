"""Where the index of a logdir is kept: in the logdir, or else in the user's state folder.

In the logdir it is `.runfold/experiments.json`, so that all who share the logdir share
the ids. The state folder keeps it for a logdir that cannot be written, for one whose
`.runfold` another user may have put there, and for the URL of a store.
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
    """Return the index with an id for each of these names.

    Writes it if some are new; without `is_written` they have these ids only here.
    """
    is_own = is_url(logdir) or (_has_own(logdir) and not _can_share(logdir))
    index = (_read_own if is_own else _read_shared)(logdir)
    if not index.take_in(experiments, trials) or not is_written:
        return index
    return change_index(logdir, lambda index: index.take_in(experiments, trials))


def change_index(logdir: str, change: Callable[[Index], object]) -> Index:
    """Change the index and return it. Nobody else changes it meanwhile.

    Where the logdir cannot be written, the user's own copy is changed. Raises OSError.
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
            " kept in your state folder instead of the logdir, and are not shared with others.",
            RuntimeWarning,
            stacklevel=2,
        )
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
    shared = _read_shared(logdir)

    def change_own(index: Index) -> None:
        # Those who may write to the logdir use its ids, so new names get the same ids here.
        index.follow(shared)
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
    """Yield the index's file in the logdir; with `is_written` its folder is made.

    Raises Untrusted where `open_folder` does, and OSError.
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
    """Yield the index's file in the user's state folder, which is made. Raises OSError."""
    path = _own_path(logdir)
    make_private(os.path.dirname(path))
    # The state folder is the user's own, so a link is as good as a folder there.
    with open_folder(os.path.realpath(os.path.dirname(path))) as folder:
        yield IndexFile(folder, path, 0o600)


def _read_shared(logdir: str) -> Index:
    """Return the index that the logdir has; an empty one where it has none."""
    try:
        with _open_shared(logdir) as file:
            return file.read() or Index()
    except (FileNotFoundError, PermissionError):
        return Index()


def _read_own(logdir: str) -> Index:
    """Return the index in the user's state folder; an empty one where there is none."""
    if not _has_own(logdir):
        return Index()
    with _open_own(logdir) as file:
        return file.read() or Index()


def _has_own(logdir: str) -> bool:
    """Whether the user's state folder has an index of the logdir."""
    return os.path.exists(_own_path(logdir))


def _can_share(logdir: str) -> bool:
    """Whether the index in the logdir can be written."""
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
    """Let all who may write to the logdir write to the new `.runfold`, whatever the umask.

    Otherwise only the first user could give ids, and all others would have their own.
    """
    # Somebody may have put another folder of the user there since it was made.
    if os.fstat(folder).st_uid == os.geteuid() and not os.listdir(folder):
        with contextlib.suppress(OSError):  # a disk without modes
            os.fchmod(folder, mode & 0o3777)

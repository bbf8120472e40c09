"""Files that belong to a run: copied beside its log, each with its hash."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import shutil
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold.errors import CannotLog
from runfold.log.story import ARTIFACT, encode_story
from runfold.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "artifacts"

_BLOCK = 1 << 20
_counter = itertools.count()


@dataclass(frozen=True, slots=True)
class Artifact:
    """A copy in a run's folder: its name below `artifacts`, where it is, its bytes, its hash.

    The hash of a folder is that of a text with a line `<sha256>  <name>` for each
    of its files, sorted by name: what `sha256sum` would print for them.
    """

    name: str
    path: str
    size: int
    sha256: str


def save_file(folder: str, path: str | os.PathLike[str], name: str | None = None) -> Artifact:
    """Copy a file or a folder to `<folder>/artifacts/<name>`; gives the copy and its hash.

    Links are followed. The copy appears whole or not at all. Another content under
    the same name stays as it is, and the new one is called `model-1.pt`; the same
    content is not copied twice. Raises CannotLog for a name that leads elsewhere or
    a folder that holds the run itself, and OSError.
    """
    source = os.fspath(path)
    name = _check_name(source, name)
    base = os.path.join(folder, FOLDER)
    if os.path.isdir(source) and _is_within(base, source):
        raise CannotLog(
            f"'{escape(source)}' holds the run itself, so it cannot be copied into it. "
            "Nothing was saved. Save the files in it that matter."
        )
    target = os.path.join(base, name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = os.path.join(base, f".saving-{os.uname().nodename}-{os.getpid()}-{next(_counter)}")
    try:
        size, digest = _copy(source, temporary)
        for choice in _choices(name):
            target = os.path.join(base, choice)
            if _place(temporary, target) or _holds(target, size, digest):
                return Artifact(choice, target, size, digest)
    finally:
        _remove(temporary)
    raise AssertionError("names do not run out")


def encode_artifact(artifact: Artifact, source: str = "") -> bytes:
    """The part of the story that tells of an artifact; its path is relative to the run."""
    return encode_story(
        ARTIFACT,
        {
            "name": artifact.name,
            "path": f"{FOLDER}/{artifact.name}",
            "size": artifact.size,
            "sha256": artifact.sha256,
            "source": source,
        },
    )


def _check_name(source: str, name: str | None) -> str:
    if name is None:
        name = os.path.basename(os.path.abspath(source))
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise CannotLog(
            f"'{escape(name)}' cannot be the name of an artifact: a name or a path below "
            f"`{FOLDER}` is meant. '{escape(source)}' was not saved. Give another name."
        )
    return name


def _choices(name: str) -> Iterator[str]:
    """The name, and what it may be called where that is taken: `model.pt`, `model-1.pt`."""
    yield name
    stem, suffix = os.path.splitext(name)
    for number in itertools.count(1):
        yield f"{stem}-{number}{suffix}"


def _copy(source: str, target: str) -> tuple[int, str]:
    """Copy a file or a folder; gives its size and hash."""
    if not os.path.isdir(source):
        return _copy_file(source, target)
    os.mkdir(target)

    def copy(name: str) -> tuple[int, str]:
        place = os.path.join(target, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        return _copy_file(os.path.join(source, name), place)

    return _add_up(source, copy)


def _copy_file(source: str, target: str) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    # A pipe without a writer would be waited for, for ever.
    descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb", buffering=0) as reader:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "No regular file", source)
        with open(target, "xb", buffering=0) as writer:
            while block := reader.read(_BLOCK):
                digest.update(block)
                size += len(block)
                view = memoryview(block)
                while view:
                    view = view[writer.write(view) :]
    return size, digest.hexdigest()


def _holds(target: str, size: int, digest: str) -> bool:
    """Whether the same content is there."""
    try:
        if os.path.isdir(target):
            found = _add_up(target, lambda name: _measure_file(os.path.join(target, name)))
        elif os.path.getsize(target) != size:
            return False
        else:
            found = _measure_file(target)
    except OSError:
        return False
    return found == (size, digest)


def _measure_file(path: str) -> tuple[int, str]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


def _add_up(folder: str, measure: Callable[[str], tuple[int, str]]) -> tuple[int, str]:
    """The size and hash of a folder, by those of its files."""
    total, lines = 0, []
    for name in sorted(_files(folder)):
        size, digest = measure(name)
        total += size
        lines.append(f"{digest}  ".encode() + os.fsencode(name) + b"\n")
    return total, hashlib.sha256(b"".join(lines)).hexdigest()


def _files(folder: str, below: str = "", above: tuple[str, ...] = ()) -> Iterator[str]:
    """The regular files of a folder by their path below it; a link that leads up is passed over."""
    here = os.path.join(folder, below)
    real = os.path.realpath(here)
    if real in above:
        return
    with os.scandir(here) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = os.path.join(below, entry.name)
        if entry.is_dir():
            yield from _files(folder, path, (*above, real))
        elif entry.is_file():
            yield path


def _is_within(path: str, folder: str) -> bool:
    real, outer = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([real, outer]) == outer


def _place(temporary: str, target: str) -> bool:
    """Give a copy its name; False where something has it."""
    if os.path.lexists(target):
        return False
    if not os.path.isdir(temporary):
        try:
            os.link(temporary, target)  # unlike a rename, never in place of another's
            return True
        except FileExistsError:
            return False
        except OSError:
            pass  # a disk without hard links
    try:
        os.rename(temporary, target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR):
            return False
        raise
    return True


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)

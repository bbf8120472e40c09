"""Files that belong to a run: copied beside its log, each with its hash."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import secrets
import shutil
import stat
from typing import TYPE_CHECKING

from runfold._conventions import ARTIFACTS, UNFINISHED_ARTIFACT
from runfold._files import create_file, make_folder, place_new
from runfold._humanize import escape
from runfold._story.story_parts import ARTIFACT, encode_story
from runfold._story.story_records import Artifact
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO

_BLOCK = 1 << 20


def save_file(folder: str, path: str | os.PathLike[str], name: str | None = None) -> Artifact:
    """Copy a file or a folder to `<folder>/artifacts/<name>`; gives the copy and its hash.

    Links are followed. The copy appears whole or not at all. Another content under
    the same name stays as it is, and the new one is called `model-1.pt`; the same
    content is not copied twice. Raises CannotLog for a name that leads elsewhere or
    a folder that holds the run itself, Untrusted where a folder of the copy is a link
    (`files.make_folder`), and OSError.
    """
    source = os.fspath(path)
    name = _check_name(source, name)
    base = os.path.join(folder, ARTIFACTS)
    if os.path.isdir(source) and _is_within(base, source):
        raise CannotLog(
            f"'{escape(source)}' holds the run itself, so it cannot be copied into it. "
            "Nothing was saved. Save the files in it that matter."
        )
    parent = os.path.dirname(name)
    draft = f"{UNFINISHED_ARTIFACT}{secrets.token_hex(8)}"
    with make_folder(folder, os.path.join(ARTIFACTS, parent)) as shelf:
        try:
            size, digest = _copy(source, os.path.join(base, parent, draft), shelf)
            for choice in _choices(name):
                target = os.path.join(base, choice)
                is_placed = place_new(draft, os.path.basename(choice), dir_fd=shelf)
                if is_placed or _holds(target, size, digest):
                    return Artifact(choice, target, size, digest)
        finally:
            _remove(draft, shelf)
    raise AssertionError("names do not run out")


def encode_artifact(artifact: Artifact, source: str = "") -> bytes:
    """The part of the story that tells of an artifact; its path is relative to the run."""
    return encode_story(
        ARTIFACT,
        {
            "name": artifact.name,
            "path": f"{ARTIFACTS}/{artifact.name}",
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
            f"`{ARTIFACTS}` is meant. '{escape(source)}' was not saved. Give another name."
        )
    return name


def _choices(name: str) -> Iterator[str]:
    """The name, and what it may be called where that is taken: `model.pt`, `model-1.pt`."""
    yield name
    stem, suffix = os.path.splitext(name)
    for number in itertools.count(1):
        yield f"{stem}-{number}{suffix}"


def _copy(source: str, target: str, folder: int) -> tuple[int, str]:
    """Copy a file or a folder into the open folder of the target; gives its size and hash."""
    shelf, draft = os.path.split(target)
    if not os.path.isdir(source):
        return _copy_file(source, draft, folder)
    os.mkdir(draft, dir_fd=folder)

    def copy(name: str) -> tuple[int, str]:
        inner, last = os.path.split(name)
        with make_folder(shelf, os.path.join(draft, inner), dir_fd=folder) as place:
            return _copy_file(os.path.join(source, name), last, place)

    return _add_up(source, copy)


def _copy_file(source: str, name: str, folder: int) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    with _open_regular(source) as reader, create_file(name, dir_fd=folder) as writer:
        while block := reader.read(_BLOCK):
            digest.update(block)
            size += len(block)
            writer.write(block)
    return size, digest.hexdigest()


def _open_regular(path: str) -> FileIO:
    # A pipe without a writer would be waited for, for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "No regular file", path)
    return open(descriptor, "rb", buffering=0)


def _holds(target: str, size: int, digest: str) -> bool:
    """Whether the same content is there, and not only a link to it."""
    try:
        if os.path.islink(target):
            return False
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
    with _open_regular(path) as file:
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


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)

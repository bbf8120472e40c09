"""Artifacts: files copied into a run's folder, with their hashes."""

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
    """Copy a file or folder to `<folder>/artifacts/<name>`, and return the copy with its hash.

    Links are followed. The copy is complete or absent. If different content already has this name,
    the new copy is named `model-1.pt`; identical content is not copied again. Raises CannotLog for
    a name outside `artifacts` or a folder that contains the run, Untrusted if a folder in the
    copy's path is a link (see `_files.make_folder`), and OSError if the copy fails.
    """
    source = os.fspath(path)
    name = _check_name(source, name)
    base = os.path.join(folder, ARTIFACTS)
    if os.path.isdir(source) and _is_within(base, source):
        raise CannotLog(
            f"'{escape(source)}' contains the run itself, so it cannot be copied into the run. "
            "Nothing was saved. Save individual files instead."
        )
    parent = os.path.dirname(name)
    draft = f"{UNFINISHED_ARTIFACT}{secrets.token_hex(8)}"
    with make_folder(folder, os.path.join(ARTIFACTS, parent)) as parent_fd:
        try:
            size, digest = _copy(source, os.path.join(base, parent, draft), parent_fd)
            for free_name in _candidates(name):
                target = os.path.join(base, free_name)
                is_placed = place_new(draft, os.path.basename(free_name), dir_fd=parent_fd)
                if is_placed or _contains(target, size, digest):
                    return Artifact(free_name, target, size, digest)
        finally:
            _remove(draft, parent_fd)
    raise AssertionError("there is always another candidate")


def encode_artifact(artifact: Artifact, source: str = "") -> bytes:
    """Return the story part for an artifact; its path is relative to the run."""
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
            f"'{escape(name)}' cannot be the name of an artifact: expected a name or a path below "
            f"`{ARTIFACTS}`. '{escape(source)}' was not saved. Pass another name."
        )
    return name


def _candidates(name: str) -> Iterator[str]:
    """Yield the name and alternatives: `model.pt`, `model-1.pt`, `model-2.pt`."""
    yield name
    stem, suffix = os.path.splitext(name)
    for number in itertools.count(1):
        yield f"{stem}-{number}{suffix}"


def _copy(source: str, target: str, folder: int) -> tuple[int, str]:
    """Copy a file or folder into an open folder, and return its size and hash."""
    parent, draft = os.path.split(target)
    if not os.path.isdir(source):
        return _copy_file(source, draft, folder)
    os.mkdir(draft, dir_fd=folder)

    def copy(name: str) -> tuple[int, str]:
        inner, last = os.path.split(name)
        with make_folder(parent, os.path.join(draft, inner), dir_fd=folder) as inner_fd:
            return _copy_file(os.path.join(source, name), last, inner_fd)

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
    # Opening a pipe without a writer would block forever.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", path)
    return open(descriptor, "rb", buffering=0)


def _contains(target: str, size: int, digest: str) -> bool:
    """Whether the target has this size and hash, and is not a link."""
    try:
        if os.path.islink(target):
            return False
        if os.path.isdir(target):
            existing = _add_up(target, lambda name: _measure_file(os.path.join(target, name)))
        elif os.path.getsize(target) != size:
            return False
        else:
            existing = _measure_file(target)
    except OSError:
        return False
    return existing == (size, digest)


def _measure_file(path: str) -> tuple[int, str]:
    with _open_regular(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


def _add_up(folder: str, measure: Callable[[str], tuple[int, str]]) -> tuple[int, str]:
    """Return the size and hash of a folder, computed from those of its files."""
    total, lines = 0, []
    for name in sorted(_files(folder)):
        size, digest = measure(name)
        total += size
        lines.append(f"{digest}  ".encode() + os.fsencode(name) + b"\n")
    return total, hashlib.sha256(b"".join(lines)).hexdigest()


def _files(folder: str, below: str = "", above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the relative paths of a folder's regular files; skips links to a parent folder."""
    here = os.path.join(folder, below)
    real = os.path.realpath(here)
    if real in above:
        return
    with os.scandir(here) as entries:
        sorted_entries = sorted(entries, key=lambda entry: entry.name)
    for entry in sorted_entries:
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

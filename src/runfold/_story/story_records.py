"""Dataclasses for parts of a run's story: code, artifacts and marks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a run. Paths are relative to `root`, and their separator is `/`.

    `left_out` gives the reason for each file that is missing from `diff` and `files`. In the
    files in `masked`, a secret was replaced by `***`. `is_dirty` is True if tracked files have
    changes, and None if this is unknown. Without git, `files` are the imported modules below the
    script's folder, or below the working directory if that contains the script.
    """

    root: str | None = None
    commit: str | None = None
    branch: str | None = None
    remote: str | None = None
    is_dirty: bool | None = None
    script: str | None = None
    script_text: str | None = None
    diff: str = ""
    files: dict[str, str] = field(default_factory=dict)
    executables: list[str] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A copy of a file or folder in a run's folder: name below `artifacts`, path, size and hash.

    The hash of a folder is the hash of the lines that `sha256sum` would print for its files,
    `<sha256>  <name>`, sorted by name.
    """

    name: str
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An event that a run marked, with its step, time and description."""

    step: int
    wall_time: float
    text: str


def name_leaves(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested mappings by joined name, such as `optim.lr`.

    A list that contains mappings is numbered: `layers.0.width`. Other lists and empty mappings
    are leaves.
    """
    for name, value in nested.items():
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            value = {str(index): item for index, item in enumerate(value)}
        if isinstance(value, dict) and value:
            yield from name_leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value

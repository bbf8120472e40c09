"""Parts of a run's story as Python has them: its code, its artifacts, its marks, its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Code:
    """What is known of a run's code. Paths are relative to `root`, with `/`.

    `left_out` tells the reason for each file that is not in `diff` and `files`;
    in those of `masked`, a secret was replaced by `***`. `is_dirty` is about
    tracked files; None where it is not known. Without git, `files` are the
    modules that were imported from below the script's folder, or from below the
    working directory where that holds the script.
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
    """A copy in a run's folder: its name below `artifacts`, where it is, its bytes, its hash.

    The hash of a folder is that of a text with a line `<sha256>  <name>` for each
    of its files, sorted by name: what `sha256sum` would print for them.
    """

    name: str
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An event that a run marked: at which step and time, and what it was."""

    step: int
    wall_time: float
    text: str


def name_leaves(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The innermost values by joined names: `optim.lr`, and `layers.0.width` where a list is mixed.

    A list without mappings in it and an empty mapping are such values themselves.
    """
    for name, value in nested.items():
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            value = {str(place): item for place, item in enumerate(value)}
        if isinstance(value, dict) and value:
            yield from name_leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value

"""Removes unfinished output when an operation fails."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing import Self


class Undo(contextlib.ExitStack):
    """Steps that remove unfinished output, run in reverse order when the block ends.

    `undo_all` runs the steps of every open block. Call it before ending a process that
    does not react to Ctrl-C.
    """

    _open: ClassVar[list[Undo]] = []

    def __enter__(self) -> Self:
        Undo._open.append(self)
        return super().__enter__()

    def __exit__(self, *details: Any) -> bool:
        try:
            return bool(super().__exit__(*details))
        finally:
            Undo._open.remove(self)


def undo_all() -> None:
    """Remove all unfinished output, innermost first. Failures are ignored."""
    for undo in reversed(Undo._open):
        # The main thread may be running the same steps.
        with contextlib.suppress(Exception):
            undo.close()

"""Progress bars on stderr, shown only in a terminal or a notebook."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Operations that take less than this many seconds show no bar.
_DELAY = 0.5


@contextmanager
def progress_bar(
    total: Callable[[], int], description: str, wanted: bool | None = None, unit: str = "B"
) -> Iterator[Callable[[int], object]]:
    """Yield a function that advances the bar by a number of bytes or other units.

    `total` is called only if a bar is shown. If `wanted` is None, a bar is shown in a
    notebook, or if stderr is a terminal.
    """
    in_notebook = "ipykernel" in sys.modules
    if wanted is False or (wanted is None and not in_notebook and not _is_terminal()):
        yield lambda _: None
        return
    # The notebook bar needs ipywidgets, which not every Jupyter installation has.
    has_widgets = in_notebook and find_spec("ipywidgets") is not None
    module = import_module("tqdm.notebook" if has_widgets else "tqdm")
    delay = 0 if wanted else _DELAY
    with module.tqdm(
        total=total(), desc=description, unit=unit, unit_scale=True, delay=delay, leave=False
    ) as bar:
        yield bar.update


def _is_terminal() -> bool:
    # A program without a console, such as one run by pythonw, has no stderr.
    return sys.stderr is not None and sys.stderr.isatty()

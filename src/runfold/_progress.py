"""Progress bars for long loads: on stderr, and only where a person is watching."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A load that is over before anyone could read the bar shows none.
_DELAY = 0.5


@contextmanager
def progress_bar(
    total: Callable[[], int], description: str, wanted: bool | None = None, unit: str = "B"
) -> Iterator[Callable[[int], object]]:
    """Give a function that moves the bar on by some bytes, or whatever the unit is.

    `total` is asked only where a bar is shown. `wanted` None means: where
    stderr is a terminal, or in a notebook.
    """
    in_notebook = "ipykernel" in sys.modules
    if wanted is False or (wanted is None and not in_notebook and not _is_terminal()):
        yield lambda _: None
        return
    # The bar of notebooks draws with ipywidgets, which not every Jupyter has.
    has_widgets = in_notebook and find_spec("ipywidgets") is not None
    module = import_module("tqdm.notebook" if has_widgets else "tqdm")
    delay = 0 if wanted else _DELAY
    with module.tqdm(
        total=total(), desc=description, unit=unit, unit_scale=True, delay=delay, leave=False
    ) as bar:
        yield bar.update


def _is_terminal() -> bool:
    # A program without a console, as pythonw runs it, has no stderr at all.
    return sys.stderr is not None and sys.stderr.isatty()

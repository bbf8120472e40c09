"""The callbacks that Lightning's Trainer finds through an entry point: none by default.

Lightning calls the entry point for each Trainer in every program, so this module imports nothing.
"""

from __future__ import annotations

import os
from typing import Any

VARIABLE = "RUNFOLD_LIGHTNING"
_OFF = ("", "0", "false", "no", "off")
_ON = ("1", "true", "yes", "on")


def make_callbacks() -> list[Any]:
    """Return a list with a `RunfoldCallback` if the environment variable requests it.

    The variable contains 1 or the logdir. Otherwise, the list is empty.
    """
    request = os.environ.get(VARIABLE, "").strip()
    if request.lower() in _OFF:
        return []
    from runfold.integrations.lightning import RunfoldCallback

    return [RunfoldCallback(None if request.lower() in _ON else request)]

"""The hook that `runfold run` adds to the Python programs that it runs.

`sitecustomize` is imported by every Python program whose PYTHONPATH contains this folder. It does
not import Runfold, because the program may use a different environment.

Modules:

    sitecustomize  connects other writers of event files to the run's folder
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Names the folder in which a run's processes claim numbers for writers created without a folder.
CLAIMS_VARIABLE = "RUNFOLD_RUN_CLAIMS"


@contextlib.contextmanager
def add_hook(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield an environment in which Python programs load the hook."""
    folder = os.path.dirname(os.path.abspath(__file__))
    paths = [folder, *filter(None, [environment.get("PYTHONPATH")])]
    hooked = {**environment, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        claims = hooked[CLAIMS_VARIABLE] = tempfile.mkdtemp(prefix="runfold-run-")
    except OSError:  # each process then numbers its writers on its own
        yield hooked
        return
    try:
        yield hooked
    finally:
        shutil.rmtree(claims, ignore_errors=True)


def list_linked(folder: str) -> list[str]:
    """Return the folders outside the run's folder that links inside it point to."""
    links = [
        os.path.join(parent, name)
        for parent, names, _ in os.walk(folder)
        for name in names
        if os.path.islink(os.path.join(parent, name))
    ]
    return sorted(os.path.relpath(os.path.realpath(link)) for link in links)

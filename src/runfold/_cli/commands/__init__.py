"""The commands. `runfold NAME` runs the module `commands/GROUP/NAME.py`.

    read        list, show and check logs
    query       tabulate, query, diff, restore and export runs
    fold        fold and compare groups of runs
    change      edit, repair and pack logs
    look        show runs in the browser or TensorBoard, and organize experiments
    log         track, stop and demo runs

Each module has HELP, `add_arguments` and `run`. The first line of HELP is the summary in
`runfold --help`. A module is imported only when its command is called.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

# In the order of `runfold --help`.
GROUPS = ("read", "query", "fold", "change", "look", "log")
# These need POSIX processes, locks and folder descriptors.
POSIX_ONLY = (
    *("demo", "edit", "experiments", "pack", "repair", "run"),
    *("serve", "stop", "tensorboard", "trials", "unpack"),
)


@cache
def find_commands() -> dict[str, str]:
    """Return the module name of each command, without importing any module."""
    return {
        module.name: f"{__name__}.{group}.{module.name}"
        for group in GROUPS
        for module in iter_modules([f"{path}/{group}" for path in __path__])
    }


def load_command(name: str) -> ModuleType:
    """Import a command's module."""
    return import_module(find_commands()[name])


def summarize_command(name: str) -> str:
    """Return the first line of a command's HELP, read from its source.

    Importing all commands for their summaries would make `runfold --help` slow.
    """
    spec = find_spec(find_commands()[name])
    source = spec.loader.get_source(spec.name) if spec and spec.loader else ""  # type: ignore[attr-defined]
    _, _, help = source.partition('HELP = """\\\n')
    return str(help.partition("\n")[0])

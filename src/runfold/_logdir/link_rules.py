"""Limits on a search for runs: the rules for links that leave the logdir.

A link to a run, or to a tree of runs, is followed wherever it points, even to another
disk. Three kinds of folders are not searched:

- a folder that contains the logdir or the link itself, such as `/`: the search
  would cover everything else in it
- `/proc`, `/sys` and `/dev`, except `/dev/shm`: `/proc` links to every other folder
  on the machine many times
- Runfold's own state and cache: the link trees of TensorBoard instances would show
  each run a second time

The last two kinds are skipped even if no link points to them. Through links, a search
covers at most MOST_LEVELS levels below the link in the logdir, MOST_PER_LINK folders per
link, and MOST_THROUGH_LINKS folders in total. A path given by the user is always searched.
"""

import os
from collections.abc import Iterable
from functools import cached_property

from runfold._state import cache_folder, state_folder

MOST_LEVELS = 16
MOST_PER_LINK = 20_000
MOST_THROUGH_LINKS = 100_000
LIMITS = (
    f"at most {MOST_LEVELS} levels, {MOST_PER_LINK:,} folders per link "
    f"and {MOST_THROUGH_LINKS:,} for all links"
)

_SYSTEM = ("/proc", "/sys", "/dev")
_MEMORY = "/dev/shm"  # files in memory, sometimes used for fast logs
# Only folders with these names are checked further, because a search visits very many folders.
RESERVED_NAMES = frozenset(map(os.path.basename, (*_SYSTEM, state_folder(), cache_folder())))


class LinkRule:
    """Decides which folders are skipped in a search from the given paths."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = [os.path.realpath(path) for path in paths]

    def refusal(self, link: str) -> str:
        """Return the reason why the target of a link is not searched, or an empty string."""
        target = os.path.realpath(link)
        around = [*self._paths, os.path.realpath(os.path.dirname(link))]
        if any(_is_below(path, target) for path in around):
            return f"it points to '{target}', which contains the logdir or the link"
        return f"it points to '{target}', which is reserved" if self._is_reserved(target) else ""

    def is_left_out(self, folder: str) -> bool:
        """Return whether a plain folder with one of the RESERVED_NAMES is skipped."""
        return self._is_reserved(os.path.realpath(folder))

    def _is_reserved(self, real: str) -> bool:
        return any(_is_below(real, top) for top in self._reserved) or (
            _device(real) in self._system_devices
        )

    @cached_property
    def _reserved(self) -> list[str]:
        tops = [*_SYSTEM, os.path.realpath(state_folder()), os.path.realpath(cache_folder())]
        return [top for top in tops if not any(_is_below(path, top) for path in self._paths)]

    @cached_property
    def _system_devices(self) -> set[int | None]:
        """The devices of `/proc` and `/sys`, which can also be mounted elsewhere."""
        devices = map(_device, self._paths)
        return {_device("/proc"), _device("/sys")} - {_device("/"), None, *devices}


def _is_below(path: str, folder: str) -> bool:
    if folder == "/dev" and _is_below(path, _MEMORY):
        return False
    return path == folder or path.startswith(os.path.join(folder, ""))


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None

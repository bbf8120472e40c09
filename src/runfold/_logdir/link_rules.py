"""Where a search for runs stops: the rule for links that leave the logdir.

A link to a run, or to a tree of runs, is followed wherever it leads, also to
another disk. Three kinds of folders are not searched:

- a folder that contains the logdir or the link itself, such as `/`: the search
  would cover everything else in it
- `/proc`, `/sys` and `/dev`, except `/dev/shm`: `/proc` leads to every other folder
  of the machine again and again
- Runfold's own state and cache: the link trees of TensorBoard instances would show
  each run a second time

The last two are left out as plain folders too. Through links, a search covers at
most MOST_LEVELS levels below the logdir's link, MOST_PER_LINK folders for each link,
and MOST_THROUGH_LINKS folders in all. A path that the user gives is always searched.
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
_MEMORY = "/dev/shm"  # plain files in memory, where fast logs may be
# Asked first, because a search meets very many folders.
RESERVED_NAMES = frozenset(map(os.path.basename, (*_SYSTEM, state_folder(), cache_folder())))


class LinkRule:
    """Which folders a search from some paths leaves out, and why."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = [os.path.realpath(path) for path in paths]

    def refusal(self, link: str) -> str:
        """Say why the folder that a link leads to is not searched; empty if it is."""
        target = os.path.realpath(link)
        around = [*self._paths, os.path.realpath(os.path.dirname(link))]
        if any(_is_below(path, target) for path in around):
            return f"it leads to '{target}', which contains the logdir or the link"
        return f"it leads to '{target}', which is reserved" if self._is_reserved(target) else ""

    def is_left_out(self, folder: str) -> bool:
        """Whether a plain folder with one of the RESERVED_NAMES is left out."""
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
        """The devices of `/proc` and `/sys`, which may be mounted elsewhere too."""
        given = map(_device, self._paths)
        return {_device("/proc"), _device("/sys")} - {_device("/"), None, *given}


def _is_below(path: str, folder: str) -> bool:
    if folder == "/dev" and _is_below(path, _MEMORY):
        return False
    return path == folder or path.startswith(os.path.join(folder, ""))


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev
    except OSError:
        return None

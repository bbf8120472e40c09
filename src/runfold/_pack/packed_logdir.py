"""The runs of packs, and of plain folders among them, as one logdir."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._conventions import PROJECTOR_CONFIG
from runfold._logdir.discover import Discovery, FoundRun, discover, name_runs
from runfold._logdir.loader import Logdir
from runfold._pack.pack_file import Pack, check_rows, mark_of
from runfold._pack.pack_paths import PackPlace, find_packs
from runfold._pack.packed_log import PackedLog, restore_problem

if TYPE_CHECKING:
    from runfold._events.problems import Problem
    from runfold._logdir.run_log import RunLog


@dataclass(slots=True, kw_only=True)
class PackedRun(FoundRun):
    """A run that was found in a pack, by its number there."""

    pack: Pack
    number: int
    root: str


class PackedLogdir(Logdir):
    """The runs below some paths of which some are packs.

    A pack does not grow, but may be replaced by another one: a refresh opens that.
    """

    def _discover(self) -> Discovery:
        paths = self.places.paths
        packed = {path: find_packs(path) for path in paths}
        plain = [path for path in paths if not packed[path]]
        found = discover(*plain) if plain else Discovery({}, [])
        places = [place for path in paths for place in packed[path]]
        base = os.path.commonpath(
            [*([found.base] if plain else []), *(place.base for place in places)]
        )
        runs: list[FoundRun] = list(found.runs.values())
        if plain:
            prefix = os.path.relpath(found.base, base)
            for run in runs:
                run.name = _name(prefix, run.name)
        problems = list(found.problems)
        packs = {place: self._open(place) for place in places}
        check_rows(packs.values())
        for place, pack in packs.items():
            runs += _runs_of(pack, base, place)
            problems += _problems_of(pack, place.root)
        return Discovery(name_runs(runs), problems, base)

    def _open(self, place: PackPlace) -> Pack:
        opened: dict[PackPlace, Pack] = self.__dict__.setdefault("_opened", {})
        if place not in opened or opened[place].mark != mark_of(place.path):
            opened[place] = Pack(place.path)
        return opened[place]

    def _make_log(self, found: FoundRun) -> RunLog:
        if isinstance(found, PackedRun):
            return PackedLog(found, self.restarts, self.strict)
        return super()._make_log(found)


def _runs_of(pack: Pack, base: str, place: PackPlace) -> list[PackedRun]:
    runs = []
    prefix = os.path.relpath(place.base, base)
    for number, run in enumerate(pack.index.runs):
        path = os.path.normpath(os.path.join(place.root, run.folder))
        config = None if run.config is None else os.path.join(path, PROJECTOR_CONFIG)
        name = _name(prefix, run.name)
        runs.append(PackedRun(name, path, [], config, pack=pack, number=number, root=place.root))
    return runs


def _problems_of(pack: Pack, root: str) -> list[Problem]:
    return [restore_problem(one, root) for one in pack.index.problems]


def _name(prefix: str, name: str) -> str:
    """The name of a run that lies below a folder of the base."""
    if prefix == os.curdir:
        return name
    return prefix if name == os.curdir else f"{prefix}/{name}"

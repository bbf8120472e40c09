"""The runs of packs, and of plain folders opened with them, as one logdir."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._conventions import PROJECTOR_CONFIG
from runfold._humanize import escape
from runfold._logdir.config_files import ConfigFiles
from runfold._logdir.discover import Discovery, FoundRun, discover, name_runs
from runfold._logdir.loader import Logdir
from runfold._pack.pack_file import Pack, check_rows, mark_of
from runfold._pack.pack_paths import PackLocation, find_packs
from runfold._pack.packed_log import PackedLog, restore_problem
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from runfold._events.problems import Problem
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.tree_state import TreeState


@dataclass(slots=True, kw_only=True)
class PackedRun(FoundRun):
    """A run found in a pack, identified by its number there."""

    pack: Pack
    number: int
    root: str


class PackedLogdir(Logdir):
    """The runs below the given paths, including packs.

    A pack does not grow, but it can be replaced; a refresh opens the replacement.
    """

    def _discover(self, state: TreeState | None = None) -> Discovery:
        paths = self.places.paths
        packed = {path: find_packs(path) for path in paths}
        plain = [path for path in paths if not packed[path]]
        plain_runs = discover(*plain, places=self.places) if plain else Discovery({}, [])
        locations = [location for path in paths for location in packed[path]]
        base = os.path.commonpath(
            [*([plain_runs.base] if plain else []), *(location.base for location in locations)]
        )
        runs: list[FoundRun] = list(plain_runs.runs.values())
        if plain:
            prefix = os.path.relpath(plain_runs.base, base)
            for run in runs:
                run.name = _name(prefix, run.name)
        problems = list(plain_runs.problems)
        packs = {location: self._open(location) for location in locations}
        check_rows(packs.values())
        for location, pack in packs.items():
            runs += _runs_of(pack, base, location)
            problems += _problems_of(pack, location.root)
        return Discovery(name_runs(runs), problems, base, plain_runs.config_files, plain_runs.tops)

    def _open(self, location: PackLocation) -> Pack:
        opened: dict[PackLocation, Pack] = self.__dict__.setdefault("_opened", {})
        if location not in opened or opened[location].mark != mark_of(location.path):
            opened[location] = Pack(location.path)
        return opened[location]

    def _make_log(self, run: FoundRun) -> RunLog:
        if isinstance(run, PackedRun):
            if self.cache is not None and self.cache.engine is not None:
                raise RunfoldError(
                    f"{escape(run.pack.path)}: engine='{self.cache.engine.name}' (--engine) applies"
                    " to event files, not to packs. Restore them with `runfold unpack`, or leave"
                    " out the engine."
                )
            # A pack contains no configuration files, but the run's texts can contain settings.
            config_files = None if self.config_files is None else ConfigFiles()
            cache = self.cache if self.cache is not None and self.cache.has_limit else None
            return PackedLog(run, self.restarts, self.strict, config_files, cache)
        return super()._make_log(run)


def _runs_of(pack: Pack, base: str, location: PackLocation) -> list[PackedRun]:
    runs = []
    prefix = os.path.relpath(location.base, base)
    for number, run in enumerate(pack.index.runs):
        path = os.path.normpath(os.path.join(location.root, run.folder))
        config = None if run.config is None else os.path.join(path, PROJECTOR_CONFIG)
        name = _name(prefix, run.name)
        runs.append(PackedRun(name, path, [], config, pack=pack, number=number, root=location.root))
    return runs


def _problems_of(pack: Pack, root: str) -> list[Problem]:
    return [restore_problem(problem, root) for problem in pack.index.problems]


def _name(prefix: str, name: str) -> str:
    """Return the name of a run below a prefix."""
    if prefix == os.curdir:
        return name
    return prefix if name == os.curdir else f"{prefix}/{name}"

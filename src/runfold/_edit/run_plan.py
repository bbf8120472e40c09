"""The plan for runs: which are deleted, renamed or merged."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from runfold._edit.edit_rules import Rules
from runfold._edit.renaming import Renames, list_renames, rename
from runfold._humanize import escape
from runfold._logdir.run_parts import add_parts
from runfold._select import select
from runfold.errors import CannotEdit


@dataclass(frozen=True, slots=True)
class Moves:
    """The plan: `targets` has the new names of kept runs, `merged` the old names by new name."""

    in_scope: tuple[str, ...]
    targets: dict[str, str]
    deleted: frozenset[str]
    merged: dict[str, list[str]] = field(default_factory=dict)


def plan_moves(runs: Sequence[str], rules: Rules, owners: Mapping[str, str]) -> Moves:
    """Return the plan for all runs.

    `owners` maps the folders that `add_hparams` created to the runs they belong to: a
    rule for a run also applies to its parts. Raises UnknownRun, or CannotEdit if two runs
    would get the same name.
    """
    in_scope = add_parts(select(runs, rules.runs, "run"), runs, owners)
    chosen = select(in_scope, rules.delete_runs, "run") if rules.delete_runs else ()
    deleted = frozenset(add_parts(chosen, in_scope, owners))
    kept = [run for run in in_scope if run not in deleted]
    moved = _rename_folders(kept, rules, owners)
    joined = _merge(kept, rules.merge_runs, owners)
    for target in [*joined.values()]:
        # `--merge job-2=job` includes the run 'job' itself if it exists and keeps its name.
        if target in kept and moved.get(target, target) == target:
            joined.setdefault(target, target)
    for run in joined.keys() & moved.keys():
        if moved[run] != run:
            raise CannotEdit(f"Run '{escape(run)}' would be both renamed and merged.")
    targets = {}
    for run in runs:
        if run not in deleted:
            targets[run] = check_name(joined.get(run, moved.get(run, run)))
    groups: dict[str, list[str]] = {}
    for run in joined:
        groups.setdefault(targets[run], []).append(run)
    _check_distinct(targets, joined)
    merged = {target: group for target, group in groups.items() if len(group) > 1}
    return Moves(tuple(in_scope), targets, deleted, merged)


def find_folder(run: str, folders: Mapping[str, str]) -> str:
    """Return a run's folder, within the possibly renamed folder of the nearest run above it."""
    for known in (run, *_parents(run)):
        if known in folders:
            return posixpath.normpath(posixpath.join(folders[known], posixpath.relpath(run, known)))
    return run


def _merge(runs: Sequence[str], rules: Renames, owners: Mapping[str, str]) -> dict[str, str]:
    """Return the runs to merge, each with the run that it becomes.

    A run in the folder of another moves along with it rather than being merged: the
    sub-folders of torch's `add_hparams`, with metrics at step 0, are not restarts
    of the job.
    """
    merged: dict[str, str] = {}
    for rule in list_renames(rules):
        renamed = {run: check_name(new) for run, new in rename(runs, [rule], "run").items()}
        for run, new in renamed.items():
            if all(renamed.get(folder) != new for folder in _above(run, owners)):
                merged.setdefault(run, new)
    return _take_along(runs, merged, owners)


def _rename_folders(runs: Sequence[str], rules: Rules, owners: Mapping[str, str]) -> dict[str, str]:
    """Return the new names of runs. Runs below a renamed folder move with it, as with `mv`."""
    if not rules.rename_runs:
        return {}
    folders = [folder for run in runs for folder in _parents(run)]
    renamed = rename(list(dict.fromkeys([*runs, *folders])), rules.rename_runs, "run")
    return _take_along(runs, renamed, owners)


def _take_along(
    runs: Sequence[str], renamed: Mapping[str, str], owners: Mapping[str, str]
) -> dict[str, str]:
    """Return the new names of runs, including those of the runs in renamed folders."""
    new_names = {}
    for run in runs:
        if run in renamed:
            new_names[run] = renamed[run]
            continue
        for folder in _above(run, owners):
            if folder in renamed:
                new_names[run] = posixpath.join(renamed[folder], posixpath.relpath(run, folder))
                break
    return new_names


def _above(run: str, owners: Mapping[str, str]) -> Iterable[str]:
    """Return the folders that a run moves with, including a logdir that is itself a run."""
    yield from _parents(run)
    if owners.get(run) == posixpath.curdir:
        yield posixpath.curdir


def _parents(run: str) -> Iterable[str]:
    """Return the folders that contain a run, innermost first, without the logdir."""
    folder = posixpath.dirname(run)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


def check_name(name: str) -> str:
    """Return the normalized name of a run. Raises CannotEdit if it is invalid."""
    normal = posixpath.normpath(name) if name else ""
    is_outside = normal.startswith(("/", "../")) or normal == ".."
    if not name or is_outside or "\0" in name:
        raise CannotEdit(
            f"'{escape(name)}' is not a valid run name: it must be a path below the logdir."
        )
    return normal


def _check_distinct(targets: Mapping[str, str], joined: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for run, target in targets.items():
        other = seen.setdefault(target, run)
        if other != run and not (run in joined and other in joined):
            raise CannotEdit(
                f"Runs '{escape(other)}' and '{escape(run)}' would both be named"
                f" '{escape(target)}'. Nothing was changed. Choose another name, or merge"
                " them (--merge OLD=NEW)."
            )

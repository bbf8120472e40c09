"""Which runs become which: what goes, what moves, what is put together."""

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
    """What becomes of each run: `targets` has those that stay, `merged` the groups by new name."""

    in_scope: tuple[str, ...]
    targets: dict[str, str]
    deleted: frozenset[str]
    merged: dict[str, list[str]] = field(default_factory=dict)


def plan_moves(runs: Sequence[str], rules: Rules, owners: Mapping[str, str]) -> Moves:
    """Return where each run goes.

    `owners` are the runs that folders of `add_hparams` are part of: a rule that names
    a run holds for its parts. Raises UnknownRun, or CannotEdit where two would be one.
    """
    in_scope = add_parts(select(runs, rules.runs, "run"), runs, owners)
    chosen = select(in_scope, rules.delete_runs, "run") if rules.delete_runs else ()
    deleted = frozenset(add_parts(chosen, in_scope, owners))
    left = [run for run in in_scope if run not in deleted]
    moved = _rename_folders(left, rules, owners)
    joined = _merge(left, rules.merge_runs, owners)
    for target in [*joined.values()]:
        # `--merge job-2=job` means the run 'job' as well, if there is one and it stays.
        if target in left and moved.get(target, target) == target:
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
    """The folder of a run, in that of the nearest run above it: its name may be another."""
    for known in (run, *_parents(run)):
        if known in folders:
            return posixpath.normpath(posixpath.join(folders[known], posixpath.relpath(run, known)))
    return run


def _merge(runs: Sequence[str], rules: Renames, owners: Mapping[str, str]) -> dict[str, str]:
    """The runs that are put together, each with the run that it becomes.

    A run in the folder of another goes along with it instead of into it: the
    sub-folders of torch's `add_hparams`, whose metrics are at step 0, are no
    restarts of the job.
    """
    found: dict[str, str] = {}
    for rule in list_renames(rules):
        renamed = {run: check_name(new) for run, new in rename(runs, [rule], "run").items()}
        for run, new in renamed.items():
            if all(renamed.get(folder) != new for folder in _above(run, owners)):
                found.setdefault(run, new)
    return _take_along(runs, found, owners)


def _rename_folders(runs: Sequence[str], rules: Rules, owners: Mapping[str, str]) -> dict[str, str]:
    """The new names of runs; a folder takes the runs below it along, as `mv` does."""
    if not rules.rename_runs:
        return {}
    folders = [folder for run in runs for folder in _parents(run)]
    renamed = rename(list(dict.fromkeys([*runs, *folders])), rules.rename_runs, "run")
    return _take_along(runs, renamed, owners)


def _take_along(
    runs: Sequence[str], renamed: Mapping[str, str], owners: Mapping[str, str]
) -> dict[str, str]:
    """The new names of runs, where those of folders hold for the runs in them, too."""
    found = {}
    for run in runs:
        if run in renamed:
            found[run] = renamed[run]
            continue
        for folder in _above(run, owners):
            if folder in renamed:
                found[run] = posixpath.join(renamed[folder], posixpath.relpath(run, folder))
                break
    return found


def _above(run: str, owners: Mapping[str, str]) -> Iterable[str]:
    """The folders that take a run along when they move: also the logdir, if it is the run."""
    yield from _parents(run)
    if owners.get(run) == posixpath.curdir:
        yield posixpath.curdir


def _parents(run: str) -> Iterable[str]:
    """The folders that a run lies in, innermost first; the logdir is none of them."""
    folder = posixpath.dirname(run)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


def check_name(name: str) -> str:
    """Return the name of a run in its plainest form. Raises CannotEdit for what is none."""
    normal = posixpath.normpath(name) if name else ""
    is_outside = normal.startswith(("/", "../")) or normal == ".."
    if not name or is_outside or "\0" in name:
        raise CannotEdit(
            f"'{escape(name)}' is no name of a run: it must be a path below the logdir."
        )
    return normal


def _check_distinct(targets: Mapping[str, str], joined: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for run, target in targets.items():
        other = seen.setdefault(target, run)
        if other != run and not (run in joined and other in joined):
            raise CannotEdit(
                f"Runs '{escape(other)}' and '{escape(run)}' would both be '{escape(target)}'."
                " Nothing was changed. Choose another name, or merge them (--merge OLD=NEW)."
            )

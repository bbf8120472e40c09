"""Experiments and trials as they are found in a logdir, and how they are named."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from runfold._experiments.experiment_index import Entry, check_text
from runfold._experiments.index_places import change_index, load_index
from runfold._humanize import did_you_mean, escape, human_list
from runfold._logdir.discover import discover
from runfold._logdir.run_parts import find_parts
from runfold._storage.local_paths import fetch
from runfold._storage.url import is_url
from runfold.errors import CannotEdit, LogdirNotFound, UnknownExperiment, UnknownTrial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runfold._experiments.experiment_index import Index

_MOST_NEAR = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """A run, by its name below the logdir, and the id of its experiment."""

    id: int
    name: str
    experiment: int
    path: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """The runs in one folder directly below the logdir, or one run that lies there itself."""

    id: int
    name: str
    trials: tuple[Trial, ...]
    labels: tuple[str, ...]
    note: str
    is_archived: bool
    path: str


Named = TypeVar("Named", Experiment, Trial)


def open_experiments(logdir: str | os.PathLike[str], *, is_written: bool = True) -> Experiments:
    """The experiments of a logdir, also by its URL.

    Event files are read only where folders of `add_hparams` may be parts of runs.
    Those that were never seen before get ids, which are not kept without `is_written`.
    Raises LogdirNotFound, and CannotStore for a URL that cannot be reached.
    """
    return Experiments(os.fspath(logdir), is_written=is_written)


class Experiments:
    """The experiments of a logdir, by id, name or the beginning of a name."""

    def __init__(self, logdir: str, *, is_written: bool = True) -> None:
        (path,) = fetch(logdir)
        self.logdir = os.path.abspath(os.path.expanduser(path))
        # Where its index belongs: of a URL only the copy is a folder of this machine.
        self._home = logdir if is_url(logdir) else self.logdir
        if not os.path.isdir(self.logdir):
            discover(path)  # which says what is wrong with the path, if it leads nowhere
            raise LogdirNotFound(
                f"{escape(logdir)} is no folder; experiments are folders below a logdir."
            )
        self.all = _find_all(self.logdir, self._home, is_written=is_written)

    def __iter__(self) -> Iterator[Experiment]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def is_remote(self) -> bool:
        """Whether the logdir is a URL, and its folder here only a copy."""
        return is_url(self._home)

    def find(self, text: str) -> Experiment:
        """One by its id, its name, or the beginning of its name alone. Raises UnknownExperiment.

        A number is an id first, and a name only where no experiment has that id.
        """
        return _pick(text, self.all, "experiment", UnknownExperiment)

    def find_trial(self, text: str) -> Trial:
        """One by its id, its run's name, or the beginning of that. Raises UnknownTrial."""
        trials = [trial for experiment in self.all for trial in experiment.trials]
        return _pick(text, trials, "trial", UnknownTrial)

    def label(self, experiment: Experiment, add: Sequence[str], remove: Sequence[str]) -> None:
        """Put labels on an experiment, and take others off. Raises CannotEdit for a long one."""
        for label in add:
            _check_length("label", label)

        def change(entry: Entry) -> None:
            kept = [label for label in entry.labels if label not in remove]
            entry.labels = list(dict.fromkeys([*kept, *add]))

        self._change(experiment, change)

    def note(self, experiment: Experiment, text: str) -> None:
        """Keep a note on an experiment, instead of an earlier one; an empty one is none.

        Raises CannotEdit for a note that is too long.
        """
        _check_length("note", text)
        self._change(experiment, lambda entry: setattr(entry, "note", text))

    def archive(self, experiment: Experiment, is_archived: bool = True) -> None:
        """Leave an experiment out of lists from now on, or take it in again."""
        self._change(experiment, lambda entry: setattr(entry, "is_archived", is_archived))

    def _change(self, experiment: Experiment, change: Callable[[Entry], object]) -> None:
        def change_one(index: Index) -> None:
            # Another may have deleted the index meanwhile.
            change(index.experiments.setdefault(experiment.name, Entry(experiment.id)))

        change_index(self._home, change_one)
        self.all = _find_all(self.logdir, self._home, is_written=True)


def _check_length(kind: str, text: str) -> None:
    try:
        check_text(text)
    except ValueError as error:
        raise CannotEdit(f"The {kind} was not stored: {error}.") from None


def name_experiment(run: str) -> str:
    """The experiment that a run belongs to, by the run's name."""
    return run.partition("/")[0]


def _find_all(logdir: str, home: str, *, is_written: bool) -> tuple[Experiment, ...]:
    folders = discover(logdir).runs
    parts = find_parts(folders)
    runs = {name: run for name, run in folders.items() if name not in parts}
    grouped: dict[str, list[str]] = {}
    for name in runs:
        grouped.setdefault(name_experiment(name), []).append(name)
    index = load_index(home, list(grouped), list(runs), is_written=is_written)
    found = []
    for name, names in grouped.items():
        entry = index.experiments[name]
        trials = tuple(Trial(index.trials[run], run, entry.id, runs[run].path) for run in names)
        path = os.path.normpath(os.path.join(logdir, name))
        found.append(
            Experiment(
                entry.id, name, trials, tuple(entry.labels), entry.note, entry.is_archived, path
            )
        )
    return tuple(sorted(found, key=lambda one: one.id))


def _pick(
    text: str,
    known: Sequence[Named],
    noun: str,
    unknown: type[UnknownExperiment] | type[UnknownTrial],
) -> Named:
    wanted = text.rstrip("/") or text
    # No id is longer, and Python refuses to read a number of thousands of digits.
    number = int(text[:18]) if text.isdecimal() and text.isascii() else None
    for one in known:
        if one.id == number:
            return one
    for one in known:
        if one.name == wanted:
            return one
    begun = [one for one in known if wanted and one.name.startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        names = human_list(one.name for one in begun)
        raise unknown(f"Several {noun}s begin with '{escape(text)}': {names}. Give more of it.")
    hint = did_you_mean(text, [one.name for one in known])
    if number is not None or not hint:
        near = sorted(known, key=lambda one: abs(one.id - (number or 0)))
        near[:_MOST_NEAR] = sorted(near[:_MOST_NEAR], key=lambda one: one.id)
        names = human_list((f"{one.id} ({one.name})" for one in near), _MOST_NEAR)
        hint = f"There are {names}."
    if not known:
        hint = f"There is no {noun} at all."
    raise unknown(f"No {noun} '{escape(text)}'. {hint}")

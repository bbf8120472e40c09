"""The experiments and trials of a logdir, by id or name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from runfold._experiments.experiment_index import Entry, check_text
from runfold._experiments.index_places import change_index, load_index
from runfold._humanize import did_you_mean, escape, human_list
from runfold._logdir.discover import discover
from runfold._logdir.run_parts import find_parts
from runfold._storage.local_paths import Places
from runfold._storage.url import is_url
from runfold.errors import CannotEdit, LogdirNotFound, UnknownExperiment, UnknownTrial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runfold._experiments.experiment_index import Index
    from runfold._logdir.discover import FoundRun

_MOST_SIMILAR = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of an experiment.

    Attributes:
        id: unique within the logdir; it never changes.
        name: the run's name, relative to the logdir.
        experiment: the id of its experiment.
        path: the run's folder.
    """

    id: int
    name: str
    experiment: int
    path: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """The runs in one folder directly below the logdir, or a single run there.

    Attributes:
        id: unique within the logdir; it never changes.
        name: the folder's name.
        trials: its runs.
        labels: its labels.
        note: its note; empty if there is none.
        is_archived: whether it is hidden from lists.
        path: its folder.
    """

    id: int
    name: str
    trials: tuple[Trial, ...]
    labels: tuple[str, ...]
    note: str
    is_archived: bool
    path: str


Named = TypeVar("Named", Experiment, Trial)


def open_experiments(logdir: str | os.PathLike[str], *, is_written: bool = True) -> Experiments:
    """Return the experiments of a logdir.

    Event files are read only to recognize folders that `add_hparams` created as parts of runs.

    Args:
        logdir: a folder or a URL.
        is_written: store the ids of new experiments and trials in the logdir's index.

    Raises:
        LogdirNotFound: the path does not exist or is not a folder.
        CannotStore: the URL cannot be reached.

    Examples:
        >>> experiments = rf.experiments("runs/")
        >>> [(experiment.id, experiment.name) for experiment in experiments]
        [(1, 'baseline'), (2, 'sweep')]
        >>> len(experiments.find("sweep").trials)
        12
    """
    return Experiments(os.fspath(logdir), is_written=is_written)


class Experiments:
    """The experiments of a logdir, found by id, name or prefix of the name.

    Attributes:
        logdir: the logdir's folder, or the local copy of a URL.
        all: the experiments, sorted by id.
    """

    def __init__(self, logdir: str, *, is_written: bool = True) -> None:
        self._places = Places((logdir,))
        self._places.sync()
        (path,) = self._places.paths
        self.logdir = os.path.abspath(os.path.expanduser(path))
        # The index belongs to the URL, not to its local copy.
        self._home = logdir if is_url(logdir) else self.logdir
        if not os.path.isdir(self.logdir):
            discover(
                path, places=self._places
            )  # raises a specific error if the path does not exist
            raise LogdirNotFound(
                f"{escape(logdir)} is not a folder; experiments are folders below a logdir."
            )
        self.all = self._find_all(is_written)

    def __iter__(self) -> Iterator[Experiment]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def is_remote(self) -> bool:
        """Whether the logdir is a URL, so that `logdir` is only a local copy."""
        return is_url(self._home)

    def find(self, text: str) -> Experiment:
        """Return an experiment by id, name or unique prefix of its name.

        A number is taken as an id or, if no experiment has that id, as a name.

        Raises:
            UnknownExperiment: no experiment matches, or several do.
        """
        return _pick(text, self.all, "experiment", UnknownExperiment)

    def find_trial(self, text: str) -> Trial:
        """Return a trial by id, run name or unique prefix of the run name.

        Raises:
            UnknownTrial: no trial matches, or several do.
        """
        trials = [trial for experiment in self.all for trial in experiment.trials]
        return _pick(text, trials, "trial", UnknownTrial)

    def label(self, experiment: Experiment, add: Sequence[str], remove: Sequence[str]) -> None:
        """Add labels to an experiment, and remove others.

        Raises:
            CannotEdit: a label is too long.
        """
        for label in add:
            _check_length("label", label)

        def change(entry: Entry) -> None:
            kept = [label for label in entry.labels if label not in remove]
            entry.labels = list(dict.fromkeys([*kept, *add]))

        self._change(experiment, change)

    def note(self, experiment: Experiment, text: str) -> None:
        """Set the note of an experiment; an empty string removes it.

        Raises:
            CannotEdit: the note is too long.
        """
        _check_length("note", text)
        self._change(experiment, lambda entry: setattr(entry, "note", text))

    def archive(self, experiment: Experiment, is_archived: bool = True) -> None:
        """Hide an experiment from lists, or show it again with `is_archived=False`."""
        self._change(experiment, lambda entry: setattr(entry, "is_archived", is_archived))

    def _change(self, experiment: Experiment, change: Callable[[Entry], object]) -> None:
        def change_entry(index: Index) -> None:
            # The index may have been deleted since it was read.
            change(index.experiments.setdefault(experiment.name, Entry(experiment.id)))

        change_index(self._home, change_entry)
        self.all = self._find_all(is_written=True)

    def _find_all(self, is_written: bool) -> tuple[Experiment, ...]:
        folders = discover(self.logdir, places=self._places).runs
        return _group_runs(folders, self.logdir, self._home, is_written=is_written)


def _check_length(kind: str, text: str) -> None:
    try:
        check_text(text)
    except ValueError as error:
        raise CannotEdit(f"The {kind} was not stored: {error}.") from None


def name_experiment(run: str) -> str:
    """Return the name of the experiment that a run belongs to."""
    return run.partition("/")[0]


def _group_runs(
    folders: Mapping[str, FoundRun], logdir: str, home: str, *, is_written: bool
) -> tuple[Experiment, ...]:
    parts = find_parts(folders)
    runs = {name: run for name, run in folders.items() if name not in parts}
    grouped: dict[str, list[str]] = {}
    for name in runs:
        grouped.setdefault(name_experiment(name), []).append(name)
    index = load_index(home, list(grouped), list(runs), is_written=is_written)
    experiments = []
    for name, names in grouped.items():
        entry = index.experiments[name]
        trials = tuple(Trial(index.trials[run], run, entry.id, runs[run].path) for run in names)
        path = os.path.normpath(os.path.join(logdir, name))
        experiments.append(
            Experiment(
                entry.id, name, trials, tuple(entry.labels), entry.note, entry.is_archived, path
            )
        )
    return tuple(sorted(experiments, key=lambda experiment: experiment.id))


def _pick(
    text: str,
    known: Sequence[Named],
    noun: str,
    unknown: type[UnknownExperiment] | type[UnknownTrial],
) -> Named:
    name = text.rstrip("/") or text
    # No id has more digits, and Python raises ValueError for numbers with thousands of digits.
    number = int(text[:18]) if text.isdecimal() and text.isascii() else None
    for item in known:
        if item.id == number:
            return item
    for item in known:
        if item.name == name:
            return item
    matches = [item for item in known if name and item.name.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = human_list(item.name for item in matches)
        raise unknown(
            f"Several {noun}s start with '{escape(text)}': {names}. Type more of the name."
        )
    hint = did_you_mean(text, [item.name for item in known])
    if number is not None or not hint:
        similar = sorted(known, key=lambda item: abs(item.id - (number or 0)))
        similar[:_MOST_SIMILAR] = sorted(similar[:_MOST_SIMILAR], key=lambda item: item.id)
        names = human_list((f"{item.id} ({item.name})" for item in similar), _MOST_SIMILAR)
        hint = f"Available: {names}."
    if not known:
        hint = f"There are no {noun}s."
    raise unknown(f"No {noun} '{escape(text)}'. {hint}")

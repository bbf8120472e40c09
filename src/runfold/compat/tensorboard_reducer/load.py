"""Loads the scalars of several runs into one table per tag.

Heavy packages are imported where they are used, so that the command can be interrupted
with Ctrl-C from the start.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Literal, get_args

from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from runfold._logdir.series import Series

    # A run's folder, and its values of one tag by step.
    Column = tuple[str, pd.Series[float]]

HandleDupSteps = Literal["keep-first", "keep-last", "mean", None]

_MOST_TAGS_SHOWN = 50


def load_tb_events(
    input_dirs: Sequence[str],
    *,
    strict_tags: bool = True,
    strict_steps: bool = True,
    handle_dup_steps: HandleDupSteps = None,
    min_runs_per_step: int | None = None,
    verbose: bool = False,
) -> dict[str, pd.DataFrame]:
    """Return one table per tag, with one row per step and one column per run.

    Raises ValueError if an argument is invalid or the runs fail one of the checks below,
    and FileNotFoundError if a folder does not exist or no folder contains scalars. Damaged
    data is skipped with a warning.

    Args:
        input_dirs: one folder per run. Subfolders are separate runs.
        strict_tags: reject runs with different tags. Otherwise a table has
            columns for the runs that have the tag.
        strict_steps: reject runs with different steps. Otherwise only the steps that
            all runs have are kept.
        handle_dup_steps: how to handle several values of a run at the same step:
            "keep-first", "keep-last", "mean", or None to reject them.
        min_runs_per_step: keep the steps that at least this many runs have; the
            other runs have NaN there.
        verbose: show progress on stderr and the shapes on stdout.
    """
    if not input_dirs or isinstance(input_dirs, str):  # each character would be a folder
        raise ValueError(f"Expected non-empty list of input directories, got '{input_dirs}'")
    choices = get_args(HandleDupSteps)
    if handle_dup_steps not in choices:
        raise ValueError(f"unexpected {handle_dup_steps=}, must be one of {choices}")
    is_count = isinstance(min_runs_per_step, int) and min_runs_per_step > 0
    if min_runs_per_step is not None and not is_count:
        raise ValueError(f"Expected positive integer or None, got {min_runs_per_step=}")

    from tqdm import tqdm

    runs: list[tuple[str, Mapping[str, Series]]] = []
    for folder in tqdm(input_dirs, desc="Loading runs", disable=not verbose):
        runs.append((str(folder), _read_scalars(folder)))
    if strict_tags:
        _refuse_missing_tags(runs)
    columns: dict[str, list[Column]] = {}
    for folder, scalars in tqdm(runs, desc="Reading tags", disable=not verbose):
        for tag, series in scalars.items():
            parts = columns.setdefault(tag, [])
            before = parts[-1][1].index if parts else None
            parts.append((folder, _make_column(series, folder, handle_dup_steps, before)))
    if not columns:
        raise FileNotFoundError(
            f"Got {len(input_dirs)} input directories, but none of them contains a TensorBoard "
            "event file with scalars. Subfolders are separate runs: pass them instead."
        )
    if strict_steps:
        for tag, parts in columns.items():
            _refuse_unequal_steps(tag, parts)
    loaded = {tag: _join(parts, min_runs_per_step) for tag, parts in columns.items()}
    if verbose:
        _print_shapes(loaded, strict_tags and strict_steps)
    return loaded


def _read_scalars(folder: str) -> Mapping[str, Series]:
    """Return a run's series by tag; empty if the folder itself contains no event file."""
    from runfold._logdir.loader import Logdir

    # Keep every stored point: data that a restarted job logged again counts as duplicate steps.
    logdir = Logdir(folder, restarts="keep", progress=False, join=False)
    log = logdir.logs.get(os.curdir)
    problems = logdir.problems + (log.list_problems() if log else [])
    if problems:
        warnings.warn(
            f"{escape(str(folder))}: {human_count(len(problems), 'problem')}, the first: "
            f"{problems[0]} `runfold check` lists them all.",
            stacklevel=3,
        )
    return log.scalars if log else {}


def _make_column(
    series: Series, folder: str, handle_dup_steps: HandleDupSteps, before: pd.Index[int] | None
) -> pd.Series[float]:
    """Return a run's values by step; `before` is the index of the previous run, if any."""
    import numpy as np
    import pandas as pd

    # Most runs log the same steps, and pandas compares and joins a shared index very quickly.
    has_same_steps = before is not None and np.array_equal(before, series.steps)
    index = before if has_same_steps else pd.Index(series.steps, name="step")
    column = pd.Series(series.values, index, name="value")
    if handle_dup_steps == "mean":
        return column.groupby(level=0).mean()
    if column.index.is_unique:
        return column
    if handle_dup_steps is None:
        step = column.index[column.index.duplicated()][0]
        raise ValueError(
            f"Tag '{escape(series.tag)}' from run directory '{escape(folder)}' contains duplicate "
            "steps. Please make sure your data wasn't corrupted. If this is expected/you want to "
            "proceed anyway, specify how to handle duplicate values recorded for the same tag and "
            "step in a single run by passing --handle-dup-steps to the CLI or "
            "handle_dup_steps='keep-first'|'keep-last'|'mean' to the Python API. This will keep "
            "the first/last occurrence of duplicate steps or take their mean. The first of them "
            f"is step {step}."
        )
    return column[~column.index.duplicated("first" if handle_dup_steps == "keep-first" else "last")]


def _join(columns: Sequence[Column], min_runs_per_step: int | None) -> pd.DataFrame:
    import pandas as pd

    parts = [column for _, column in columns]
    if min_runs_per_step is None:
        return pd.concat(parts, axis=1, join="inner")
    union = pd.concat(parts, axis=1)
    return union[union.count(axis=1) >= min_runs_per_step]


def _refuse_missing_tags(runs: Sequence[tuple[str, Mapping[str, Series]]]) -> None:
    every = dict.fromkeys(tag for _, scalars in runs for tag in scalars)
    gaps = [
        (folder, [escape(tag) for tag in every if tag not in scalars]) for folder, scalars in runs
    ]
    report = [
        f"- {escape(folder)} missing tags: {', '.join(tags)}" for folder, tags in gaps if tags
    ]
    if report:
        raise ValueError(
            "\n".join(["Some tags are in some logs but not others:", *report, "", ""])
            + "If intentional, pass CLI flag --lax-tags or strict_tags=False to the Python API. "
            "With that, each tag reduction uses as many runs as are available for a given tag, "
            "even if that's just one. Proceed with caution as not all tags will have the same "
            "statistics in downstream analysis."
        )


def _refuse_unequal_steps(tag: str, columns: Sequence[Column]) -> None:
    advice = (
        "If intentional, pass CLI flag --lax-steps or strict_steps=False to the Python API. "
        "Each reduction then uses only the steps that all runs have."
    )
    counts = [len(column) for _, column in columns]
    if len(set(counts)) > 1:
        raise ValueError(
            f"Unequal number of steps {counts} for different runs for the same tag "
            f"'{escape(tag)}'. {advice}"
        )
    (first, reference), *others = columns
    for folder, column in others:
        if column.index.equals(reference.index):
            continue
        # The same steps may have been logged in a different order.
        extra = column.index.difference(reference.index)
        if len(extra):
            raise ValueError(
                f"Unequal steps for the same tag '{escape(tag)}', although the number of steps is "
                f"the same: '{escape(folder)}' has {human_count(len(extra), 'step')} that "
                f"'{escape(first)}' does not have, such as {extra[0]}. {advice}"
            )


def _print_shapes(loaded: Mapping[str, pd.DataFrame], is_strict: bool) -> None:
    if is_strict:
        n_steps, n_runs = next(iter(loaded.values())).shape
        n_tags = len(loaded)
        print(f"Loaded {n_runs} TensorBoard runs with {n_tags} scalars and {n_steps} steps each")
        return
    print(f"Loaded data for {len(loaded)} tags into arrays of shape (n_steps, n_runs):")
    for tag in list(loaded)[:_MOST_TAGS_SHOWN]:
        print(f"- '{escape(tag)}': {loaded[tag].shape}")
    if len(loaded) > _MOST_TAGS_SHOWN:
        print("...")

"""Intended differences between Runfold's logs and the original's.

Most functions convert what was read from the original's logs into what Runfold's logs must
contain, so that a test can compare everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from readings import Reading


def steps_only(logs: Reading, *tags: str) -> Reading:
    """Return the logs with only the steps of scalars that contain measured times.

    Two runs of a program never take exactly the same time.
    """
    return {
        run: {
            (kind, tag): [step for step, _ in points] if tag in tags else points
            for (kind, tag), points in series.items()
        }
        for run, series in logs.items()
    }


def rename_runs(logs: Reading, pattern: str, name: str) -> Reading:
    """Return the logs with one fixed name for folders that are named after the time."""
    return {re.sub(pattern, name, run): series for run, series in logs.items()}


def scalars_in_the_run(logs: Reading, run: str, groups: dict[str, Iterable[str]]) -> Reading:
    """Return the logs with the values of `add_scalars` in the run itself.

    The originals create one folder per key, `<run>/<main tag>_<key>`. Runfold logs the tags
    `<main tag>/<key>`, and a layout that draws each group in one chart.
    """
    logs = {name: dict(series) for name, series in logs.items()}
    layout: dict[str, dict[str, list[str]]] = {}
    for main_tag, keys in groups.items():
        for key in keys:
            folder = logs.pop(f"{run}/{main_tag.replace('/', '_')}_{key}")
            assert list(folder) == [("scalar", main_tag)]
            logs[run]["scalar", f"{main_tag}/{key}"] = folder["scalar", main_tag]
        category = layout.setdefault(main_tag.partition("/")[0], {})
        category[main_tag] = [f"{re.escape(f'{main_tag}/{key}')}$" for key in keys]
    logs[run]["layout", ""] = layout
    return logs


def first_trial_in_the_run(logs: Reading, run: str) -> Reading:
    """Return the logs with the first `add_hparams` in the run itself.

    The originals create a folder named after the time for every call.
    """
    logs = {name: dict(series) for name, series in logs.items()}
    first = min(trial_folders(logs, run))
    logs[run].update(logs.pop(first))
    return logs


def trial_folders(logs: Reading, run: str) -> list[str]:
    """Return the runs directly below a run that have hparams, by name."""
    start = ("metadata", "_hparams_/session_start_info")
    return sorted(name for name in logs if name.rpartition("/")[0] == run and start in logs[name])


def without_experiment(logs: Reading, run: str) -> Reading:
    """Return the logs without a run's list of metrics if its `add_hparams` named none.

    Without that list, TensorBoard uses all of the run's scalars as metrics; with torch's empty
    list, it shows none.
    """
    series = dict(logs[run])
    assert series.pop(("metadata", "_hparams_/experiment"))["metrics"] == []
    return {**logs, run: series}


def keep_booleans(logs: Reading, run: str, *names: str) -> Reading:
    """Return the logs with these hparams as booleans; torch converts them to numbers."""
    start = logs[run]["metadata", "_hparams_/session_start_info"]
    kept = {name: bool(start["hparams"][name]) for name in names}
    values = {"hparams": {**start["hparams"], **kept}}
    return {**logs, run: {**logs[run], ("metadata", "_hparams_/session_start_info"): values}}

"""One row per run, with settings from a file in each run's folder, from hparams, or absent."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import measure
from benchmarks.readings import Reading, find_disagreement

# The event files come from short training runs, with 5,000 points each.
SETTINGS = Log("S", runs=2_000, tags=5, steps=1_000)
WITHOUT = "find_config=False"
HPARAMS = "logged hparams"
FILE = "hparams.yaml"


def make_contest(root: Path, fresh: bool = False, log: Log = SETTINGS) -> Contest:
    """Return the contest between tables with settings from files, from hparams, and with none."""
    plain = generate(log, root, fresh)
    with_files = _copy(plain, FILE, _add_file)
    contenders = [
        Contender(name, partial(measure, prepare, [name, str(folder)]), log.runs)
        for name, folder in (
            (RUNFOLD, with_files),
            (WITHOUT, with_files),
            (HPARAMS, _copy(plain, "hparams", _add_hparams)),
        )
    ]
    return Contest(
        f"one row per run, with 12 settings: {log}",
        ("settings", "runs"),
        contenders,
        lambda _, ours, theirs: find_disagreement(ours, theirs),
    )


def prepare(name: str, folder: str) -> Callable[[], Reading]:
    """Return the call that builds the table, after building it for one run."""
    import runfold as rf
    from benchmarks.questions import _last_values

    def tabulate(path: Path) -> Reading:
        table = rf.open(path, progress=False, find_config=name == RUNFOLD).table()
        return Reading({}, complete=lambda: _last_values(table.set_index("run")))

    tabulate(next(Path(folder).iterdir()))
    return lambda: tabulate(Path(folder))


def list_settings(run: int) -> dict[str, bool | int | float | str]:
    """Return typical settings of a run. Two of them differ between runs."""
    return {
        "learning_rate": 10.0 ** -(run % 4 + 1),
        "seed": run,
        "batch_size": 128,
        "optimizer": "adam",
        "weight_decay": 0.01,
        "model.layers": 12,
        "model.width": 768,
        "model.dropout": 0.1,
        "model.activation": "gelu",
        "mixed_precision": True,
        "scheduler": "cosine",
        "max_steps": 1000,
    }


def _copy(plain: Path, name: str, add: Callable[[Path, Mapping[str, object]], None]) -> Path:
    folder = plain.with_name(f"{plain.name}-{name}")
    if not folder.exists():
        partial_folder = plain.with_name(f".{folder.name}")
        shutil.rmtree(partial_folder, ignore_errors=True)
        shutil.copytree(plain, partial_folder)
        for number, run in enumerate(sorted(partial_folder.iterdir())):
            add(run, list_settings(number))
        partial_folder.rename(folder)
    for file in folder.glob("*/*"):
        file.read_bytes()  # into the page cache
    return folder


def _add_file(run: Path, settings: Mapping[str, object]) -> None:
    import yaml  # type: ignore[import-untyped]

    (run / FILE).write_text(yaml.safe_dump(dict(settings)))


def _add_hparams(run: Path, settings: Mapping[str, object]) -> None:
    from runfold._core.encoder import EventBuffer
    from runfold._events.value_encoding import hparams_start

    (file,) = run.iterdir()
    buffer = EventBuffer()
    buffer.value(hparams_start(dict(settings)), 0, 0.0)
    with file.open("ab") as stream:
        stream.write(buffer)

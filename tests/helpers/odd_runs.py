"""Runs with everything that makes reading them in parts difficult."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.logs import hparams, scalars, values, write
from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import hparams_end, metadata_only, tensor, text

NUMBERS = [0.0, -0.0, np.nan, np.inf, -1.5, 1e300, 1 / 3]
PART = "1700000000.25"


def write_odd_runs(folder: Path, seed: int, runs: int = 4) -> None:
    """Write runs with restarts, NaN, duplicates, several files, parts, torn tails and more."""
    dice = random.Random(seed)
    for number in range(runs):
        run = folder / f"run-{number}"
        files = dice.randint(1, 3)
        for file in range(files):
            settings = [hparams(lr=[0.1, 0.01][number % 2])] if file == 0 else []
            path = write(run, *settings, odd_content(dice, file), number=file + 1)
            if dice.random() < 0.4:
                data = path.read_bytes()
                path.write_bytes(data[: -dice.randint(1, 20)])
        if dice.random() < 0.5:
            write(
                run / PART, hparams(wd=number), scalars("acc", (0, 0.5)), scalars("final", (9, 1))
            )
        if dice.random() < 0.3:
            write(run / PART, values(hparams_end("success")), number=2)
    every = [scalars(tag, (1, 0.5)) for tag in ("loss", "acc", "early", "late", "final")]
    write(folder / "every-tag", hparams(lr=0.1), *every)


def odd_content(dice: random.Random, file: int) -> Callable[[EventBuffer], None]:
    """Return a function that adds the content of one file."""

    def add(buffer: EventBuffer) -> None:
        tags = ["loss", "acc", "strange", *(["late"] if file else ["early"])]
        step = dice.randint(0, 9) * file
        wall_time = 1e9 + 100 * file
        for _ in range(dice.randint(1, 60)):
            wall_time += 1
            event = dice.random()
            tag = dice.choice(tags)
            if event < 0.04:
                step = max(0, step - dice.randint(0, 8))
                buffer.session_start(step, wall_time)
            elif event < 0.08:
                buffer.value(text("note", ["a", "b"]), step, wall_time)
            elif event < 0.1:
                # Until then, a tensor of this tag is a scalar.
                buffer.value(metadata_only("strange", "text", b""), step, wall_time)
            elif tag == "strange":
                buffer.value(tensor("strange", np.array([dice.random()])), step, wall_time)
            else:
                number = dice.choice(NUMBERS) if dice.random() < 0.3 else dice.gauss(0, 100)
                time = np.nan if dice.random() < 0.02 else wall_time
                buffer.scalar_double(tag, number, step, time)
            step += dice.choice([0, 1, 1, 1, 2, -3])

    return add


def bits(frame: pd.DataFrame) -> dict[str, object]:
    """Return the columns of a table so that equal results compare equal, NaN included."""
    found: dict[str, object] = {}
    for name in frame:
        column = frame[name].to_numpy()
        found[str(name)] = (
            [repr(value) for value in column.tolist()]
            if column.dtype == object
            else (str(column.dtype), column.tobytes())
        )
    return found

"""A logdir with an example of everything that a query can return."""

import math
from pathlib import Path

import numpy as np

import runfold as rf
from helpers.logs import scalars, values, write
from runfold._events import value_encoding as encode

PICTURE = b"\x89PNG\r\n\x1a\n not a whole one"
HUGE = 2**62 + 1


def write_logdir(folder: Path) -> Path:
    """Write three runs: two similar ones with hparams, and one with unusual names and numbers."""
    for number, lr in enumerate((0.1, 0.01)):
        write(
            folder / f"seed-{number}",
            scalars("train/loss", (0, 1.0 + number), (1, 0.5 + number)),
            scalars("val/loss", (1, 2.0 + number)),
            values(
                encode.hparams_start({"lr": lr, "layers": 48, "bias": True, "name": "adam"}),
                encode.text("note", "hello"),
                encode.image("picture", 2, 4, 3, PICTURE),
                encode.histogram("weights", -1, 1, 4, 0, 2, [0.0, 1.0], [1, 3]),
            ),
        )
    write(
        folder / "odd 'run'\n😀",
        scalars("step", (HUGE, math.nan), (-5, math.inf), (7, -math.inf)),
        scalars("val'ue\"; --", (0, 1.0)),
        values(encode.text("two", np.array([["a", "b"]], object))),
    )
    return folder


def open_logdir(folder: Path) -> rf.Runs:
    return rf.open(write_logdir(folder), progress=False)

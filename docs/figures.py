"""Draw the figures for the README and guides from the demo's runs. Run by `make screenshots`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import runfold as rf
from runfold._plot.theme import OKABE_ITO, STYLE

PICTURES = Path(__file__).resolve().parent / "pictures"
DPI = 200


def main() -> None:
    """Train the demo, and draw every figure."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        logdir = str(Path(folder, "demo-runs"))
        subprocess.run(
            [sys.executable, "-m", "runfold", "demo", logdir], check=True, capture_output=True
        )
        runs = rf.open(logdir)
        draw_folded(runs)
        draw_plots(runs)


def draw_folded(runs: rf.Runs) -> None:
    """Draw the runs as TensorBoard does, next to the same runs folded."""
    with mpl.rc_context({**STYLE, "font.size": 9, "axes.titlesize": 10}):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(8, 3), sharex=True, sharey=True, layout="constrained"
        )
        for name in runs:
            series = runs[name]["train/loss"]
            left.plot(series.steps, series.values, linewidth=0.6, alpha=0.9)
        left.set(xlabel="step", ylabel="train/loss", yscale="log")
        left.set_title("10 lines: one per run", loc="left", fontweight="bold")
        runs.reduce(["median", "q25", "q75"], by="lr", tags="train/loss").plot(
            "train/loss", ax=right, smooth=0.9, log_y=True, legend=False
        )
        right.set(ylabel="", title="")
        right.set_title("2 curves: median and quartiles", loc="left", fontweight="bold")
        label_lines(right, {"lr=0.01, 5 seeds": (560, 0.27), "lr=0.1, 5 seeds": (560, 0.021)})
        save(figure, "folded")


def label_lines(axes: Axes, places: dict[str, tuple[float, float]]) -> None:
    """Write the name of each group next to its line, in its color."""
    for (name, (x, y)), color in zip(places.items(), OKABE_ITO, strict=False):
        axes.text(x, y, name, color=color, fontweight="bold")


def draw_plots(runs: rf.Runs) -> None:
    """Draw the figures for the guides, with the calls that the guides show."""
    reduced = runs.reduce(["mean", "ci95-t"], by="lr", tags="val/*")
    save(reduced.plot("val/*"), "plot-ci95")
    save(runs["lr-0.1/seed-0"]["val/accuracy"].plot(), "plot-series")


def save(figure: mpl.figure.Figure, name: str) -> None:
    """Write a figure as a picture, without Matplotlib's version in its metadata."""
    path = PICTURES / f"{name}.png"
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(figure)
    print(path)


if __name__ == "__main__":
    main()

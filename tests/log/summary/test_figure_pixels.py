"""Figures: drawn as in torch, and otherwise unchanged."""

import subprocess
import sys
from typing import Any

import matplotlib.pyplot as plt
import pytest
from helpers.media import assert_same_picture as assert_same
from helpers.media import picture, read
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

import runfold as rf
from runfold.errors import CannotLog


def draw(size=(2, 1), color="red"):
    figure = plt.figure(figsize=size)
    figure.add_subplot().plot([1, 3, 2], color=color)
    return figure


def test_figures_are_drawn_as_in_torch(tmp_path):
    figure, other = draw(), draw(color="blue")
    assert_same(tmp_path, lambda w: w.add_figure("p", figure, 1, close=False))
    assert_same(tmp_path / "b", lambda w: w.add_figure("p", [figure, other], close=False))
    plt.close("all")


def test_figures_are_closed_only_on_request_and_keep_their_canvas(tmp_path):
    figure = draw()
    canvas = FigureCanvasSVG(figure)
    with rf.SummaryWriter(tmp_path) as writer:
        writer.add_figure("p", figure, close=False)
        assert figure.canvas is canvas
        assert plt.get_fignums() == [figure.number]
        writer.add_figure("p", figure)
    assert plt.get_fignums() == []


def test_figures_of_different_sizes_and_other_objects_raise(tmp_path):
    figures = [Figure(figsize=(1, 1)), Figure(figsize=(2, 1))]
    with rf.SummaryWriter(tmp_path, on_error="raise") as writer:
        with pytest.raises(CannotLog, match=r"'p': figure.*same size, got 100 x 100, 200 x 100"):
            writer.add_figure("p", figures)
        value: Any
        for value in ([], None, "figure"):
            with pytest.raises(CannotLog, match=r"'p': figure cannot be.*matplotlib Figure"):
                writer.add_figure("p", value)


def test_figures_do_not_need_pyplot_and_the_writer_does_not_import_pil_or_matplotlib(tmp_path):
    code = """
import sys
from runfold import SummaryWriter
assert not {"PIL", "matplotlib", "torch", "pandas"} & set(sys.modules)
from matplotlib.figure import Figure
with SummaryWriter(sys.argv[1]) as writer:
    writer.add_figure("p", Figure())
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(tmp_path)], check=True)
    assert picture(read(tmp_path))[:3] == (480, 640, 3)

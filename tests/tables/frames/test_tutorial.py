"""The README's example: all runs in one table, saved and loaded with its images."""

import re

import numpy as np
import pytest
from helpers.checkout import ROOT

import runfold as rf

README = ROOT / "README.md"


def track(folder, seed):
    with rf.track(folder, hparams={"lr": 0.1}) as run:
        for step in range(3):
            run.add_scalar("val/loss", 1 / (step + 1 + seed), step)
            run.add_image("boundary", np.full((3, 8, 8), 10 * seed + step, np.uint8), step)
        run.add_text("note", f"seed {seed}")
        if seed == 1:
            raise RuntimeError("diverged")


def test_example_returns_every_finished_run_with_its_images(tmp_path, monkeypatch):
    for seed in (0, 2):
        track(tmp_path / "demo-runs" / f"seed-{seed}", seed)
    with pytest.raises(RuntimeError, match="diverged"):
        track(tmp_path / "demo-runs" / "seed-1", 1)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (lines,) = [block for block in blocks if "read_table" in block]
    assert lines.count("\n") == 5
    names = {"rf": rf}
    exec(lines, names)
    table = names["table"]
    assert table["run"].tolist() == ["seed-0", "seed-2"]
    assert table["val/loss"].tolist() == [np.float32(1 / 3), np.float32(1 / 5)]
    assert table["note"].tolist() == ["seed 0", "seed 2"]
    assert table["lr"].tolist() == [0.1, 0.1]
    for picture, value in zip(table["boundary"], (2, 22), strict=True):
        np.testing.assert_array_equal(picture.pil(), np.full((8, 8, 3), value))
        assert "image/png" in picture._repr_mimebundle_()
    assert table._repr_html_().count("<img") == 2

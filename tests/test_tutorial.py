"""The results of every run in one table, as the README has it."""

import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

import runfold as rf

README = Path(__file__).parent.parent / "README.md"


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (3, 12, 20), np.uint8)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs that ended well and one that did not, and one that torch wrote."""
    for seed in range(3):
        ends = pytest.raises(ZeroDivisionError) if seed == 2 else nullcontext()
        settings = {"seed": seed}
        with ends, rf.track(tmp_path / f"runs/seed-{seed}", hparams=settings, system=False) as run:
            run.add_text("note", f"*seed* {seed}")
            run.add_image("sample", picture(seed), 1)
            run.log({"val/loss": 1.0 / (2 - seed)}, step=1)
    with SummaryWriter(str(tmp_path / "runs" / "torch")) as writer:
        writer.add_scalar("val/loss", 0.25, 7)
        writer.add_text("note", "by torch")
        writer.add_image("sample", picture(7), 7)
        writer.add_hparams({"seed": 7}, {"hparam/loss": 0.25})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results_are_saved_and_loaded_with_their_pictures(results: Path):
    code = re.search(r"```python\n(runs = rf\.open\(\"runs/\"\)\n.*?)```", README.read_text(), re.S)
    assert code is not None
    lines = code[1].strip().split("\n")
    assert len(lines) == 5
    names: dict[str, object] = {"rf": rf}
    exec("\n".join(lines[:-1]), names)
    table = names["table"]
    assert isinstance(table, pd.DataFrame)
    assert table["run"].tolist() == ["seed-0", "seed-1", "torch"]
    assert table["status"].tolist() == ["finished"] * 3
    assert table["seed"].tolist() == [0, 1, 7]
    assert table["val/loss"].tolist() == [0.5, 1.0, 0.25]
    assert table["note"].tolist() == ["*seed* 0", "*seed* 1", "by torch"]
    shown = eval(lines[-1], names)
    assert isinstance(shown, Image.Image)
    for image, seed in zip(table["sample"], (0, 1, 7), strict=True):
        np.testing.assert_array_equal(image.numpy(), picture(seed).transpose(1, 2, 0))
    assert table._repr_html_().count("<img ") == 3  # type: ignore[operator]
    assert isinstance(table["start"].dtype, pd.DatetimeTZDtype)

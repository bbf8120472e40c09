"""Hugging Face datasets shows the images of a saved table, as docs/guides/export.md says."""

import re

import numpy as np
from helpers.checkout import ROOT
from helpers.hugging_face import datasets

import runfold as rf

PAGE = (ROOT / "docs" / "guides" / "export.md").read_text(encoding="utf-8")


def test_datasets_shows_the_images_of_a_table(tmp_path, monkeypatch):
    with rf.SummaryWriter(tmp_path / "run") as writer:
        writer.add_image("boundary", np.zeros((4, 6, 3), np.uint8), 0, dataformats="HWC")
    rf.open(tmp_path).table().to_parquet(tmp_path / "table.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    block = re.search(r"```python\n(import datasets\n\n)(.*?)\n```", PAGE, re.DOTALL)
    assert block is not None
    exec(block[1])
    assert eval(block[2]).size == (6, 4)

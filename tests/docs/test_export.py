"""The code in docs/guides/export.md runs as it stands, on logs of the demo's shape."""

import re

from helpers.checkout import ROOT
from helpers.hugging_face import datasets
from helpers.writers import torch as write_all_kinds

DOCS = ROOT / "docs" / "guides" / "export.md"


def test_code_of_the_page_runs(tmp_path, monkeypatch):
    write_all_kinds(tmp_path / "demo-runs" / "seed-1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 3
    assert names["again"]["image"][0].pil().size == (6, 4)

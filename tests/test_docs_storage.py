"""The code in docs/storage.md runs as it stands, against a real S3 server."""

import re
from pathlib import Path

from stores import stored

DOCS = Path(__file__).parent.parent / "docs" / "storage.md"


def test_code_of_the_page_runs(s3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text(encoding="utf-8").replace("s3://bucket/", f"{s3.url}/")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    for name in ("seed-0", "seed-1"):
        assert len(names["runs"][name]["train/loss"].values) == 100
    assert "diverged" in stored(s3)[".runfold/stop"].decode()

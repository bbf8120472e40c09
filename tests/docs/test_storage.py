"""The code in docs/guides/storage.md runs as it stands, against a real S3 server."""

import re
import threading

from helpers.checkout import ROOT
from helpers.stores import wait_for

import runfold as rf

DOCS = ROOT / "docs" / "guides" / "storage.md"


def test_code_of_the_page_runs(s3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text(encoding="utf-8").replace("s3://bucket/", f"{s3.url}/")
    *blocks, stop = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    for name in ("seed-0", "seed-1"):
        assert len(names["runs"][name]["train/loss"].values) == 100
    # Only a run in progress can be stopped.
    heard = threading.Event()
    reasons = []
    with rf.track(
        "runs/seed-1",
        storage=f"{s3.url}/runs",
        resume=True,
        on_stop=lambda request: (reasons.append(request.reason), heard.set()),
        **{"code": False, "system": False},
    ):
        wait_for(lambda: rf.open(f"{s3.url}/runs")["seed-1"].status.state == "running")
        exec(stop, names)
        assert heard.wait(60)
    assert reasons == ["diverged"]

"""W&B receives every point from a writer with a URL, which removes its local files on close."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from test_sync_wandb import POINTS, run_wandb

# For the fixture with a real SFTP server.
sys.path.append(str(Path(__file__).parent.parent))
pytest_plugins = ["helpers.sftp"]

# How a program ends, after it has logged the last ten points.
ENDS = {
    "closed": "writer.close()\nwandb.finish()",
    "finished before it is closed": "wandb.finish()\nwriter.close()",
    "forgotten": "writer.flush()\ndel writer\nwandb.finish()",
    "neither": "",
}


@pytest.mark.parametrize("order", ["first", "later"])
@pytest.mark.parametrize("end", ENDS)
def test_every_point_arrives(tmp_path: Path, sftp: Any, order: str, end: str) -> None:
    init = "init(sync_tensorboard=True)"
    code = f"""
    {init if order == "first" else ""}
    writer = SummaryWriter({sftp.url!r})
    log(writer, range(10))
    {"begin_next_second()" if order == "later" else ""}
    {init if order == "later" else ""}
    log(writer, range(10, 20))
    {ENDS[end].replace(chr(10), chr(10) + "    ")}
    """
    (run,) = run_wandb(tmp_path, code)
    assert run.series == {"train/loss": POINTS}
    assert list((tmp_path / "state" / "runfold" / "staging").iterdir()) == []
    assert len(list(sftp.folder.glob("*tfevents*"))) == 1


def test_every_point_of_a_reopened_writer_arrives(tmp_path: Path, sftp: Any) -> None:
    code = f"""
    init(sync_tensorboard=True)
    writer = SummaryWriter({sftp.url!r})
    log(writer, range(10))
    writer.close()
    log(writer, range(10, 20))
    writer.close()
    wandb.finish()
    """
    (run,) = run_wandb(tmp_path, code)
    # W&B reads both files at the same time.
    assert sorted(run.series["train/loss"]) == POINTS
    assert len(list(sftp.folder.glob("*tfevents*"))) == 2

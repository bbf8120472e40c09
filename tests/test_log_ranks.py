"""Distributed jobs: the first process writes, and the others take every call."""

import os
import subprocess
import sys

import pytest
from log_runs import logged

import runfold as rf

VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize(
    ("rank", "is_silent"), [("0", False), ("1", True), ("17", True), ("", False), ("-1", False)]
)
def test_only_rank_zero_writes(tmp_path, monkeypatch, variable, rank, is_silent):
    monkeypatch.setenv(variable, rank)
    with rf.SummaryWriter(tmp_path / "run", hparams={"lr": 0.1}, purge_step=3) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_embedding([[1.0, 2.0]])
        writer.export_scalars_to_json(tmp_path / "scalars.json")
        assert writer.is_silent == is_silent
    assert (tmp_path / "run").exists() != is_silent
    assert (tmp_path / "scalars.json").exists() != is_silent


def test_the_rank_of_torchrun_counts_before_that_of_slurm(tmp_path, monkeypatch):
    # As where SLURM starts one torchrun a node.
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("RANK", "0")
    with rf.SummaryWriter(tmp_path) as writer:
        assert not writer.is_silent


def test_every_rank_writes_where_told(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with rf.SummaryWriter(tmp_path, rank_zero_only=False) as writer:
        writer.add_scalar("loss", 0.5, 1)
    assert logged(tmp_path) == {1: 0.5}


def test_the_group_of_torch_is_asked_where_there_is_one(tmp_path):
    (tmp_path / "train.py").write_text("""
import sys
import torch.distributed
from runfold import SummaryWriter

rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", "file://" + sys.argv[2], rank=rank, world_size=2)
with SummaryWriter("first") as writer, SummaryWriter("all", rank_zero_only=False) as every:
    writer.add_scalar("loss", float(rank), 1)
    every.add_scalar(f"loss/{rank}", float(rank), 1)
    torch.distributed.barrier()
torch.distributed.destroy_process_group()
""")
    # The variable is that of another launcher, and wrong for both.
    workers = [
        subprocess.Popen(
            [sys.executable, "train.py", str(rank), str(tmp_path / "meeting")],
            cwd=tmp_path,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "RANK": str(1 - rank)},
            stderr=subprocess.PIPE,
        )
        for rank in (0, 1)
    ]
    for worker in workers:
        _, told = worker.communicate(timeout=120)
        assert worker.returncode == 0, told
    assert logged(tmp_path / "first") == {1: 0.0}
    assert len(list((tmp_path / "first").iterdir())) == 1
    assert logged(tmp_path / "all", "loss/0") == {1: 0.0}
    assert logged(tmp_path / "all", "loss/1") == {1: 1.0}

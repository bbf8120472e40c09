"""`runfold ls`, `check` and `show` with every kind that torch writes."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.tensorboard import SummaryWriter

from runfold._cli import main
from runfold._cli.terminal import show_tag


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    numbers = np.random.default_rng(0)
    with SummaryWriter(str(folder)) as writer:
        writer.add_mesh("mesh", torch.rand(1, 4, 3), faces=torch.tensor([[[0, 1, 2], [1, 2, 3]]]))
        writer.add_mesh("me", torch.rand(1, 5, 3))
        writer.add_pr_curve("pr", numbers.integers(0, 2, 100), numbers.random(100), 3)
        writer.add_audio("clip", torch.zeros(1, 8000), 1, 8000)
        writer.add_graph(torch.nn.Linear(2, 3), torch.rand(1, 2))
        writer.add_custom_scalars({"losses": {"both": ["Multiline", ["train", "val"]]}})
        writer.add_embedding(torch.rand(5, 3), metadata=list("abcde"), tag="letters")
        writer.add_hparams({"lr": 0.1, "name": "adam"}, {"loss": 1.0}, run_name="trial")
    return folder


CASES = [
    ("mesh_VERTEX", "mesh", "vertices  float32 of shape (1, 4, 3)"),
    ("pr", "pr_curve", "127 thresholds, a selection:"),
    ("clip", "audio", "clip 0: audio/wav, 1.0 s"),
    ("", "graph", "5 nodes"),
    ("step1", "run_metadata", "RunMetadata, "),
    ("custom_scalars__config__", "layout", "losses\n  both: train, val\n"),
    ("letters:00000", "embedding", "tensor_path    00000/letters/tensors.tsv"),
]


@pytest.mark.parametrize(("tag", "kind", "part"), CASES)
def test_every_kind_is_shown(
    tag: str, kind: str, part: str, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(logdir), ".", tag]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{show_tag(tag or kind)} in run .: {kind}")
    assert part in shown
    assert main(["show", str(logdir), ".", tag, "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["run"], found["tag"], found["kind"]) == (".", tag, kind)


@pytest.mark.parametrize(
    ("tag", "part"),
    [
        ("experiment", "hparams: lr, name\nmetrics: loss\n"),
        ("session_start_info", "hparams:\n  lr    0.1\n  name  adam\n"),
        ("session_end_info", "status: success\n"),
    ],
)
def test_hparams_are_shown(
    tag: str, part: str, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(logdir), "trial", f"_hparams_/{tag}"]) == 0
    assert part in capsys.readouterr().out


def test_every_tag_is_listed_with_its_kind(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ls", "--tags", str(logdir)]) == 0
    listed = {tuple(line.split()[1:3]) for line in capsys.readouterr().out.splitlines()}
    assert {(show_tag(tag), kind) for tag, kind, _ in CASES} <= listed


def test_no_value_has_a_problem(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(logdir)]) == 0
    assert capsys.readouterr().err.startswith("No problems in 2 event files")


def test_mesh_is_found_by_its_table_name(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, shape in (("me", "(1, 5, 3)"), ("mesh", "(1, 4, 3)"), ("mesh_FACE", "(1, 4, 3)")):
        assert main(["show", str(logdir), ".", name]) == 0
        shown = capsys.readouterr().out
        assert shown.count("vertices") == 1
        assert f"vertices  float32 of shape {shape}" in shown

"""Run folders that a group can write to: nothing is written through links in such a folder."""

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runfold as rf
from runfold import SummaryWriter
from runfold._files import Untrusted
from runfold._log.track.artifacts import save_file

NOBODY = 65534


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run's folder that a group can write to, next to a private folder."""
    folder, private = tmp_path / "g2" / "e1", tmp_path / "private"
    folder.mkdir(parents=True)
    private.mkdir(mode=0o700)
    (private / "metadata.tsv").write_text("mine")
    if os.geteuid() == 0:
        os.chown(folder, -1, NOBODY)
    folder.chmod(0o2775)
    return folder


def plant(folder: Path, commands: str) -> None:
    """Run shell commands in a folder as another member of its group."""
    member: dict[str, Any] = {}
    if os.geteuid() == 0:
        member = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    subprocess.run(["sh", "-ec", f"umask 002; {commands}"], cwd=folder, check=True, **member)


def read_all(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.fault(68)
@pytest.mark.parametrize(
    "commands",
    [
        "mkdir 00000; ln -s ../../../private 00000/default",
        "ln -s ../../private 00000",
    ],
)
def test_an_embedding_is_not_written_through_a_link(tmp_path, run_folder, commands):
    with rf.track(run_folder, code=False, system=False) as run:
        plant(run_folder, commands)
        with pytest.warns(UserWarning, match=r"(?s)A link or a file .* was not logged"):
            run.add_embedding(np.ones((2, 2)), metadata=["a", "b"])
        run.add_embedding(np.ones((2, 2)), metadata=["a", "b"], global_step=1)
        run.log({"loss": 1.0}, step=1)
    assert read_all(tmp_path / "private") == {"metadata.tsv": "mine"}
    assert (run_folder / "00001" / "default" / "metadata.tsv").read_text() == "a\nb\n"
    assert rf.open(run_folder).scalars(tags="loss")["value"].tolist() == [1.0]
    assert "00000" not in (run_folder / "projector_config.pbtxt").read_text()


@pytest.mark.fault(68)
@pytest.mark.parametrize(
    ("commands", "name"),
    [
        ("ln -s ../../private artifacts", None),
        ("mkdir artifacts; ln -s ../../../private artifacts/best", "best/keys"),
        ("mkdir -p artifacts/best; ln -s ../../../../private artifacts/best/x", "best/x/keys"),
    ],
)
@pytest.mark.parametrize("is_folder", [False, True])
def test_an_artifact_is_not_saved_through_a_link(tmp_path, run_folder, commands, name, is_folder):
    source = tmp_path / "keys"
    if is_folder:
        (source / "deep").mkdir(parents=True)
        (source / "deep" / "key").write_text("forged")
    else:
        source.write_text("forged")
    with rf.track(run_folder, code=False, system=False) as run:
        plant(run_folder, commands)
        with pytest.warns(UserWarning, match=r"A link or a file .* was not saved"):
            assert run.save(source, name) is None
        run.log({"loss": 1.0}, step=1)
    assert read_all(tmp_path / "private") == {"metadata.tsv": "mine"}
    assert rf.open(run_folder).scalars(tags="loss")["value"].tolist() == [1.0]


def test_an_untrusted_artifact_raises_on_request(tmp_path, run_folder):
    plant(run_folder, "ln -s ../../private artifacts")
    (tmp_path / "keys").write_text("forged")
    with (
        rf.track(run_folder, code=False, system=False, on_error="raise") as run,
        pytest.raises(Untrusted),
    ):
        run.save(tmp_path / "keys")


@pytest.mark.fault(68)
def test_a_trial_is_not_written_through_a_link(tmp_path, run_folder):
    with SummaryWriter(str(run_folder)) as writer:
        writer.add_hparams({"lr": 1.0}, {"loss": 1.0})
        plant(run_folder, "ln -s ../../private better")
        with pytest.warns(UserWarning, match=r"'better' was not logged: its folder is a link to"):
            writer.add_hparams({"lr": 2.0}, {"loss": 2.0}, run_name="better")
    assert read_all(tmp_path / "private") == {"metadata.tsv": "mine"}


@pytest.mark.fault(68)
def test_a_link_or_a_pipe_is_not_mistaken_for_the_saved_file(tmp_path, run_folder):
    (tmp_path / "empty").touch()
    plant(run_folder, "mkdir artifacts; mkfifo artifacts/empty; ln -s ../../../empty artifacts/one")
    assert save_file(str(run_folder), tmp_path / "empty").name == "empty-1"
    assert save_file(str(run_folder), tmp_path / "empty", "one").name == "one-1"


def test_a_run_folder_that_is_a_link_itself_is_written_to(tmp_path, run_folder):
    (tmp_path / "latest").symlink_to(run_folder)
    (tmp_path / "model.pt").write_text("weights")
    with rf.track(tmp_path / "latest", code=False, system=False) as run:
        run.add_embedding(np.ones((2, 2)))
        saved = run.save(tmp_path / "model.pt", "best/model.pt")
    assert Path(saved.path).read_text() == "weights"
    assert (run_folder / "00000" / "default" / "tensors.tsv").exists()
    assert sorted(os.listdir(run_folder / "artifacts" / "best")) == ["model.pt"]

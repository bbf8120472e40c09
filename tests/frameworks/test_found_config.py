"""Settings that frameworks leave in text tags and files, from real training runs."""

import os
from pathlib import Path

import pytest
from conftest import run_program

import runfold as rf
from runfold._cli import main

# What each framework calls the learning rate, the source of its value, and other settings.
FRAMEWORKS = {
    "transformers": ("learning_rate", "text args", {"max_steps": 4, "hub_token": "***"}),
    "lightning": (
        "lr",
        "file hparams.yaml",
        {"activation": "torch.nn.modules.activation.ReLU", "sizes": "[4, 1]", "optim.name": "sgd"},
    ),
    "accelerate": ("lr", "hparams", {"name": "small"}),
    "ray": ("lr", "file params.json", {"model.layers": 2}),
    "hydra": ("optim.lr", "file ../../.hydra/config.yaml", {"extra": 3, "optim.name": "rmsprop"}),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which every framework has trained, with its own writer."""
    return run_program(tmp_path_factory.mktemp("found") / "logs", "original", "found_config").folder


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_runs_are_grouped_by_a_setting(logs: Path, framework: str, capsys):
    name, source, others = FRAMEWORKS[framework]
    runs = rf.open(logs / framework)
    frame = runs.hparams(sources=True)
    rows = frame[frame["hparam"] == name]
    assert sorted(set(rows["value"])) == [0.01, 0.1]
    assert set(rows["source"]) == {source}
    for other, value in others.items():
        assert set(frame.loc[frame["hparam"] == other, "value"]) == {value}
    assert len(runs.where(f"`{name}` < 0.05")) == len(runs) / 2
    output = logs / f"{framework}.csv"
    assert main(["reduce", str(logs / framework), "--by", name, "-o", str(output)]) == 0
    assert "in 2 groups" in capsys.readouterr().err


def test_logged_hparams_equal_those_that_the_tracker_saved(logs: Path):
    for name, run in rf.open(logs / "accelerate").items():
        (saved,) = (logs / "accelerate" / name).glob("*/hparams.yml")
        for file in sorted(Path(run.path).rglob("*tfevents*")):
            if file.parent != saved.parent and file.parent.name != name:
                os.remove(file)  # the hparams, in a separate folder
    found = rf.open(logs / "accelerate").hparams(sources=True)
    rates = found[found["hparam"] == "lr"]
    assert sorted(rates["value"]) == [0.01, 0.1]
    assert all(str(source).endswith("/hparams.yml") for source in rates["source"])


def test_the_saved_state_of_the_trainer_is_found_in_the_folder_above(logs: Path):
    found = rf.open(logs / "transformers").hparams(sources=True)
    assert set(found["source"]) == {"text args", "file ../trainer_state.json"}

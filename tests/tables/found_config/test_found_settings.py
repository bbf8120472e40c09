"""Settings found for runs: the forms of each framework, precedence, sources and uses."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.logs import hparams, scalars, values, write

import runfold as rf
from runfold._cli import main
from runfold._events.value_encoding import text

LIGHTNING = """\
activation: !!python/name:torch.nn.modules.activation.ReLU ''
decay: null
lr: 0.1
optim:
  betas:
  - 0.9
  - 0.99
  name: sgd
sizes: !!python/tuple
- 4
- 1
"""
RAY = """\
{
  "env": "CartPole",
  "lr": 0.1,
  "model": {
    "activation": "<class 'torch.nn.modules.activation.ReLU'>",
    "layers": 2
  }
}"""
ZOO_CONFIG = """\
!!python/object/apply:collections.OrderedDict
- - - learning_rate
    - lin_0.001
  - - n_envs
    - 8
  - - policy_kwargs
    - dict(net_arch=[64])
"""
ZOO_ARGS = """\
!!python/object/apply:collections.OrderedDict
- - - algo
    - ppo
  - - seed
    - 3
"""
HYDRA = (
    "optim:\n  lr: ${base.rate}\n  name: adam\nbase:\n  rate: ${rate}\nrate: 0.1\n"
    "root: ${oc.env:HOME}\nfirst: ${second}\nsecond: ${first}\n"
)
TRAINER_STATE = {
    "best_metric": None,
    "epoch": 4.0,
    "global_step": 4,
    "log_history": [{"loss": 0.5, "step": 1}],
    "max_steps": 4,
    "num_train_epochs": 2,
    "train_batch_size": 8,
    "trial_params": {"lr": 0.2},
}
TRANSFORMERS = json.dumps(
    {
        "output_dir": "out",
        "learning_rate": 5e-05,
        "max_steps": 4,
        "fp16": False,
        "hub_token": "hf_0123456789abcdef",
        "lr_scheduler_kwargs": {"power": 2.0},
        "report_to": ["tensorboard"],
        "run_name": None,
    },
    indent=2,
)
CLEANRL = "|param|value|\n|-|-|\n|seed|1|\n|learning_rate|0.00025|\n|track|False|\n|entity|None|"


def make(folder: Path, *adds, **files: str) -> Path:
    """Write a run with a scalar and the given files; `__` in a name is replaced by a dot."""
    write(folder, scalars("loss", (0, 3.0), (1, 2.0)), *adds)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def sources(logdir: Path, **options) -> dict[str, tuple[object, str]]:
    """Return the value and source of each setting of the only run."""
    frame = rf.open(logdir, **options).hparams(sources=True)
    assert frame["run"].nunique() <= 1
    return {
        row.hparam: (row.value, row.source) for row in frame.astype(object).itertuples(index=False)
    }


@pytest.mark.parametrize(
    ("name", "content", "settings"),
    [
        (
            "hparams.yaml",
            LIGHTNING,
            {
                "activation": "torch.nn.modules.activation.ReLU",
                "lr": 0.1,
                "optim.betas": "[0.9, 0.99]",
                "optim.name": "sgd",
                "sizes": "[4, 1]",
            },
        ),
        (
            ".hydra/config.yaml",
            HYDRA,
            {
                "optim.lr": 0.1,
                "optim.name": "adam",
                "base.rate": 0.1,
                "rate": 0.1,
                "root": "${oc.env:HOME}",
                "first": "${second}",
                "second": "${first}",
            },
        ),
        (
            ".hydra/overrides.yaml",
            "- optim.lr=1e-3\n- +extra=true\n- ~notes\n- ++name=a=b\n",
            {"optim.lr": 0.001, "extra": True, "name": "a=b"},
        ),
        (
            "params.json",
            RAY,
            {
                "env": "CartPole",
                "lr": 0.1,
                "model.activation": "<class 'torch.nn.modules.activation.ReLU'>",
                "model.layers": 2,
            },
        ),
        (
            "hparams.yml",
            "lr: 0.05\nname: small\nsteps: 8\n",
            {"lr": 0.05, "name": "small", "steps": 8},
        ),
        ("1795034994.0108209/hparams.yml", "lr: 0.05\n", {"lr": 0.05}),
        (
            "config.yml",
            ZOO_CONFIG,
            {"learning_rate": "lin_0.001", "n_envs": 8, "policy_kwargs": "dict(net_arch=[64])"},
        ),
        ("args.yml", ZOO_ARGS, {"algo": "ppo", "seed": 3}),
        ("config.yaml", "lr: 1e-3\n", {"lr": 0.001}),
        ("config.json", '{"lr": 0.1, "dims": [1, 2]}', {"lr": 0.1, "dims": "[1, 2]"}),
        ("args.json", '{"lr": 0.1}', {"lr": 0.1}),
        ("args.yaml", "lr: 0.1", {"lr": 0.1}),
        (
            "trainer_state.json",
            json.dumps(TRAINER_STATE),
            {"max_steps": 4, "num_train_epochs": 2, "train_batch_size": 8, "trial_params.lr": 0.2},
        ),
    ],
)
def test_settings_in_a_file_are_found(tmp_path: Path, name, content, settings):
    run = make(tmp_path / "run")
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_text(content)
    expected = {setting: (value, f"file {name}") for setting, value in settings.items()}
    assert sources(tmp_path) == expected


@pytest.mark.parametrize(
    ("tag", "content", "settings"),
    [
        (
            "args",
            TRANSFORMERS,
            {
                "output_dir": "out",
                "learning_rate": 5e-05,
                "max_steps": 4,
                "fp16": False,
                "hub_token": "***",
                "lr_scheduler_kwargs.power": 2.0,
                "report_to": '["tensorboard"]',
            },
        ),
        ("hyperparameters", CLEANRL, {"seed": 1, "learning_rate": 0.00025, "track": False}),
        ("config", "optim:\n  lr: 0.1", {"optim.lr": 0.1}),
        ("hparams", "```yaml\nlr: 0.1\n```", {"lr": 0.1}),
        ("notes", "lr: 0.1", {}),
        ("args", "python train.py --lr 0.1", {"old": 1}),
    ],
)
@pytest.mark.parametrize("suffix", ["", "/text_summary"])
def test_settings_in_a_text_are_found(tmp_path: Path, tag, content, settings, suffix):
    make(tmp_path / "run", values(text(tag + suffix, "old: 1"), text(tag + suffix, content)))
    expected = {name: (value, f"text {tag}") for name, value in settings.items()}
    assert repr(sources(tmp_path)) == repr(expected)


def test_a_text_with_two_dimensions_is_a_table(tmp_path: Path):
    rows = np.array([["lr", "0.1"], ["name", "a"]])
    make(tmp_path / "run", values(text("config", rows)))
    assert sources(tmp_path) == {"lr": (0.1, "text config"), "name": ("a", "text config")}


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["lr: 1", "epoch 3 done"], {"lr": 1}),
        (["lr: 1", "lr: 2", "done", "[]"], {"lr": 2}),
        (["lr: 1"] + ["done"] * 9, {"lr": 1}),
        (["lr: 1"] + ["done"] * 10, {}),
        (["done"] * 3, {}),
    ],
)
def test_the_last_text_with_settings_is_used(tmp_path: Path, texts, found):
    """A program may log messages with the same tag. The last 10 text entries are read."""
    with rf.SummaryWriter(tmp_path / "run") as writer:
        for step, message in enumerate(texts):
            writer.add_text("config", message, step)
    frame = rf.open(tmp_path).hparams()
    assert dict(zip(frame["hparam"], frame["value"], strict=True)) == found


def test_hparams_come_first_then_texts_then_files_then_files_above(tmp_path: Path):
    run = make(
        tmp_path / "sweep" / "run",
        hparams(a=1.0),
        values(text("args", '{"a": 2, "b": 2}'), text("config", "b: 3\nc: 3")),
        hparams__yaml="{a: 4, b: 4, c: 4, d: 4}",
        config__json='{"d": 5, "e": 5}',
    )
    (run.parent / "params.json").write_text('{"e": 6, "f": 6}')
    (tmp_path / "config.yaml").write_text("f: 7\ng: 7")
    (tmp_path.parent / "config.yaml").write_text("h: 8")
    assert sources(tmp_path) == {
        "a": (1.0, "hparams"),
        "b": (2, "text args"),
        "c": (3, "text config"),
        "d": (4, "file hparams.yaml"),
        "e": (5, "file config.json"),
        "f": (6, "file ../params.json"),
        "g": (7, "file ../../config.yaml"),
    }


def test_a_nested_name_is_not_repeated_if_it_was_logged_with_a_slash(tmp_path: Path):
    make(tmp_path / "run", hparams(**{"optim/lr": 0.1}), hparams__yaml="optim: {lr: 0.1, name: a}")
    assert sources(tmp_path) == {
        "optim/lr": (0.1, "hparams"),
        "optim.name": ("a", "file hparams.yaml"),
    }


def test_a_tracked_configuration_comes_before_files(tmp_path: Path):
    with rf.track(tmp_path / "run", config={"lr": 0.1, "layers": 2}) as run:
        run.log({"loss": 1.0}, step=0)
    (tmp_path / "run" / "config.yaml").write_text("lr: 0.5\nother: 1")
    found = sources(tmp_path)
    assert found["lr"][0] == 0.1
    assert found["layers"][0] == 2
    assert found["other"] == (1, "file config.yaml")


def test_a_folder_of_add_hparams_has_the_settings_of_its_run(tmp_path: Path):
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path / "run")) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_hparams({"lr": 0.1}, {"loss": 1.0}, run_name="1700000000.5")
    (tmp_path / "run" / "config.yaml").write_text("lr: 1\nseed: 3")
    runs = rf.open(tmp_path)
    assert list(runs) == ["run"]
    assert sources(tmp_path) == {"lr": (0.1, "hparams"), "seed": (3, "file config.yaml")}


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_the_search_can_be_turned_off(tmp_path: Path, monkeypatch, how):
    make(
        tmp_path / "run", hparams(lr=0.1), values(text("args", '{"b": 2}')), config__json='{"c": 3}'
    )
    if how == "variable":
        monkeypatch.setenv("RUNFOLD_FIND_CONFIG", "0")
        options = {}
    else:
        options = {"find_config": False}
    assert sources(tmp_path, **options) == {"lr": (0.1, "hparams")}
    assert "c" not in rf.open(tmp_path, **options).table()
    monkeypatch.setenv("RUNFOLD_FIND_CONFIG", "0")
    assert "c" in sources(tmp_path, find_config=True)


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Four runs: the learning rate is in a file or an hparam, with two seeds each."""
    for seed in (1, 2):
        make(tmp_path / f"a-{seed}", hparams__yaml=f"lr: 0.001\nwidth: 64\nseed: {seed}\n")
        make(tmp_path / f"b-{seed}", hparams(lr=0.1, width=64.0, seed=float(seed)))
    return tmp_path


def test_integers_in_files_equal_logged_floats(sweep: Path):
    runs = rf.open(sweep)
    assert list(runs.where("width == 64 and seed == 1")) == ["a-1", "b-1"]
    assert list(runs.where("lr < 0.01")) == ["a-1", "a-2"]
    assert list(runs.reduce("mean", by="width").groups) == ["width=64"]
    assert list(runs.reduce("mean", by="lr").groups) == ["lr=0.001", "lr=0.1"]


def test_everything_sees_found_settings(sweep: Path, capsys):
    runs = rf.open(sweep)
    assert runs.table().set_index("run")["lr"].to_dict() == {
        **{"a-1": 0.001, "a-2": 0.001, "b-1": 0.1, "b-2": 0.1}
    }
    found = runs.sql("select source, count(*) n from hparams group by source order by source")
    assert found.to_numpy().tolist() == [["file hparams.yaml", 6], ["hparams", 6]]
    assert runs.hparams(wide=True)["seed"].to_dict() == {"a-1": 1, "a-2": 2, "b-1": 1, "b-2": 2}
    assert runs["a-1"].config == {"lr": 0.001, "width": 64, "seed": 1}
    comparison = runs.compare("loss", by="lr")
    assert "lr=0.001" in str(comparison)
    assert main(["diff", str(sweep / "a-1"), str(sweep / "b-1")]) == 0
    assert "0.001" in capsys.readouterr().out
    assert main(["table", str(sweep), "--csv", "--where", "lr < 0.01"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["compare", str(sweep), "--tag", "loss", "--by", "lr"]) == 0
    assert "lr=0.001" in capsys.readouterr().out
    assert main(["reduce", str(sweep), "--by", "lr", "-o", str(sweep.parent / "fold.csv")]) == 0


def test_runs_that_share_a_file_above_are_not_duplicates(tmp_path: Path):
    make(tmp_path / "a")
    make(tmp_path / "b")
    (tmp_path / "config.yaml").write_text("lr: 0.1")
    assert list(rf.open(tmp_path).duplicates()) == []
    for run in "ab":
        (tmp_path / run / "args.json").write_text('{"seed": 1}')
    assert list(rf.open(tmp_path).duplicates()) == ["b"]


def test_a_pack_keeps_settings_in_texts(tmp_path: Path):
    make(tmp_path / "logs" / "run", values(text("args", '{"lr": 0.1}')))
    rf.open(tmp_path / "logs").pack(tmp_path / "logs.parquet")
    assert sources(tmp_path / "logs.parquet") == {"lr": (0.1, "text args")}
    assert sources(tmp_path / "logs.parquet", find_config=False) == {}


def test_sources_need_the_long_table(sweep: Path):
    with pytest.raises(ValueError, match="omit wide=True"):
        rf.open(sweep).hparams(wide=True, sources=True)


def test_a_terminal_shows_only_settings_that_differ_if_there_are_many(tmp_path: Path, capsys):
    for seed in (1, 2):
        settings = {f"s{number}": number for number in range(60)} | {"seed": seed}
        make(tmp_path / f"run-{seed}", hparams(lr=0.1), args__json=json.dumps(settings))
    assert main(["table", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert {"lr", "seed"} < set(output.out.split())
    assert "s7" not in output.out.split()
    assert "60 hparams with the same value in all runs are not shown." in output.err
    assert main(["table", str(tmp_path), "--columns", "s7"]) == 0
    assert "s7" in capsys.readouterr().out
    assert "s7" in rf.open(tmp_path).table()


@pytest.mark.parametrize(("count", "shared"), [(5, 6), (60, 1)])
def test_a_fold_keeps_the_settings_that_its_runs_share_unless_there_are_many(
    tmp_path: Path, count: int, shared: int
):
    for seed in (1, 2):
        settings = {f"s{number}": number for number in range(count)} | {"seed": seed}
        make(tmp_path / f"run-{seed}", hparams(lr=0.1), args__json=json.dumps(settings))
    (group,) = rf.open(tmp_path).reduce("mean", by="lr").groups.values()
    assert len(group.hparams) == shared
    assert group.hparams["lr"] == 0.1

"""Runs divided into groups."""

import numpy as np
import pytest
from helpers.logs import scalars, values, write
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils.tensorboard import SummaryWriter

import runfold as rf
from runfold._conventions import REDUCED_SUFFIX
from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import metadata_only
from runfold._logdir.loader import Logdir
from runfold._reduce.groups import Grouping, make_groups
from runfold.errors import CannotFold


def hparams(**settings: object) -> bytes:
    data = HParamsPluginData()
    for name, value in settings.items():
        field = data.session_start_info.hparams[name]
        if isinstance(value, bool):
            field.bool_value = value
        elif isinstance(value, str):
            field.string_value = value
        else:
            field.number_value = value
    return metadata_only("_hparams_/session_start_info", "hparams", data.SerializeToString())


def group(folder, by=None) -> Grouping:
    logdir = Logdir(folder)
    logdir.load()
    return make_groups(logdir.logs.values(), by)


def members(grouping: Grouping) -> dict[str, list[str]]:
    return {group.name: [log.name for log in group.logs] for group in grouping.groups}


@pytest.fixture
def sweep(tmp_path):
    for rate in (0.1, 0.01):
        for seed in range(2):
            settings = hparams(lr=rate, seed=float(seed), model="mlp", wide=True)
            write(
                tmp_path / f"ppo-{rate}" / f"seed-{seed}", values(settings), scalars("loss", (0, 1))
            )
    return tmp_path


def test_without_criteria_all_runs_form_one_group(sweep):
    grouping = group(sweep)
    assert [group.name for group in grouping.groups] == [""]
    assert len(grouping.groups[0].logs) == 4
    assert grouping.groups[0].hparams == {"model": "mlp", "wide": True}


def test_by_an_hparam(sweep):
    grouping = group(sweep, "lr")
    assert members(grouping) == {
        "lr=0.01": ["ppo-0.01/seed-0", "ppo-0.01/seed-1"],
        "lr=0.1": ["ppo-0.1/seed-0", "ppo-0.1/seed-1"],
    }
    assert grouping.groups[1].key == {"lr": 0.1}
    assert grouping.groups[1].hparams == {"lr": 0.1, "model": "mlp", "wide": True}


def test_by_several_hparams_of_different_types(sweep):
    assert list(members(group(sweep, ["lr", "wide", "model"]))) == [
        "lr=0.01,wide=true,model=mlp",
        "lr=0.1,wide=true,model=mlp",
    ]


def test_by_a_pattern_in_the_name(sweep):
    grouping = group(sweep, r"(?P<algo>\w+)-(?P<rate>[0-9.]+)/")
    assert list(members(grouping)) == ["algo=ppo,rate=0.01", "algo=ppo,rate=0.1"]


def test_by_the_folder(sweep):
    write(sweep / "alone", scalars("loss", (0, 1.0)))
    assert members(group(sweep, "parent")) == {
        ".": ["alone"],
        "ppo-0.01": ["ppo-0.01/seed-0", "ppo-0.01/seed-1"],
        "ppo-0.1": ["ppo-0.1/seed-0", "ppo-0.1/seed-1"],
    }


def test_by_a_function_of_the_run(sweep):
    def group_of(run: rf.Run) -> str | None:
        return None if run.name.startswith("ppo-0.01") else run.name[-1]

    reduced = rf.open(sweep).reduce("mean", by=group_of)
    assert {name: group.runs for name, group in reduced.groups.items()} == {
        "0": ("ppo-0.1/seed-0",),
        "1": ("ppo-0.1/seed-1",),
    }
    (left_out,) = reduced.left_out
    assert "2 runs without a group from the function: ppo-0.01/seed-0, ppo-0.01/seed-1" in left_out


def test_runs_without_the_hparam_are_left_out_and_listed(sweep):
    write(sweep / "old", scalars("loss", (0, 1.0)))
    grouping = group(sweep, "lr")
    assert grouping.left_out == ["1 run without the hparam 'lr': old"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("lrr", "No hparam 'lrr' in any run. Did you mean 'lr'?"),
        ("xyz", "No hparam 'xyz' in any run. Available: lr, model, seed, wide."),
        ("(ppo)", "A pattern must have a named group"),
        (r"seed-\d+", "A pattern must have a named group"),
        ("(?P<a>", "is not a valid regular expression: "),
        ("(?P<a>dqn)", "No run has a name that matches '(?P<a>dqn)'; the first run is 'ppo-"),
    ],
)
def test_criterion_that_no_run_has_raises_with_a_hint(sweep, by, message):
    with pytest.raises(CannotFold) as caught:
        group(sweep, by)
    assert message in str(caught.value)


def test_error_without_hparams_suggests_the_folder(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    with pytest.raises(CannotFold, match="no hparams; 'parent' groups them by folder"):
        group(tmp_path, "lr")


def test_true_and_1_stay_distinct(tmp_path):
    for name, value in {"a": True, "b": 1.0, "c": "x"}.items():
        write(tmp_path / name, values(hparams(flag=value)), scalars("loss", (0, 1.0)))
    assert members(group(tmp_path, "flag")) == {
        "flag=1": ["b"],
        "flag=true": ["a"],
        "flag=x": ["c"],
    }


def test_groups_with_equal_names_raise(tmp_path):
    for name, value in {"a": 1.0, "b": "1"}.items():
        write(tmp_path / name, values(hparams(n=value)), scalars("loss", (0, 1.0)))
    with pytest.raises(CannotFold, match="Two groups would have the name 'n=1'"):
        group(tmp_path, "n")


def test_folders_that_torch_creates_for_hparams_belong_to_their_run(tmp_path):
    for seed in range(2):
        with SummaryWriter(tmp_path / f"seed-{seed}") as writer:
            writer.add_scalar("loss", 0.5, 0)
            writer.add_hparams({"lr": 0.1, "seed": seed}, {"hparam/loss": 0.5})
    assert members(group(tmp_path, "lr")) == {"lr=0.1": ["seed-0", "seed-1"]}
    assert members(group(tmp_path, "seed")) == {"seed=0": ["seed-0"], "seed=1": ["seed-1"]}


def test_output_of_an_earlier_reduce_is_left_out(sweep):
    buffer = EventBuffer()
    buffer.scalar("loss", 1.0, 0, 1.0)
    for name in ("out-mean", "out-std"):
        (sweep / name).mkdir()
        (sweep / name / f"events.out.tfevents.1{REDUCED_SUFFIX}").write_bytes(buffer)
    grouping = group(sweep)
    assert len(grouping.groups[0].logs) == 4
    assert grouping.left_out == ["2 runs that an earlier `reduce` wrote"]
    assert members(group(sweep / "out-mean")) == {"": ["."]}


def test_two_functions_have_separate_keys(sweep):
    grouping = group(sweep, [lambda log: log.name[:7], lambda log: log.name[-1]])
    assert [group.key for group in grouping.groups] == [
        {"group": rate, "group2": seed} for rate in ("ppo-0.0", "ppo-0.1") for seed in "01"
    ]
    assert grouping.groups[0].name == "group=ppo-0.0,group2=0"


def test_numpy_numbers_are_converted(sweep):
    groups = group(sweep, lambda log: np.float64(0.1) if "0.01" in log.name else 0.1).groups
    assert [(group.name, len(group.logs)) for group in groups] == [("0.1", 4)]
    assert [group.name for group in group(sweep, lambda log: {"wide": np.bool_(True)}).groups] == [
        "wide=true"
    ]


def test_contradicting_trials_of_one_torch_writer_are_separate_runs(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for number, rate in enumerate((0.1, 0.1, 0.2)):
            writer.add_hparams({"lr": rate}, {"acc": rate}, run_name=f"170000000{number}.5")
    grouping = group(tmp_path, "lr")
    assert [(group.name, len(group.logs)) for group in grouping.groups] == [
        ("lr=0.1", 2),
        ("lr=0.2", 1),
    ]


def test_metrics_that_torch_logs_with_hparams_are_reduced(tmp_path):
    for seed in range(2):
        with SummaryWriter(tmp_path / f"seed-{seed}") as writer:
            writer.add_scalar("loss", 1.0, 0)
            writer.add_hparams({"lr": 0.1}, {"acc": seed}, run_name=f"170000000{seed}.5")
    assert group(tmp_path, "lr").left_out == []
    assert rf.open(tmp_path).reduce("mean", by="lr")["lr=0.1", "acc"]["mean"].tolist() == [0.5]


def test_by_run_names_each_group_after_its_run(sweep):
    assert members(group(sweep, "run")) == {
        name: [name]
        for name in ("ppo-0.01/seed-0", "ppo-0.01/seed-1", "ppo-0.1/seed-0", "ppo-0.1/seed-1")
    }
    reduced = rf.open(sweep).reduce("mean", by="run")
    assert reduced.groups["ppo-0.1/seed-1"].key == {"run": "ppo-0.1/seed-1"}

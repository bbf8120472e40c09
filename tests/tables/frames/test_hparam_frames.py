"""Hparams as tables: hparams, sessions and metrics of each run."""

import math

import pandas as pd
from helpers.logs import values, write
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.hparams.summary_v2 import (
    Discrete,
    HParam,
    Metric,
    RealInterval,
    hparams_config_pb,
    hparams_pb,
)

import runfold as rf
from runfold._events.value_encoding import metadata_only


def start(hparams, **rest):
    return hparams_pb(hparams, **rest).value[0].SerializeToString()


def start_without_time(hparams):
    data = plugin_data_pb2.HParamsPluginData()
    for name, value in hparams.items():
        data.session_start_info.hparams[name].number_value = value
    return metadata_only("_hparams_/session_start_info", "hparams", data.SerializeToString())


def end(status, time=0.0):
    data = plugin_data_pb2.HParamsPluginData()
    data.session_end_info.status = status
    data.session_end_info.end_time_secs = time
    return metadata_only("_hparams_/session_end_info", "hparams", data.SerializeToString())


def experiment(hparams, metrics):
    return hparams_config_pb(hparams, metrics).value[0].SerializeToString()


def test_long_table_has_one_row_per_hparam_with_its_type(tmp_path):
    write(tmp_path / "a", values(start({"lr": 0.5, "bias": True, "name": "x"})))
    table = rf.open(tmp_path).hparams()
    assert list(table.columns) == ["run", "hparam", "value"]
    assert table["run"].tolist() == ["a", "a", "a"]
    assert dict(zip(table["hparam"], table["value"], strict=True)) == {
        "bias": True,
        "lr": 0.5,
        "name": "x",
    }
    assert [type(value) for value in table["value"]] == [bool, float, str]
    assert isinstance(table["hparam"].dtype, pd.CategoricalDtype)


def test_wide_table_keeps_the_type_of_each_value(tmp_path):
    write(tmp_path / "a", values(start({"lr": 0.5, "mixed": True, "flag": True, "name": "x"})))
    write(tmp_path / "b", values(start({"lr": 0.1, "mixed": 0.5, "flag": False, "name": "y"})))
    write(tmp_path / "c", values(start({"lr": 1.0, "mixed": "z"})))
    table = rf.open(tmp_path).hparams(wide=True)
    assert table.index.tolist() == ["a", "b", "c"]
    assert table["lr"].dtype == float
    assert table["mixed"].tolist() == [True, 0.5, "z"]
    assert [type(value) for value in table["mixed"]] == [bool, float, str]
    assert table["flag"].tolist()[:2] == [True, False]
    assert table["name"].tolist()[:2] == ["x", "y"]
    assert table.loc["c", ["flag", "name"]].isna().all()


def test_hparam_logged_twice_has_its_later_value(tmp_path):
    write(tmp_path, values(start({"lr": 0.5, "layers": 2})), values(start({"lr": 0.1})))
    assert rf.open(tmp_path).hparams(wide=True).loc["."].to_dict() == {"layers": 2.0, "lr": 0.1}


def test_folder_that_only_declares_the_experiment_has_no_row_in_the_wide_table(tmp_path):
    config = experiment([HParam("lr")], [Metric("acc", display_name="Accuracy")])
    write(tmp_path, values(config))
    write(tmp_path / "trial", values(start({"lr": 0.5})))
    runs = rf.open(tmp_path)
    assert runs.hparams(wide=True).index.tolist() == ["trial"]
    assert runs.metrics().to_dict("records") == [
        {
            "run": ".",
            "tag": "acc",
            "group": "",
            "display_name": "Accuracy",
            "description": "",
            "dataset": None,
        }
    ]


def test_experiment_declares_hparams_with_their_domains(tmp_path):
    config = experiment(
        [
            HParam("lr", RealInterval(0.1, 0.5), description="learning rate"),
            HParam("opt", Discrete(["a", "b"])),
        ],
        [],
    )
    write(tmp_path, values(config))
    table = rf.open(tmp_path).hparam_domains()
    assert list(table.columns) == ["run", "hparam", "type", "domain", "display_name", "description"]
    assert table["hparam"].tolist() == ["lr", "opt"]
    assert table["type"].tolist() == ["float64", "string"]
    interval, choices = table["domain"]
    assert (interval.min, interval.max) == (0.1, 0.5)
    assert sorted(choices) == ["a", "b"]
    assert table["description"].tolist() == ["learning rate", ""]


def test_session_has_group_status_and_times(tmp_path):
    begun = start({"lr": 0.5}, trial_id="trial", start_time_secs=5.0)
    write(tmp_path, values(begun, end(1, 9.0)))
    (session,) = rf.open(tmp_path).sessions().to_dict("records")
    assert session == {
        "run": ".",
        "group": "trial",
        "status": "success",
        "start_time": 5.0,
        "end_time": 9.0,
    }


def test_unset_times_are_missing(tmp_path):
    write(tmp_path / "ended", values(start_without_time({"lr": 0.5}), end(2)))
    write(tmp_path / "running", values(start_without_time({"lr": 0.5})))
    sessions = rf.open(tmp_path).sessions()
    assert sessions["status"].tolist() == ["failure", ""]
    assert all(map(math.isnan, sessions["start_time"]))
    assert all(map(math.isnan, sessions["end_time"]))


def test_malformed_hparams_are_a_problem_and_the_others_are_kept(tmp_path):
    broken = metadata_only("_hparams_/experiment", "hparams", b"\xff\xff")
    write(tmp_path, values(broken, start({"lr": 0.5})))
    runs = rf.open(tmp_path)
    assert runs.hparams()["hparam"].tolist() == ["lr"]
    assert runs.problems()["code"].tolist() == ["bad-value"]


def test_log_without_hparams_has_empty_tables_with_all_columns(tmp_path):
    write(tmp_path)
    runs = rf.open(tmp_path)
    assert runs.hparams().empty
    assert runs.hparams(wide=True).shape == (0, 0)
    assert list(runs.sessions().columns) == ["run", "group", "status", "start_time", "end_time"]
    assert runs.metrics().empty


def test_timestamped_folder_that_contradicts_its_run_is_a_trial(tmp_path):
    write(tmp_path / "a", values(start({"lr": 0.1, "depth": 2})))
    write(tmp_path / "a" / "1700000000.5", values(start({"lr": 0.2})))
    write(tmp_path / "b", values(start({"lr": 0.1, "depth": 2})))
    write(tmp_path / "b" / "1700000000.5", values(start({"lr": 0.1, "width": 3})))
    table = rf.open(tmp_path).table(columns=["lr", "width"])
    assert dict(zip(table["run"], table["lr"], strict=True)) == {
        "a": 0.1,
        "a/1700000000.5": 0.2,
        "b": 0.1,
    }
    assert table["width"].dropna().tolist() == [3.0]

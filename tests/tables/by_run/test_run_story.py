"""The story of a run, read back: status, configuration, code, output, artifacts, load."""

import os
import time
from pathlib import Path

import pytest
from helpers.logs import values, write
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import metadata_only, text
from runfold._log.writer.event_writer import EventWriter
from runfold._story.story_parts import ARTIFACT, CODE, CONFIG, DIFF, FILES, HOST, OUTPUT, STATUS
from runfold._story.story_parts import encode_story as part
from runfold._story.story_records import Artifact, Code
from runfold.errors import BadLog


def track(folder: Path, *parts: tuple[str, object]) -> rf.Run:
    """Return a run whose event file contains these parts, in order."""
    with EventWriter(str(folder)) as writer:
        for number, (name, value) in enumerate(parts):
            writer.add_value(f"runfold/{name}", part(name, value), number)
    return rf.open(folder)["."]


def beat(folder: Path, age: float) -> None:
    """Write a heartbeat from another machine, this many seconds old."""
    (folder / ".runfold").mkdir()
    file = folder / ".runfold" / "heartbeat"
    file.write_text('{"pid": 1, "host": "elsewhere", "state": "running"}')
    os.utime(file, (time.time() - age,) * 2)


def test_story_of_an_untracked_run_is_empty(tmp_path: Path) -> None:
    run = track(tmp_path)
    assert (run.config, run.host, run.packages, run.environment) == ({}, {}, {}, {})
    assert (run.command, run.code) == (None, None)
    assert (run.output, run.artifacts) == ("", [])
    assert run.status.state == "unknown"
    assert run.system().shape == (0, 1)


def test_latest_value_of_a_part_is_returned(tmp_path: Path) -> None:
    run = track(tmp_path, (HOST, {"name": "old"}), (HOST, {"name": "new"}))
    assert run.host == {"name": "new"}


def test_config_keeps_its_nesting(tmp_path: Path) -> None:
    config = {"optim": {"lr": 0.1, "betas": [0.9, 0.99]}, "name": None}
    assert track(tmp_path / "a", (CONFIG, config)).config == config
    assert track(tmp_path / "b", (CONFIG, [1, 2])).config == {"config": [1, 2]}


def test_config_falls_back_to_hparams(tmp_path: Path) -> None:
    write(tmp_path, values(hparams_pb({"lr": 0.5, "bias": True}).value[0].SerializeToString()))
    assert rf.open(tmp_path)["."].config == {"lr": 0.5, "bias": True}


def test_config_includes_hparams_that_torch_writes_to_a_separate_folder(tmp_path: Path) -> None:
    with TorchWriter(str(tmp_path / "a")) as writer:
        writer.add_hparams({"lr": 0.5}, {"acc": 1.0})
    assert rf.open(tmp_path)["a"].config == {"lr": 0.5}


def test_code_is_assembled_from_its_parts(tmp_path: Path) -> None:
    part = {"commit": "abc1234", "branch": "main", "is_dirty": True, "script": "train.py"}
    run = track(tmp_path, (CODE, part), (DIFF, "-a\n+b\n"), (FILES, {"new.py": "1\n"}))
    code = run.code
    assert code is not None
    assert {name: getattr(code, name) for name in part} == part
    assert (code.remote, code.diff, code.files) == (None, "-a\n+b\n", {"new.py": "1\n"})


def test_invalid_fields_of_the_code_are_ignored(tmp_path: Path) -> None:
    part = {"commit": 7, "masked": ["a", []], "left_out": {"b": 3, "c": "big"}, "more": 1}
    code = track(tmp_path, (CODE, part)).code
    assert code == Code(masked=["a"], left_out={"c": "big"})


def test_output_is_joined_in_file_order(tmp_path: Path) -> None:
    track(tmp_path, (OUTPUT, "hel"), (OUTPUT, "lo\n"), (OUTPUT, "```\n"))
    run = track(tmp_path, (OUTPUT, "resumed\n"))
    assert run.output == "hello\n```\nresumed\n"


@pytest.mark.parametrize("restarts", ["session", "step", "keep"])
def test_a_restart_hides_nothing_of_the_story(tmp_path: Path, restarts: str) -> None:
    events = EventBuffer()
    for step in range(3):
        events.value(part(OUTPUT, f"{step}\n"), step, 1.0)
    events.session_start(1, 2.0)
    events.value(part(OUTPUT, "again\n"), 0, 3.0)
    (tmp_path / "events.out.tfevents.1").write_bytes(events.getvalue())
    assert rf.open(tmp_path, restarts=restarts)["."].output == "0\n1\n2\nagain\n"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (text("runfold/host", "no block"), "expected a code block"),
        (text("runfold/host", "```json\n{]\n```"), "Expecting property name"),
        (text("runfold/host", "```json\n[1]\n```"), "the host has the wrong type: list"),
        (text("runfold/host", f"```json\n{'[' * 99_999}\n```"), "nested too deep"),
        (text("runfold/host", '```json\n{"a": "\\ud800"}\n```'), "surrogates not allowed"),
        (text("runfold/host", f'```json\n{{"a": {"[" * 200}{"]" * 200}}}\n```'), "too deep"),
    ],
    ids=["no block", "no JSON", "a list", "no end", "no text", "deep"],
)
def test_malformed_part_is_a_problem_and_the_previous_one_is_used(
    tmp_path: Path, bad: bytes, reason: str
) -> None:
    write(tmp_path, values(part(HOST, {"name": "sound"}), bad))
    run = rf.open(tmp_path)["."]
    assert run.host == {"name": "sound"}
    problems = run.problems()
    assert problems["code"].tolist() == ["bad-value"]
    assert "tag 'runfold/host'" in problems["message"][0]
    assert reason in problems["message"][0]
    with pytest.raises(BadLog, match="runfold/host"):
        _ = rf.open(tmp_path, strict=True)["."].host


def test_last_status_of_an_ended_run_is_returned(tmp_path: Path) -> None:
    last = {"state": "failed", "ended": 20.0, "exit": 1, "traceback": "ValueError: x"}
    status = track(tmp_path, (STATUS, {"state": "running", "started": 10.0}), (STATUS, last)).status
    assert (status.state, status.started, status.ended) == ("failed", 10.0, 20.0)
    assert (status.exit, status.traceback) == (1, "ValueError: x")


@pytest.mark.parametrize(("age", "state"), [(5.0, "running"), (3600.0, "crashed")])
def test_run_without_an_end_status_is_running_while_its_heartbeat_is_fresh(
    tmp_path: Path, age: float, state: str
) -> None:
    run = track(tmp_path, (STATUS, {"state": "running", "started": 10.0}))
    beat(tmp_path, age)
    assert (run.status.state, run.status.ended) == (state, None)
    assert run.status.heartbeat == pytest.approx(time.time() - age, abs=60)


@pytest.mark.parametrize(
    ("number", "state"), [(0, "unknown"), (1, "finished"), (2, "failed"), (3, "running")]
)
def test_status_of_an_untracked_run_comes_from_its_hparams(
    tmp_path: Path, number: int, state: str
) -> None:
    data = plugin_data_pb2.HParamsPluginData()
    data.session_end_info.status = number
    data.session_end_info.end_time_secs = 99.0
    end = metadata_only("_hparams_/session_end_info", "hparams", data.SerializeToString())
    write(tmp_path, values(end))
    status = rf.open(tmp_path)["."].status
    assert (status.state, status.started, status.ended) == (state, 1.0, 99.0)


def test_artifact_paths_follow_a_moved_run(tmp_path: Path) -> None:
    part = {"name": "model.pt", "path": "artifacts/model.pt", "size": 3, "sha256": "ab"}
    track(tmp_path / "a", (ARTIFACT, part), (ARTIFACT, {**part, "name": "sub/x", "size": 4}))
    (tmp_path / "a").rename(tmp_path / "b")
    artifacts = rf.open(tmp_path)["b"].artifacts
    assert artifacts == [
        Artifact("model.pt", str(tmp_path / "b/artifacts/model.pt"), 3, "ab"),
        Artifact("sub/x", str(tmp_path / "b/artifacts/sub/x"), 4, "ab"),
    ]


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", 3, None])
def test_artifact_cannot_be_outside_its_run(tmp_path: Path, name: object) -> None:
    run = track(tmp_path, (ARTIFACT, {"name": name, "size": 3, "sha256": "ab"}))
    assert run.artifacts == []
    assert run.problems()["code"].tolist() == ["bad-value"]


def test_system_is_a_wide_table_sorted_by_time(tmp_path: Path) -> None:
    events = EventBuffer()
    for start in (100.0, 200.0):  # the second time, after a resume
        for step in range(2):
            events.scalar("system/cpu", start + step, step, start + step)
            events.scalar("loss", 1.0, step, start + step)
    events.scalar("system/gpu", 7.0, 1, 201.0)
    (tmp_path / "events.out.tfevents.1").write_bytes(events.getvalue())
    table = rf.open(tmp_path)["."].system()
    assert table.columns.tolist() == ["wall_time", "system/cpu", "system/gpu"]
    assert table.index.tolist() == [0, 1, 0, 1]
    assert table["wall_time"].tolist() == [100.0, 101.0, 200.0, 201.0]
    assert table["system/cpu"].tolist() == [100.0, 101.0, 200.0, 201.0]

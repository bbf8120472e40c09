"""A run's records, output and system load, and a diff of two runs, over HTTP."""

import json
import math
import subprocess
import sys

import pyarrow as pa
import pytest
from helpers.logs import hparams, scalars, values, write
from helpers.serving import open_client

import runfold as rf
from runfold._events.value_encoding import text
from runfold._serve.api import run_details as story
from runfold._story.story_parts import encode_story

_JOB = """
import sys
import runfold as rf
folder, lr = sys.argv[1:]
with rf.track(folder, hparams={"lr": float(lr), "steps": 3}) as run:
    for step in range(3):
        print("step", step)
        run.log({"loss": float(lr) / (step + 1)}, step=step)
    open(folder + ".txt", "w").write("weights")
    run.save(folder + ".txt", "model.txt")
"""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracked")
    for name, lr in (("a", "0.1"), ("b", "0.5")):
        job = [sys.executable, "-c", _JOB, str(folder / "logs" / name), lr]
        subprocess.run(job, check=True, cwd=folder, capture_output=True)
    return folder / "logs"


def fetch(client, path, **query):
    response = client.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def test_description_of_a_run_matches_the_library(logdir):
    described, run = fetch(open_client(logdir), "/api/run", run="a"), rf.open(logdir)["a"]
    assert described["name"] == "a"
    assert described["status"]["state"] == "finished"
    assert described["config"] == run.config == {"lr": 0.1, "steps": 3}
    assert described["command"] == run.command
    assert described["host"] == run.host
    assert described["packages"] == run.packages
    assert described["environment"] == run.environment
    assert [artifact["name"] for artifact in described["artifacts"]] == ["model.txt"]
    assert (described["tags"], described["tagsLeftOut"]) == (run.tags, {})
    assert (described["points"], described["hidden"]) == (run.points, 0)
    assert described["problems"] == []
    assert described["diff"] == run.code.diff


def test_rule_20_artifacts_reveal_no_path_of_this_machine(logdir):
    artifacts = fetch(open_client(logdir), "/api/run", run="a")["artifacts"]
    assert str(logdir) not in json.dumps(artifacts)
    assert set(artifacts[0]) == {"name", "size", "sha256"}


def test_an_untracked_run_is_described_too(tmp_path):
    write(tmp_path / "plain", scalars("loss", (3, 1.0), (8, math.nan)), hparams(lr=math.inf))
    described = fetch(open_client(tmp_path), "/api/run", run="plain")
    assert (described["code"], described["command"], described["artifacts"]) == (None, None, [])
    assert described["config"] == {"lr": "Infinity"}
    assert described["steps"] == [0, 8]


def test_output_continues_after_what_was_read(tmp_path):
    pieces = [encode_story("output", f"line {number}\n") for number in range(4)]
    write(tmp_path / "a", *(values(piece, step=step) for step, piece in enumerate(pieces[:3])))
    client = open_client(tmp_path)
    first = fetch(client, "/api/output", run="a")
    assert first == {"text": "line 0\nline 1\nline 2\n", "next": 3, "total": 3}
    assert fetch(client, "/api/output", run="a", after=3) == {"text": "", "next": 3, "total": 3}
    write(tmp_path / "a", values(pieces[3], step=3), number=2)
    client.app.state.source.refresh()
    more = fetch(client, "/api/output", run="a", after=first["next"])
    assert more == {"text": "line 3\n", "next": 4, "total": 4}
    assert fetch(client, "/api/output", run="a", after=-2)["text"] == "line 2\nline 3\n"
    # A rewritten run has fewer pieces than were read before.
    assert fetch(client, "/api/output", run="a", after=9)["text"].startswith("line 0")


def test_rule_29_output_responses_have_a_limited_length(tmp_path, monkeypatch):
    pieces = [encode_story("output", f"{number}" * 100) for number in range(3)]
    write(tmp_path / "a", *(values(piece, step=step) for step, piece in enumerate(pieces)))
    client = open_client(tmp_path)
    monkeypatch.setattr(story, "LONGEST", 50)
    read, after, total = "", 0, 1
    while after < total:
        part = fetch(client, "/api/output", run="a", after=after)
        assert len(part["text"]) == 100
        read, after, total = read + part["text"], part["next"], part["total"]
    assert read == "0" * 100 + "1" * 100 + "2" * 100


def test_a_run_without_output_returns_an_empty_text(tmp_path):
    write(tmp_path / "a", values(text("note", "x")))
    client = open_client(tmp_path)
    for after in (-5, 0, 5):
        output = fetch(client, "/api/output", run="a", after=after)
        assert output == {"text": "", "next": 0, "total": 0}


def test_the_load_of_the_machine_is_returned(tmp_path):
    write(
        tmp_path / "a",
        scalars("loss", (0, 1.0)),
        scalars("system/cpu", (0, 10.0), (1, 20.0)),
        scalars("system/memory", (0, 0.5)),
    )
    client = open_client(tmp_path)
    table = pa.ipc.open_stream(client.get("/api/system?run=a").content).read_all()
    assert table.to_pylist() == [
        {"tag": "system/cpu", "x": 0.0 + 9.0, "y": 10.0},
        {"tag": "system/cpu", "x": 1.0 + 9.0, "y": 20.0},
        {"tag": "system/memory", "x": 0.0 + 9.0, "y": 0.5},
    ]
    write(tmp_path / "b", scalars("loss", (0, 1.0)))
    empty = open_client(tmp_path / "b").get("/api/system?run=.")
    assert pa.ipc.open_stream(empty.content).read_all().num_rows == 0


def test_two_runs_are_compared(logdir):
    diff = fetch(open_client(logdir), "/api/diff", a="a", b="b")
    theirs = rf.open(logdir)["a"].diff(rf.open(logdir)["b"])
    sections = {section["title"]: section["rows"] for section in diff["sections"]}
    assert list(sections) == list(theirs.sections)
    assert sections["configuration"] == [
        {"name": "lr", "a": 0.1, "b": 0.5, "isSame": False},
        {"name": "steps", "a": 3, "b": 3, "isSame": True},
    ]
    (loss,) = (final for final in diff["finals"] if final["tag"] == "loss")
    assert (loss["a"][0], loss["b"][0], loss["isSame"]) == (2, 2, False)


def test_different_code_is_a_unified_diff(tmp_path):
    for run, line in (("a", "one"), ("b", "two")):
        parts = [
            encode_story("code", {"commit": "0" * 40}),
            encode_story("files", {"new.py": f"same\n{line}\n"}),
        ]
        write(tmp_path / run, values(*parts))
    code = fetch(open_client(tmp_path), "/api/diff", a="a", b="b")["code"]
    assert code.splitlines() == [
        *("diff a/new.py b/new.py", "--- a", "+++ b", "@@ -1,2 +1,2 @@", " same", "-one", "+two")
    ]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/run", {"run": "c"}),
        ("/api/run", {"run": "../a"}),
        ("/api/output", {"run": "*"}),
        ("/api/system", {"run": ""}),
        ("/api/diff", {"a": "a", "b": "c"}),
    ],
)
def test_rule_20_an_unknown_run_is_not_found(logdir, path, query):
    response = open_client(logdir).get(path, params=query)
    assert response.status_code == 404
    assert response.json()["error"].startswith("No run '")

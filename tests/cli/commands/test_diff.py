"""`runfold diff`."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.cli_runs import run_apart, run_in_terminal
from helpers.logs import scalars, values, write
from tensorboard.plugins.hparams.summary_v2 import hparams_pb

import runfold as rf
from runfold._cli import main
from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import text
from runfold._story.story_parts import CODE, COMMAND, CONFIG, DIFF, FILES, HOST, PACKAGES
from runfold._story.story_parts import encode_story as part
from runfold._tables.by_run.difference import Entry, Final

Adds = Callable[[EventBuffer], None]

PATCH = "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-lr = 1\n+lr = {}\n"


def tracked(**records: object) -> Adds:
    return values(*(part(name, value) for name, value in records.items()))


def hparams(**settings: object) -> Adds:
    return values(hparams_pb(settings).value[0].SerializeToString())


def write_pair(folder: Path) -> None:
    code = {"commit": "abc1234", "branch": "main", "remote": None, "is_dirty": True}
    for name, lr, last in (("a", 0.1, 0.5), ("b", 0.01, 0.75)):
        story = {
            COMMAND: ["python", "train.py", f"--lr={lr}"],
            CONFIG: {"optim": {"lr": lr, "name": "sgd"}, "seed": 1},
            PACKAGES: {"numpy": "2.0", "torch": "2.1" if name == "a" else "2.2"},
            CODE: code,
            DIFF: PATCH.format(lr),
            FILES: {"same.py": "1\n", "new.py": f"{lr}\n"},
        }
        points = [scalars("loss", (0, 1.0), (9, last)), scalars("same", (0, math.nan))]
        write(folder / name, tracked(**story), *points, scalars("system/cpu", (0, lr)))


def diff(*args: object) -> int:
    return main(["diff", *map(str, args)])


def test_only_differences_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pair(tmp_path)
    assert diff(tmp_path, "a", "b") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (
        "command  a                         b\n"
        "command  python train.py --lr=0.1  python train.py --lr=0.01\n"
        "\n"
        "configuration  a    b\n"
        "optim.lr       0.1  0.01\n"
        "\n"
        "packages  a    b\n"
        "torch     2.1  2.2\n"
        "\n"
        "uncommitted changes\n"
        "--- a\n"
        "+++ b\n"
        "@@ -2,4 +2,4 @@\n"
        " +++ b/train.py\n"
        " @@ -1 +1 @@\n"
        " -lr = 1\n"
        "-+lr = 0.1\n"
        "++lr = 0.01\n"
        "\n"
        "new.py\n"
        "--- a\n"
        "+++ b\n"
        "@@ -1 +1 @@\n"
        "-0.1\n"
        "+0.01\n"
        "\n"
        "last value    a     b  change\n"
        "loss        0.5  0.75   +0.25\n"
    )


def test_all_includes_identical_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pair(tmp_path)
    assert diff(tmp_path / "a", tmp_path / "b", "--all") == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["numpy", "2.0", "2.0"] in words
    assert ["commit", "abc1234", "abc1234"] in words
    assert ["same", "nan", "nan", "+nan"] in words
    assert ["system/cpu", "0.1", "0.01", "-0.09"] in words


def test_runs_in_packs_are_specified_like_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pair(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    rf.open("logs").pack("logs.parquet")
    assert diff("logs.parquet/a", "logs/b/", "--json") == 0
    difference = json.loads(capsys.readouterr().out)
    assert diff("logs/a", "logs/b", "--json") == 0
    expected = capsys.readouterr().out.replace("logs/a", "logs.parquet/a")
    assert difference == json.loads(expected)
    assert diff("logs.parquet/c", "logs/b") == 2
    assert capsys.readouterr().err.startswith("No run 'c' in 'logs.parquet'.")


def test_values_that_always_differ_are_shown_only_with_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        job = {"SLURM_JOB_ID": str(number), "MASTER_PORT": f"2950{number}", "RANK": "0"}
        host = {"hostname": "h", "pid": number}
        write(tmp_path / str(number), tracked(host=host, environment=job))
    assert diff(tmp_path, "1", "2") == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "1 and 2 do not differ in anything that both record.\n")
    assert diff(tmp_path, "1", "2", "--all") == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["pid", "1", "2"] in words
    assert ["SLURM_JOB_ID", "1", "2"] in words


def test_two_runs_of_one_script_do_not_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        command = ["--", sys.executable, "-c", "pass"]
        assert run_apart("run", "--logdir", name, *command, cwd=tmp_path).returncode == 0
    assert diff(tmp_path, "a", "b") == 0
    assert capsys.readouterr().out == ""


def test_json_has_the_original_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", tracked(config={"x": None, "y": 1}), scalars("loss", (3, 0.5)))
    write(tmp_path / "b", tracked(config={"y": 1.0}, host={"name": "h"}))
    assert diff(tmp_path, "a", "b", "--json") == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "a": {"run": "a", "path": str(tmp_path / "a")},
        "b": {"run": "b", "path": str(tmp_path / "b")},
        "sections": {"configuration": [{"name": "x", "a": None}]},
        "only_a": [],
        "only_b": ["host"],
        "changes": {},
        "last_values": [{"tag": "loss", "a": {"step": 3, "value": 0.5}, "b": None}],
    }


def test_similar_values_stay_distinct(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", tracked(config={"x": 1, "y": True}), scalars("m", (0, 0.1)))
    write(tmp_path / "b", tracked(config={"x": "1", "y": 1}), scalars("m", (5, 0.100000000001)))
    assert diff(tmp_path, "a", "b") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [["x", "1", '"1"'], ["y", "true", "1"]]
    assert lines[-2].split() == ["last", "value", "@", "step", "a", "b", "change"]
    assert lines[-1].split()[1:7] == ["0.1", "@", "0", "0.100000000001", "@", "5"]


def test_facts_that_only_one_run_records_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", tracked(packages={"numpy": "1"}, host={"name": "x"}))
    write(tmp_path / "b", scalars("loss"))
    assert diff(tmp_path, "a", "b") == 0
    assert capsys.readouterr() == (
        "",
        "a and b do not differ in anything that both record.\n"
        "Recorded only for a: packages, host.\n",
    )


def test_git_command_for_different_commits_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, commit in (("a", "abc1234"), ("b", "def5678"), ("c", "$(reboot)")):
        write(tmp_path / name, tracked(code={"commit": commit, "branch": "main"}))
    assert diff(tmp_path, "a", "b") == 0
    assert capsys.readouterr() == (
        "code    a        b\ncommit  abc1234  def5678\n",
        "`git diff abc1234 def5678` shows what changed between the two commits.\n",
    )
    assert diff(tmp_path, "a", "c") == 0
    assert capsys.readouterr().err == ""


def test_different_scripts_are_shown_without_the_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, tracked(code={"script": "x.py", "script_text": f"1\n{name}"}))
    assert diff(tmp_path, "a", "b") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("x.py\n--- a\n+++ b\n@@ -1,3 +1,3 @@\n 1\n-a\n+b\n \\ No newline")


def test_a_run_has_a_method_for_the_difference(tmp_path: Path) -> None:
    write_pair(tmp_path)
    runs = rf.open(tmp_path)
    found = runs["a"].diff(runs["b"]).without_same()
    assert found.sections["configuration"] == [Entry("optim.lr", 0.1, 0.01)]
    assert found.finals == [Final("loss", (9, 0.5), (9, 0.75))]
    assert list(found.changes) == ["uncommitted changes", "new.py"]


def test_hparams_are_compared_without_a_tracked_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", hparams(**{"lr": 0.1, "layers.0.size": 2}))
    write(tmp_path / "b", hparams(**{"lr": 0.2, "layers.0.size": 2}))
    config = {"lr": 0.2, "layers": [{"size": 3}]}
    write(tmp_path / "c", hparams(**{"lr": 0.2, "layers.0.size": 3}), tracked(config=config))
    assert diff(tmp_path, "a", "b") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["hparams", "a", "b"],
        ["lr", "0.1", "0.2"],
    ]
    assert diff(tmp_path, "b", "c") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["configuration", "b", "c"],
        ["layers.0.size", "2.0", "3"],
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["."], "Expected two run folders, or a logdir and two runs."),
        ([".", "a", "bb"], "No run 'bb' in '.'. Did you mean 'b'?"),
        ([".", "b"], "There are 2 runs in '.': a, b. Specify the folder of one run."),
        (["a", "bb"], "No logdir 'bb'. Did you mean 'b'?"),
        (["a", "none"], "No runs in 'none': no file there has 'tfevents' in its name."),
    ],
)
def test_errors_are_one_line(args: list[str], message: str, tmp_path: Path) -> None:
    write_pair(tmp_path)
    (tmp_path / "none").mkdir()
    done = run_apart("diff", *args, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message + "\n")


def test_broken_parts_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", values(text("runfold/host", "none")))
    write(tmp_path / "b", tracked(host={"name": "x"}))
    assert diff(tmp_path, "a", "b") == 0
    assert "a/events.out.tfevents.1: record at byte" in capsys.readouterr().err


def test_nothing_from_a_log_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    for name in "ab":
        story = {CONFIG: {"\x1b[1m": f"\x1b]{name}"}, HOST: {}, CODE: {"commit": f"\x1b{name}"}}
        story |= {DIFF: f"\x1b[2J{name}", FILES: {f"\x1b{name}": "\x1b"}}
        write(tmp_path / name, tracked(**story), scalars("\x1b[5m", (0, ord(name))))
    status, shown = run_in_terminal(100, "diff", str(tmp_path), "a", "b", NO_COLOR="1")
    assert status == 0
    assert "\x1b" not in shown
    assert "-\\x1b[2Ja" in shown


def test_changes_have_colors_in_a_terminal(tmp_path: Path) -> None:
    write_pair(tmp_path)
    status, shown = run_in_terminal(100, "diff", str(tmp_path), "a", "b")
    assert status == 0
    assert "\x1b[31m-0.1\x1b[0m\n\x1b[32m+0.01\x1b[0m\n" in shown


def test_pandas_is_not_imported(tmp_path: Path) -> None:
    write_pair(tmp_path)
    code = "import sys; from runfold._cli import main; main(sys.argv[1:]); print(*sys.modules)"
    args = ["diff", str(tmp_path), "a", "b", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"pandas", "tensorboard", "google", "PIL", "matplotlib", "scipy"}

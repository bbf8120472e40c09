"""`runfold compare`."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import run_in_terminal
from grouped_runs import write_groups

from runfold.cli import main

A, B = [0.1, 0.12, 0.11, 0.09, 0.13], [0.5, 0.45, 0.55, 0.5, 0.6]


def test_tables_and_the_sentence_on_stdout_notes_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_groups(tmp_path, {"loss": {"a": [*A, math.nan], "b": B}, "lr": {"c": [1.0]}})
    assert main(["compare", str(tmp_path), "--tag", "loss", "--by", "parent"]) == 0
    shown = capsys.readouterr()
    head, *rows, _, pair_head, pair, _, sentence = shown.out.splitlines()
    assert head.split() == ["group", "n", "mean", "std", "95%", "CI", "median", "iqm"]
    assert [row.split()[:3] for row in rows] == [
        ["a", "5", "0.11"],
        ["b", "5", "0.52"],
        ["c", "0", "-"],
    ]
    assert pair_head.split()[:5] == ["a", "b", "a", "-", "b"]
    assert pair_head.endswith("p Welch   p M-W  p perm      g  a beats b")
    assert (pair.split()[:3], pair.split()[-1]) == (["a", "b", "-0.41"], "100%")
    assert sentence.startswith("a is better than b on loss (last value, lower is better, guessed")
    assert shown.err.splitlines() == [
        "Beware: 1 run of a has no finite last value of 'loss' and is left out, which flatters"
        " the group: a/seed-5 (nan).",
        "Left out: 1 run without the tag 'loss': c/seed-0.",
    ]


def test_options_reach_the_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_groups(tmp_path, {tag: {"a-x": A, "b-x": B} for tag in ("x/acc", "y/acc")})
    by = "(?P<name>[ab])-(?P<kind>x)"
    options = ["--tag", "x/*", "--tag", "y/acc", "--by", by, "--at", "0e3", "--better", "lower"]
    options += ["--level", "99", "--normalize", "range", "--duplicates", "last", "--json"]
    assert main(["compare", str(tmp_path), *options]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["at"], found["level"]) == (0, 0.99)
    assert {one["better"] for one in found["directions"]} == {"lower"}
    assert [(pair["tag"], pair["a"], pair["b"]) for pair in found["pairs"]] == [
        ("x/acc", "name=a,kind=x", "name=b,kind=x"),
        ("y/acc", "name=a,kind=x", "name=b,kind=x"),
    ]
    assert found["overall"][0]["iqm"] > 0.9
    assert set(found) >= {"scores", "groups", "overall_pairs", "sentence", "warnings", "left_out"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tag", "los"], "No tag 'los' of kind scalar. Did you mean 'loss'?"),
        (["--tag", "loss", "--at", "lst"], "No score 'lst'. Did you mean 'last'?"),
        (
            ["--tag", "loss", "--level", "high"],
            "runfold compare: argument --level: 'high' is no percentage between 0 and 100."
            " See `runfold compare --help`.",
        ),
        (
            [],
            "runfold compare: the following arguments are required: --tag."
            " See `runfold compare --help`.",
        ),
    ],
)
def test_mistakes_are_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_groups(tmp_path, {"loss": {"a": A}})
    assert main(["compare", str(tmp_path), *options]) == 2
    assert capsys.readouterr() == ("", message + "\n")


def test_folder_without_runs_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(tmp_path), "--tag", "loss"]) == 2
    assert capsys.readouterr().err.startswith(f"No runs in {tmp_path}: no file there")


def test_nothing_from_a_log_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    write_groups(tmp_path, {"\x1b[31mloss": {"\x1b[1ma": [*A, math.nan], "b": B}})
    status, shown = run_in_terminal(
        100, "compare", str(tmp_path), "--tag", "*", "--by", "parent", NO_COLOR="1"
    )
    assert status == 0
    assert "\x1b" not in shown
    assert "\\x1b[1ma" in shown


def test_pandas_is_not_imported(tmp_path: Path) -> None:
    write_groups(tmp_path, {"loss": {"a": A, "b": B}})
    code = "import sys; from runfold.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    args = ["compare", str(tmp_path), "--tag", "loss", "--by", "parent"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "scipy" in loaded
    assert not loaded & {"pandas", "tensorboard", "google", "PIL", "matplotlib"}

"""`runfold compare`."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from helpers.cli_runs import run_in_terminal
from helpers.grouped_runs import write_groups

from runfold._cli import main

A, B = [0.1, 0.12, 0.11, 0.09, 0.13], [0.5, 0.45, 0.55, 0.5, 0.6]


def test_tables_and_conclusion_go_to_stdout_and_notes_to_stderr(
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
    ]
    assert pair_head.split()[:5] == ["a", "b", "a", "-", "b"]
    assert pair_head.endswith("p Welch   p M-W  p perm      g  a beats b")
    assert (pair.split()[:3], pair.split()[-1]) == (["a", "b", "-0.41"], "100%")
    assert sentence.startswith("a is better than b on loss (last value, lower is better, guessed")
    assert shown.err.splitlines() == [
        "Warning: 1 run of a has no finite last value of 'loss' and is left out, which makes the"
        " group look better: a/seed-5 (nan).",
        "Left out: 1 run without the tag 'loss': c/seed-0.",
        "Left out: 1 group without a finite score: c.",
    ]


def test_options_reach_the_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_groups(tmp_path, {tag: {"a-x": A, "b-x": B} for tag in ("x/acc", "y/acc")})
    by = "(?P<name>[ab])-(?P<kind>x)"
    options = ["--tag", "x/*", "--tag", "y/acc", "--by", by, "--at", "0e3", "--better", "lower"]
    options += ["--level", "99", "--normalize", "range", "--duplicates", "last", "--json"]
    assert main(["compare", str(tmp_path), *options]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["at"], found["level"]) == (0, 0.99)
    assert {direction["better"] for direction in found["directions"]} == {"lower"}
    assert [(pair["tag"], pair["a"], pair["b"]) for pair in found["pairs"]] == [
        ("x/acc", "name=a,kind=x", "name=b,kind=x"),
        ("y/acc", "name=a,kind=x", "name=b,kind=x"),
    ]
    assert found["overall"][0]["iqm"] > 0.9
    assert found["pairs"][0]["low_holm"] < found["pairs"][0]["low"]
    assert found["correction"].startswith(
        "The 99% CI of a - b on one tag and the p-values are Holm"
    )
    assert set(found) >= {"scores", "groups", "overall_pairs", "sentence", "warnings", "left_out"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tag", "los"], "No tag 'los' of kind scalar. Did you mean 'loss'?"),
        (["--tag", "loss", "--at", "lst"], "No score 'lst'. Did you mean 'last'?"),
        (
            ["--tag", "loss", "--level", "high"],
            "runfold compare: argument --level: expected a percentage between 0 and 100, got"
            " 'high'. See `runfold compare --help`.",
        ),
        (
            [],
            "runfold compare: the following arguments are required: --tag/--tags."
            " See `runfold compare --help`.",
        ),
    ],
)
def test_errors_are_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_groups(tmp_path, {"loss": {"a": A}})
    assert main(["compare", str(tmp_path), *options]) == 2
    assert capsys.readouterr() == ("", message + "\n")


def compare(logdir: Path, *args: object) -> int:
    return main(["compare", str(logdir), "--tags", "*", "--by", "parent", *map(str, args)])


def test_output_has_one_file_per_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_groups(tmp_path / "runs", {tag: {"a": A, "b": B} for tag in ("loss/x", "loss/y")})
    out, tex = tmp_path / "new" / "cmp.v2.csv.gz", tmp_path / "cmp.tex"
    assert compare(tmp_path / "runs", "-o", out, "-o", tex, "--digits", 2) == 0
    tables = ["groups", "pairs", "scores", "overall", "overall-pairs"]
    files = [out.parent / f"cmp.v2-{name}.csv.gz" for name in tables]
    files += [tmp_path / f"cmp-{name}.tex" for name in tables]
    assert capsys.readouterr().out.splitlines()[-10:] == list(map(str, files))
    assert pd.read_csv(files[1])["difference"].tolist() == pytest.approx([-0.41, -0.41])
    assert len(pd.read_csv(files[2])) == 20
    assert r"loss/x & a & 5 & 0.11 & 0.016 &" in files[5].read_text()


def test_output_of_one_tag_or_group_has_no_empty_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_groups(tmp_path / "runs", {"loss": {"a": A}})
    assert compare(tmp_path / "runs", "-o", tmp_path / "cmp.md", "--json") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cmp-groups.md",
        "cmp-scores.md",
        "runs",
    ]
    shown = capsys.readouterr()
    assert json.loads(shown.out)["pairs"] == []
    assert shown.err.endswith(f"{tmp_path / 'cmp-scores.md'}\n")


@pytest.mark.fault(57)
def test_existing_output_is_kept_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_groups(tmp_path / "runs", {"loss": {"a": A, "b": B}})
    mine = tmp_path / "cmp-scores.csv"
    mine.write_text("mine")
    assert compare(tmp_path / "runs", "-o", tmp_path / "cmp.csv") == 2
    assert capsys.readouterr() == (
        "",
        f"{mine} already exists. Use --overwrite, or overwrite=True in Python, to replace it.\n",
    )
    assert (mine.read_text(), len(list(tmp_path.iterdir()))) == ("mine", 2)
    assert compare(tmp_path / "runs", "-o", tmp_path / "cmp.csv", "-f") == 0
    assert mine.read_text().startswith("tag,group,run,score\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "cmp.cvs"], "cmp.cvs: unknown format. Did you mean '.csv'"),
        (["-o", "cmp/"], "cmp/: the name has no suffix for a table format."),
        (["-o", "cmp.md", "--digits", "0"], "expected a positive number of digits, got '0'"),
    ],
)
def test_wrong_output_is_rejected_before_anything_is_read(
    args: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(tmp_path / "none", *args) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err


def test_folder_without_runs_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(tmp_path), "--tag", "loss"]) == 2
    assert capsys.readouterr().err.startswith(f"No runs in '{tmp_path}': no file there")


def test_nothing_from_a_log_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    write_groups(tmp_path, {"\x1b[31mloss": {"\x1b[1ma": [*A, math.nan], "b": B}})
    status, shown = run_in_terminal(
        100, "compare", str(tmp_path), "--tag", "*", "--by", "parent", NO_COLOR="1"
    )
    assert status == 0
    assert "\x1b" not in shown
    assert "\\x1b[1ma" in shown


@pytest.mark.parametrize("level", ["90", "0.9"])
def test_level_is_a_percentage_or_a_fraction(
    level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_groups(tmp_path, {"loss": {"a": A, "b": B}})
    assert compare(tmp_path, "--level", level) == 0
    assert "(90% CI" in capsys.readouterr().out


def test_narrow_window_keeps_welchs_test(tmp_path: Path) -> None:
    write_groups(tmp_path, {tag: {"a": A, "b": B} for tag in ("loss/first", "loss/second")})
    for width, has_all in ((80, False), (120, True)):
        status, shown = run_in_terminal(
            width, "compare", str(tmp_path), "--tag", "*", "--by", "parent", NO_COLOR="1"
        )
        table = [line for line in shown.splitlines() if "p Welch" in line or " a " in line[:14]]
        assert status == 0
        assert ("p M-W" in shown) == has_all
        assert max(map(len, table)) <= width


def test_pandas_is_not_imported(tmp_path: Path) -> None:
    write_groups(tmp_path, {"loss": {"a": A, "b": B}})
    code = "import sys; from runfold._cli import main; main(sys.argv[1:]); print(*sys.modules)"
    args = ["compare", str(tmp_path), "--tag", "loss", "--by", "parent"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "scipy" in loaded
    assert not loaded & {"pandas", "tensorboard", "google", "PIL", "matplotlib"}

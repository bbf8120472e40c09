"""The command `runfold reduce`."""

import csv
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers.cli_runs import RUNFOLD
from helpers.logs import scalars, write

import runfold as rf
from runfold._cli import fold_options as folding
from runfold._cli import main
from runfold._reduce import axes, fold
from runfold._reduce import curve_points as points
from runfold._signals import PIPE_CLOSED


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rate in ("0.1", "0.01"):
        for seed in range(3):
            curve = [(step, float(rate) * step + seed) for step in range(5)]
            write(tmp_path / "runs" / f"lr-{rate}" / f"seed-{seed}", scalars("loss", *curve))
    return Path("runs")


def rows(path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_event_files_are_written_and_printed(runs, capsys):
    assert main(["reduce", str(runs), "-o", "out", "-r", "mean,max"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "out-mean\nout-max\n"
    assert shown.err == (
        "Folded 6 runs, 1 tag: mean, max by step (same steps in all, NaN skipped)."
        " Left out: nothing.\n"
    )
    folded = rf.open("out-mean")["."]["loss"]
    assert folded.steps.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(
        folded.values, np.float32([1.0 + 0.055 * step for step in range(5)])
    )


def test_groups_are_runs_and_mean_and_std_have_a_band(runs, capsys):
    assert main(["reduce", str(runs), "-o", "out/", "--by", "parent"]) == 0
    assert capsys.readouterr().out == "out/mean\nout/std\nout/band\n"
    assert sorted(rf.open("out")) == [
        f"{part}/lr-{rate}" for part in ("band", "mean", "std") for rate in ("0.01", "0.1")
    ]


def test_several_outputs_of_one_fold(runs, capsys):
    assert main(["reduce", str(runs), "-o", "a.csv", "-o", "a.json", "-r", "q50,count"]) == 0
    assert capsys.readouterr().out == "a.csv\na.json\n"
    assert [(row["step"], row["runs"], row["q50"]) for row in rows("a.csv")][:2] == [
        ("0", "6", "1.0"),
        (
            "1",
            "6",
            repr(np.median([rate + seed for rate in (0.1, 0.01) for seed in range(3)]).item()),
        ),
    ]
    assert json.loads(Path("a.json").read_text())[1]["q50"] == float(rows("a.csv")[1]["q50"])


@pytest.mark.parametrize("flag", ["-f", "--overwrite"])
@pytest.mark.parametrize("out", ["out", "out.csv"])
@pytest.mark.fault(57)
def test_existing_output_is_rejected_without_overwrite(runs, out, flag, capsys):
    assert main(["reduce", str(runs), "-o", out, "-r", "mean"]) == 0
    capsys.readouterr()
    assert main(["reduce", str(runs), "-o", out, "-r", "mean"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "already exists. Use --overwrite" in shown.err
    assert main(["reduce", str(runs), "-o", out, "-r", "mean", flag]) == 0


@pytest.mark.fault(57)
def test_a_folder_with_other_files_is_never_replaced(runs, capsys):
    assert main(["reduce", str(runs), "-o", "out", "-r", "mean"]) == 0
    Path("out-mean/notes.txt").write_text("mine")
    assert main(["reduce", str(runs), "-o", "out", "-r", "mean", "-f"]) == 2
    assert "out-mean/notes.txt was not written by Runfold" in capsys.readouterr().err
    assert len(os.listdir("out-mean")) == 2


@pytest.mark.fault(57)
def test_nothing_is_written_if_one_output_is_rejected(runs, capsys):
    Path("b.csv").write_text("mine")
    assert main(["reduce", str(runs), "-o", "a.csv", "-o", "b.csv"]) == 2
    assert not Path("a.csv").exists()
    assert Path("b.csv").read_text() == "mine"


@pytest.mark.fault(63)
def test_flags_of_tb_reducer_fold_runs_that_strict_rejects(runs, capsys):
    longer = [(step, 1.0) for step in range(8)]
    write(runs / "lr-0.1" / "seed-3", scalars("loss", *longer, (7, 3.0)), scalars("acc", (0, 1.0)))
    arguments = ["reduce", str(runs), "-r", "mean,count"]
    assert main([*arguments, "-o", "a.csv"]) == 2
    assert "more than one value at step 7" in capsys.readouterr().err
    arguments += ["--handle-dup-steps", "keep-last"]
    assert main([*arguments, "-o", "a.csv"]) == 2
    notes = capsys.readouterr().err
    assert "tag 'acc' is missing in lr-0.01/seed-0, lr-0.01/seed-1" in notes
    assert "and 1 more" in notes
    assert "lr-0.01/seed-0 (3 of 8, first 5)" in notes
    assert main([*arguments, "-o", "a.csv", "--lax-tags", "--lax-steps"]) == 0
    assert "Left out: 3 steps that not all runs have; 1 duplicate point." in capsys.readouterr().err
    assert [row["step"] for row in rows("a.csv") if row["tag"] == "loss"] == list("01234")
    lax = ["--lax-tags", "--lax-steps", "--min-runs-per-step", "1"]
    assert main([*arguments, "-o", "b.csv", *lax]) == 0
    last = [row for row in rows("b.csv") if row["tag"] == "loss"][-1]
    assert (last["step"], last["mean"], last["runs"]) == ("7", "3.0", "1")


def test_tags_alignment_and_axis_are_options(runs, capsys):
    main(["reduce", str(runs), "-o", "a.csv", "--tag", "lo*", "--bins", "2", "--x", "relative"])
    table = rows("a.csv")
    assert [row["tag"] for row in table] == ["loss", "loss"]
    assert "relative_time" in table[0]
    assert "aligned by bins" in capsys.readouterr().err


def test_verbose_reports_every_group_and_tag(runs, capsys):
    main(["reduce", str(runs), "-o", "a.csv", "--by", "parent", "--verbose"])
    assert "lr-0.1: 3 runs\n  loss: 3 runs x 5 steps\n" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_version(flag, capsys):
    assert main(["reduce", flag]) == 0
    assert capsys.readouterr().out == f"runfold {rf.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out", "-r", "menn"], "No operation 'menn'. Did you mean 'mean'"),
        (["-o", "out.jsn"], "Did you mean '.json'"),
        (["-o", "out.png"], "`runfold plot` draws pictures."),
        (["-o", "out.csv", "--tags", "los"], "No tag 'los' of kind scalar. Did you mean 'loss'?"),
        (["-o", "out.csv", "--by", "lr"], "The runs have no hparams"),
        (["-o", "runs.csv/x.csv"], "Not a directory"),
        ([], "the following arguments are required: -o/--outpath"),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(runs, arguments, message, capsys):
    Path("runs.csv").write_text("a file")
    before = sorted(os.listdir())
    assert main(["reduce", str(runs), *arguments]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_a_path_without_runs_is_an_error(tmp_path, capsys):
    assert main(["reduce", str(tmp_path), "-o", "out"]) == 2
    assert "No runs in" in capsys.readouterr().err


def test_a_file_without_a_suffix_is_rejected(runs, capsys):
    assert main(["reduce", str(runs), "-o", "/dev/stdout"]) == 2
    assert (
        "/dev/stdout is a file without a suffix, so its format is unknown."
        in capsys.readouterr().err
    )


@pytest.mark.fault(62)
def test_a_closed_pipe_ends_the_command_quietly(runs):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*RUNFOLD, "reduce", str(runs), "-o", "out"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode == PIPE_CLOSED
    assert b"Traceback" not in done.stderr
    assert Path("out-mean").is_dir()


def test_choices_match_the_library():
    assert folding.ALIGNMENTS == axes.ALIGNMENTS
    assert folding.DUPLICATES == points.DUPLICATES
    assert folding.NANS == fold.NANS


def test_verbose_shows_one_step_and_an_empty_tag(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for seed in "ab":
        write(tmp_path / "runs" / seed, scalars("", (0, 1.0)), scalars("loss", (0, 1.0), (1, 2.0)))
    assert main(["reduce", "runs", "-o", "o.csv", "--verbose"]) == 0
    notes = capsys.readouterr().err
    assert notes.startswith('2 runs\n  "": 2 runs x 1 step\n  loss: 2 runs x 2 steps\nFolded')


@pytest.mark.parametrize(("first", "second"), [("a.csv", "./a.csv"), ("a/", "a/."), ("a", "a")])
@pytest.mark.parametrize("flags", [[], ["-f"]])
def test_a_repeated_output_is_rejected_before_anything_is_written(
    runs, first, second, flags, capsys
):
    before = sorted(os.listdir())
    command = ["reduce", str(runs), "-r", "mean", "-o", first, "-o", second, *flags]
    assert main(command) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{second} would be written twice; nothing was written." in shown.err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("out", ["", "-"])
def test_an_invalid_output_name_is_rejected(runs, out, capsys):
    assert main(["reduce", str(runs), f"--outpath={out}"]) == 2
    assert f"'{out}' is not a valid output." in capsys.readouterr().err


@pytest.mark.parametrize("digits", ["0", "-1", "x"])
def test_digits_are_checked_before_the_fold(runs, digits, capsys):
    assert main(["reduce", str(runs), "-o", "a.csv", "-o", "a.md", f"--digits={digits}"]) == 2
    assert f"expected a positive number of digits, got '{digits}'" in capsys.readouterr().err
    assert not os.path.exists("a.csv")


def test_the_summary_counts_only_folded_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for number, tag in enumerate(["loss", "loss", "acc", "acc", "acc"]):
        write(tmp_path / "runs" / f"lr-{number}" / "s", scalars(tag, (0, 1.0), (1, 0.5)))
    assert main(["reduce", "runs", "--by", "parent", "--tag", "loss", "-o", "out.csv"]) == 0
    assert {row["parent"] for row in rows("out.csv")} == {"lr-0", "lr-1"}
    assert capsys.readouterr().err == (
        "Folded 2 runs in 2 groups, 1 tag: mean, std by step (same steps in all, NaN skipped)."
        " Left out: 3 runs without the tag 'loss': lr-2/s, lr-3/s, lr-4/s.\n"
        "Only one run in 2 groups (lr-0, lr-1), so std is NaN there.\n"
    )
    assert main(["plot", "runs", "--by", "run", "--tag", "loss"]) == 0
    assert capsys.readouterr().err == (
        "Folded 2 runs in 2 groups, 1 tag: mean by step (same steps in all, NaN skipped)."
        " Left out: 3 runs without the tag 'loss': lr-2/s, lr-3/s, lr-4/s.\n"
    )


def test_runs_without_any_of_several_tags_are_named(runs, capsys):
    write(runs / "lr-0.1" / "other", scalars("speed", (0, 1.0)))
    write(runs / "lr-0.1" / "seed-0", scalars("acc", (0, 1.0)), number=2)
    command = ["reduce", str(runs), "--tag", "loss", "--tag", "acc", "-o", "out.csv"]
    assert main([*command, "--lax-tags"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        "Folded 6 runs, 2 tags: mean, std by step (same steps in all, NaN skipped)."
        " Left out: 1 run without any of the 2 tags: lr-0.1/other."
    )
    assert main([*command, "-f"]) == 2
    assert "lr-0.1/other" in capsys.readouterr().err


def test_a_group_that_loses_all_its_steps_is_not_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a/0", "a/1", "b/0"):
        write(tmp_path / "runs" / name, scalars("loss", (0, 1.0)))
    command = ["reduce", "runs", "--by", "parent", "--min-runs", "2", "--align", "union"]
    assert main([*command, "-o", "out.csv"]) == 0
    summary = capsys.readouterr().err
    assert "Folded 2 runs, 1 tag" in summary
    assert "Left out: tag loss in 1 group; 1 step that fewer than 2 runs have." in summary

"""The command `runfold export`."""

import json

import pytest
from helpers.cli_runs import write_kinds

from runfold._cli import main


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_kinds(tmp_path / "runs" / "seed-1")
    return "runs"


def test_files_go_to_stdout_and_counts_to_stderr(runs, tmp_path, capsys):
    assert main(["export", runs, "-o", "out/", "--kinds", "scalar,text", "--kinds", "image"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "out/scalars.parquet\nout/images.parquet\nout/text.parquet\n"
    assert shown.err == "Wrote 3 scalars, 2 images, 1 text.\n"


def test_options_reach_the_export(runs, tmp_path, capsys):
    args = ["--kinds", "image", "--images", "pictures", "--tags", "pic*", "--runs", "seed-*"]
    assert main(["export", runs, "-o", "out.json", *args]) == 0
    assert capsys.readouterr().err == "Wrote 2 images.\n2 files in pictures\n"
    rows = json.loads((tmp_path / "out.json").read_text())
    assert [row["image"] for row in rows] == [
        "pictures/seed-1/picture/1-0.png",
        "pictures/seed-1/picture/2-0.png",
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "out.csb"], "out.csb: unknown format. Did you mean '.csv'"),
        (["-o", "out.csv", "--kinds", "txet"], "not 'txet'. Did you mean 'text'?"),
        (["-o", "out.csv", "--kinds", "text,image"], "out.csv: a file of this format can contain"),
        (["-o", "out.csv", "--tags", "los"], "No tag 'los'. Did you mean"),
        (["-o", "out.csv", "--runs", "sed-1"], "No run 'sed-1'. Did you mean 'seed-1'?"),
        (["-o", "out.csv", "--kinds", "mesh"], "There are no meshes to write"),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(runs, tmp_path, capsys, args, message):
    assert main(["export", runs, *args]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_existing_files_stay_without_overwrite(runs, tmp_path, capsys):
    (tmp_path / "out.csv").write_text("old")
    assert main(["export", runs, "-o", "out.csv"]) == 2
    assert "out.csv already exists. Use --overwrite" in capsys.readouterr().err
    assert main(["export", runs, "-o", "out.csv", "--overwrite"]) == 0
    assert (tmp_path / "out.csv").read_text().startswith("run,tag,step,wall_time,value\nseed-1,")

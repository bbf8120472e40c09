"""`runfold pack` and `runfold unpack`."""

import pytest
from helpers.cli_runs import losses, write, write_kinds

import runfold as rf
from runfold._cli import main


@pytest.fixture
def logdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs" / "seed-1", losses(0.5, 0.25))
    write_kinds(tmp_path / "runs" / "seed-2")
    artifacts = tmp_path / "runs" / "seed-1" / "artifacts"
    artifacts.mkdir()
    (artifacts / "model.pt").write_bytes(b"weights")
    return tmp_path / "runs"


def test_a_logdir_is_packed_and_unpacked(logdir, tmp_path, capsys):
    assert main(["pack", "runs", "-o", "runs.parquet"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "runs.parquet\n"
    assert printed.err.startswith("Packed 2 runs, 2 event files")
    assert printed.err.endswith("Left out 1 file that is not an event file.\n")
    assert main(["unpack", "runs.parquet", "-o", "again"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("again\n", "Unpacked 2 event files.\n")
    for path in logdir.rglob("*tfevents*"):
        assert (tmp_path / "again" / path.relative_to(logdir)).read_bytes() == path.read_bytes()


def test_output_names_have_defaults(logdir, tmp_path):
    assert main(["pack", "runs/"]) == 0
    logdir.rename(tmp_path / "moved")
    assert main(["unpack", "runs.parquet"]) == 0
    assert list(rf.open("runs")) == list(rf.open("moved"))


def test_a_slash_or_an_option_makes_one_pack_per_run(logdir, tmp_path):
    assert main(["pack", "runs", "-o", "a/"]) == 0
    assert main(["pack", "runs", "-o", "b", "--partition"]) == 0
    for name in "ab":
        parts = sorted(path.parent.name for path in (tmp_path / name).rglob("*.parquet"))
        assert parts == ["run=seed-1", "run=seed-2"]


def test_only_selected_runs_are_packed(logdir, capsys):
    assert main(["pack", "runs", "-o", "one.parquet", "--runs", "*-2"]) == 0
    assert list(rf.open("one.parquet")) == ["seed-2"]
    assert main(["pack", "runs", "-o", "two.parquet", "--runs", "seed-3"]) == 2
    assert "seed-2" in capsys.readouterr().err


def test_runs_have_a_pack_method(logdir):
    rf.open("runs").pack("runs.parquet")
    assert rf.open("runs.parquet").scalars().equals(rf.open("runs").scalars())


def test_a_pack_that_cannot_be_written_leaves_no_file(logdir, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["pack", "runs", "-o", "file/x.parquet"]) == 2
    assert main(["pack", "runs", "-o", "runs"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "runs"]


def test_problems_are_kept_and_reported(logdir, capsys):
    path = next((logdir / "seed-1").glob("*tfevents*"))
    path.write_bytes(path.read_bytes()[:-3])
    write(logdir / "seed-3", losses(1.0)).write_bytes(b"no events here at all")
    assert main(["pack", "runs", "-o", "runs.parquet"]) == 0
    assert "1 problem in the log;" in capsys.readouterr().err
    assert main(["check", "runs.parquet"]) == 1
    assert "not an event file" in capsys.readouterr().out

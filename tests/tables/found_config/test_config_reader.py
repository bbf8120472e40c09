"""Configuration files: changes, and files that must not be read."""

import os
import socket
from pathlib import Path

import pytest
from helpers.file_times import settle
from helpers.logs import scalars, write

import runfold as rf
from runfold._cli import main
from runfold._conventions import MOST_CONFIG_BYTES
from runfold._files import read_with_status
from runfold._tables.found_config import config_reader
from runfold.errors import BadLog


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "logs" / "run"
    write(folder, scalars("loss", (0, 1.0)))
    return folder


def settings(logdir: Path | rf.Runs) -> dict[str, object]:
    runs = logdir if isinstance(logdir, rf.Runs) else rf.open(logdir)
    frame = runs.hparams()
    return dict(zip(frame["hparam"], frame["value"].astype(object), strict=True))


def problems(logdir: Path) -> list[tuple[str, str]]:
    runs = rf.open(logdir)
    runs.hparams()
    return [(problem.code.value, str(problem)) for problem in runs._logdir.list_problems()]


def test_refresh_sees_a_changed_a_new_and_a_deleted_file(run: Path):
    runs = rf.open(run.parent)
    assert settings(runs) == {}
    (run / "hparams.yaml").write_text("lr: 0.1")
    assert settings(runs) == {}
    runs.refresh()
    assert settings(runs) == {"lr": 0.1}
    (run / "hparams.yaml").write_text("lr: 0.25")
    runs.refresh()
    assert settings(runs) == {"lr": 0.25}
    (run / "hparams.yaml").unlink()
    runs.refresh()
    assert settings(runs) == {}


def test_an_unchanged_file_is_read_once(run: Path, monkeypatch):
    config = run.parent / "config.yaml"
    config.write_text("lr: 0.1")
    settle(config)
    write(run.parent / "other", scalars("loss", (0, 1.0)))
    read: list[str] = []
    original = read_with_status
    monkeypatch.setattr(
        config_reader, "read_with_status", lambda *args: read.append(args[0]) or original(*args)
    )
    runs = rf.open(run.parent)
    for _ in range(3):
        assert runs.table()["lr"].tolist() == [0.1, 0.1]
        runs.refresh()
    assert read == [str(config)]


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


def make_link(path: Path) -> None:
    secret = path.parents[2] / "secret.yaml"
    secret.write_text("password: 1")
    path.symlink_to(secret)


def make_large(path: Path) -> None:
    path.write_text("a: 1\n" * (MOST_CONFIG_BYTES // 5 + 1))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_fifo, "Not a regular file"),
        (make_socket, "No such device or address"),
        (make_link, "a link, which is not followed"),
        (make_large, "Larger than 1,048,576 bytes"),
        (Path.mkdir, "Not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "a link, which is not followed"),
        (lambda path: path.write_bytes(b"a: \xff\xfe"), "not UTF-8"),
        (lambda path: path.write_text("- 1\n- 2"), "expected names with values"),
        (lambda path: path.write_text("a: &a [*a]"), "nested more than 30 levels deep"),
        (lambda path: path.write_text("a: ["), "line 2"),
    ],
    ids=["fifo", "socket", "link", "large", "folder", "device", "utf8", "list", "itself", "torn"],
)
def test_a_file_that_cannot_be_read_is_a_problem(run: Path, make, reason):
    make(run / "hparams.yaml")
    (run / "args.json").write_text('{"lr": 0.1}')
    assert settings(run.parent) == {"lr": 0.1}
    ((code, detail),) = problems(run.parent)
    assert code == "bad-config-file"
    assert reason in detail
    runs = rf.open(run.parent, strict=True)
    with pytest.raises(BadLog, match=r"hparams\.yaml"):
        runs.table()


@pytest.mark.parametrize("content", ["5", "a: 1", "text"])
def test_overrides_that_are_not_a_list_are_a_problem(run: Path, content: str):
    (run / ".hydra").mkdir()
    (run / ".hydra" / "overrides.yaml").write_text(content)
    (run / "args.json").write_text('{"lr": 0.1}')
    assert settings(run.parent) == {"lr": 0.1}
    ((code, detail),) = problems(run.parent)
    assert code == "bad-config-file"
    assert ".hydra/overrides.yaml: expected a list" in detail


def test_files_that_are_often_something_else_are_not_reported(run: Path):
    (run / "config.json").write_text("[1, 2]")
    (run / "config.yaml").write_text("a: [")
    (run / "args.json").write_text('{"lr": ' + "[" * 100_000)
    (run / "params.json").write_bytes(b"\x80")
    (run / "trainer_state.json").write_text(" " * (MOST_CONFIG_BYTES + 1))
    assert settings(run.parent) == {}
    assert problems(run.parent) == []


def test_a_repaired_file_is_not_reported_again(run: Path, capsys):
    (run / "hparams.yaml").write_text("a: [")
    assert main(["check", str(run.parent)]) == 1
    assert "hparams.yaml" in capsys.readouterr().out
    runs = rf.open(run.parent)
    runs.hparams()
    assert len(runs._logdir.list_problems()) == 1
    (run / "hparams.yaml").write_text("a: 1")
    runs.refresh()
    assert settings(runs) == {"a": 1}
    assert runs._logdir.list_problems() == []


def test_nothing_in_a_file_is_executed(run: Path, monkeypatch):
    monkeypatch.chdir(run)
    (run / "hparams.yaml").write_text(
        "a: !!python/object/apply:os.system ['touch hacked']\n"
        "b: !!python/object/new:subprocess.Popen [['touch', 'hacked']]\n"
        "c: !!python/module:antigravity ''\n"
    )
    assert settings(run.parent)["a"] == "touch hacked"
    assert not (run / "hacked").exists()


def test_a_file_with_equal_names_has_the_last_value(run: Path):
    (run / "args.json").write_text('{"lr": 1, "lr": 2}')
    (run / "hparams.yaml").write_text("a: 1\na: 2\n")
    assert settings(run.parent) == {"lr": 2, "a": 2}

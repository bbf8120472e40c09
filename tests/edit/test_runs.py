"""Runs deleted, renamed, merged and split, with all files in their folders."""

from pathlib import Path

import pytest
from helpers.cli_runs import START
from helpers.edits import event_files, events, steps
from helpers.tensorboard_readers import READERS, provider, read_scalars

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._edit import edit
from runfold._events import value_encoding as values
from runfold.errors import CannotEdit, UnknownRun

NAME = "events.out.tfevents.1.host"


def losses(
    folder: Path, first: int, end: int, start: float = START, name: str = NAME
) -> EventBuffer:
    """Write a run with wall times as values, in a file whose name gives no order."""
    events = EventBuffer()
    events.file_version(start)
    for step in range(first, end):
        events.scalar("loss", start - START, step, start + step)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(events.getvalue())
    return events


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    losses(folder / "a", 0, 3)
    losses(folder / "a" / "trial", 0, 1)
    losses(folder / "sweep" / "b", 0, 2)
    (folder / "a" / "checkpoints").mkdir()
    (folder / "a" / "checkpoints" / "model.pt").write_bytes(b"weights")
    (folder / "a" / ".runfold").mkdir()
    (folder / "a" / ".runfold" / "heartbeat").write_text("{}")
    (folder / "README").write_text("mine")
    (folder / "empty").mkdir()
    return folder


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_deleting_a_run_removes_its_files_and_keeps_runs_below_it(
    log: Path, tmp_path: Path
) -> None:
    report = edit(log, tmp_path / "new", delete_runs="a")
    assert tree(tmp_path / "new") == ["README", f"a/trial/{NAME}", f"sweep/b/{NAME}"]
    assert (tmp_path / "new" / "empty").is_dir()
    assert [(run.name, run.becomes, run.values) for run in report.changed] == [("a", (), (3, 0))]


def test_renaming_a_run_moves_everything_below_its_folder(log: Path, tmp_path: Path) -> None:
    edit(log, tmp_path / "new", rename_runs={"a": "deep/c"})
    assert tree(tmp_path / "new") == [
        "README",
        "deep/c/.runfold/heartbeat",
        "deep/c/checkpoints/model.pt",
        f"deep/c/{NAME}",
        f"deep/c/trial/{NAME}",
        f"sweep/b/{NAME}",
    ]
    assert list(rf.open(tmp_path / "new")) == ["deep/c", "deep/c/trial", "sweep/b"]


def test_folder_of_runs_can_be_renamed(log: Path, tmp_path: Path) -> None:
    edit(log, tmp_path / "new", rename_runs={"sweep": "old"})
    assert list(rf.open(tmp_path / "new")) == ["a", "a/trial", "old/b"]


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({"delete_runs": "aa"}, UnknownRun, "No run 'aa'"),
        ({"rename_runs": {"swep": "c"}}, UnknownRun, "Did you mean 'sweep'"),
        ({"rename_runs": {"a": "sweep/b"}}, CannotEdit, "would both be named 'sweep/b'"),
        ({"rename_runs": {"a": "../b"}}, CannotEdit, "path below the logdir"),
        ({"rename_runs": {"a": ""}}, CannotEdit, "path below the logdir"),
        ({"merge_runs": {"a": "b"}, "split": "files"}, CannotEdit, "merged and split"),
        ({"merge_runs": {"a": "b"}, "rename_runs": {"a": "c"}}, CannotEdit, "renamed and merged"),
    ],
)
def test_invalid_rules_are_rejected_and_nothing_is_written(
    rules: dict, error: type[Exception], message: str, log: Path, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        edit(log, tmp_path / "new", **rules)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


@pytest.fixture
def restarted(tmp_path: Path) -> Path:
    """A job that died and resumed from an earlier step, twice; the names give the wrong order."""
    folder = tmp_path / "log"
    losses(folder / "job-z", 0, 6, START)
    losses(folder / "job-b", 4, 9, START + 100)
    losses(folder / "job-c", 8, 10, START + 200)
    (folder / "job-z" / "notes.txt").write_text("first")
    (folder / "job-b" / "notes.txt").write_text("second")
    return folder


def expected() -> list[tuple[int, float]]:
    return [(s, 0.0) for s in range(4)] + [(s, 100.0) for s in range(4, 8)] + [
        (s, 200.0) for s in (8, 9)
    ]  # fmt: skip


@pytest.mark.parametrize("overlap", ["marker", "cut"])
@pytest.mark.parametrize("reader", READERS)
def test_merged_folders_become_one_continuous_run(
    reader: str, overlap: str, restarted: Path, tmp_path: Path
) -> None:
    edit(restarted, tmp_path / "new", merge_runs={"job-*": "job"}, overlap=overlap)
    series = rf.open(tmp_path / "new")["job"]["loss"]
    assert list(zip(series.steps, series.values, strict=True)) == expected()
    assert series.hidden == (3 if overlap == "marker" else 0)
    with provider(reader, tmp_path / "new") as source:
        points = read_scalars(source, "job", "loss")
    assert [(step, value) for step, _, value in points] == expected()
    names = [path.name for path in (tmp_path / "new" / "job").iterdir() if "notes" in path.name]
    assert sorted(names) == ["notes.txt", "notes.txt.2"]


def test_merge_with_keep_keeps_every_point(restarted: Path, tmp_path: Path) -> None:
    edit(restarted, tmp_path / "new", merge_runs={"job-*": "job"}, overlap="keep")
    run = tmp_path / "new" / "job"
    assert steps(run, "loss") == [*range(6), *range(4, 9), 8, 9]
    assert [event.WhichOneof("what") for event in events(run)].count("file_version") == 3


def test_file_of_several_runs_is_split_at_its_headers(tmp_path: Path) -> None:
    run = tmp_path / "log" / "run"
    parts = [losses(run, 0, 3), losses(run, 0, 2, START + 50)]
    (run / NAME).write_bytes(b"".join(part.getvalue() for part in parts))
    (run / "model.pt").write_bytes(b"weights")
    report = edit(tmp_path / "log", tmp_path / "new", split="headers")
    assert report.runs[0].becomes == ("run/part-1", "run/part-2")
    assert tree(tmp_path / "new" / "run") == ["model.pt", f"part-1/{NAME}", f"part-2/{NAME}"]
    for number, part in enumerate(parts, start=1):
        path = tmp_path / "new" / "run" / f"part-{number}" / NAME
        assert path.read_bytes() == part.getvalue()


def test_files_and_sessions_are_split_on_demand(tmp_path: Path) -> None:
    run = tmp_path / "log"
    session = losses(run, 0, 3)
    session.session_start(2, START + 10)
    session.scalar("loss", 0.0, 2, START + 11)
    (run / NAME).write_bytes(session.getvalue())
    losses(run, 5, 6, START + 50, name="events.out.tfevents.2.host")
    edit(run, tmp_path / "files", split="files")
    edit(run, tmp_path / "sessions", split="sessions")
    edit(run, tmp_path / "headers", split="headers")
    assert list(rf.open(tmp_path / "files")) == ["part-1", "part-2"]
    assert list(rf.open(tmp_path / "headers")) == ["."]
    parts = rf.open(tmp_path / "sessions")
    assert [parts[name]["loss"].steps.tolist() for name in parts] == [[0, 1, 2], [2], [5]]
    assert events(tmp_path / "sessions" / "part-2")[0].file_version == "brain.Event:2"


def trial(folder: Path, start: float) -> None:
    """Write a folder as `add_hparams` does, with a restart marker that is not a boundary."""
    events = EventBuffer()
    events.file_version(start)
    events.value(values.hparams_start({"lr": 0.1}), 0, start)
    events.scalar("acc", 0.5, 0, start)
    events.session_start(1, start)
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(events.getvalue())
    (folder / "notes.txt").write_text("mine")


@pytest.mark.parametrize("run", ["run", "."])
@pytest.mark.parametrize("how", ["headers", "files", "sessions"])
def test_folders_of_add_hparams_follow_the_part_that_was_being_written(
    tmp_path: Path, run: str, how: str
) -> None:
    folder = tmp_path / "log" / run
    first, second = losses(folder, 0, 3), losses(folder, 0, 2, START + 50)
    if how == "headers":
        (folder / NAME).write_bytes(first.getvalue() + second.getvalue())
    else:
        (folder / NAME).write_bytes(first.getvalue())
        (folder / "events.out.tfevents.2.host").write_bytes(second.getvalue())
    for name, start in (("1700000000.1", START - 1), ("1700000000.2", START + 49)):
        trial(folder / name, start)
    trial(folder / "1700000000.3", START + 60)
    assert list(rf.open(tmp_path / "log")) == [run]
    report = edit(
        tmp_path / "log",
        tmp_path / "new",
        split=how,
        rename_runs={"run": "a/b"} if run == "run" else (),
    )
    top = "" if run == "." else "a/b/"
    assert [run.becomes for run in report.runs] == [(f"{top}part-1", f"{top}part-2")]
    new = tmp_path / "new" / top
    assert sorted(path.parent.relative_to(new).as_posix() for path in new.rglob("notes.txt")) == [
        "part-1/1700000000.1",
        "part-1/1700000000.2",
        "part-2/1700000000.3",
    ]
    runs = rf.open(tmp_path / "new")
    assert list(runs) == [f"{top}part-1", f"{top}part-2"]
    assert [run["acc"].values.tolist() for run in runs.values()] == [[0.5], [0.5]]
    assert [len(run["loss"]) for run in runs.values()] == [3, 2]


def test_folders_of_add_hparams_stay_if_only_they_are_in_scope(tmp_path: Path) -> None:
    losses(tmp_path / "log" / "run", 0, 3)
    losses(tmp_path / "log" / "run", 0, 3, START + 50, "events.out.tfevents.2.host")
    trial(tmp_path / "log" / "run" / "1700000000.1", START)
    edit(tmp_path / "log", tmp_path / "new", split="files", runs="run/*")
    assert tree(tmp_path / "new") == tree(tmp_path / "log")


def test_part_without_metadata_gets_it_from_the_run(tmp_path: Path) -> None:
    events_ = EventBuffer()
    for part in range(2):
        events_.file_version(START)
        text = values.text("note", "hello")
        # Like TensorFlow: only the first value of a tag names its plugin.
        bare = text[: text.index(b"\x4a\x08\x0a\x06\x0a\x04text")]
        events_.value(bare if part else text, part, START)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / NAME).write_bytes(events_.getvalue())
    edit(tmp_path / "log", tmp_path / "new", split="headers")
    assert rf.open(tmp_path / "new").text()["text"].tolist() == ["hello", "hello"]


def test_linked_run_is_copied_to_a_new_folder_but_not_edited_in_place(
    log: Path, tmp_path: Path
) -> None:
    losses(tmp_path / "elsewhere", 0, 2)
    (log / "far").symlink_to(tmp_path / "elsewhere")
    edit(log, tmp_path / "new", every=2)
    assert steps(tmp_path / "new" / "far", "loss") == [0, 1]
    assert event_files(tmp_path / "new" / "far")[0].is_symlink() is False
    with pytest.raises(CannotEdit, match="reached through a link"):
        edit(log, in_place=True, every=2)


def test_merge_continues_at_the_first_scalar_despite_other_values_at_step_0(
    tmp_path: Path,
) -> None:
    losses(tmp_path / "log" / "one", 0, 6)
    later = losses(tmp_path / "log" / "two", 4, 8, START + 100)
    later.value(values.text("config", "lr: 0.1"), 0, START + 99)
    later.scalar("parameters", 1e6, 0, START + 99)
    for seconds in range(3):
        later.scalar("system/host/cpu_percent", 50.0, seconds, START + 100 + seconds)
    (tmp_path / "log" / "two" / NAME).write_bytes(later.getvalue())
    report = edit(tmp_path / "log", tmp_path / "new", merge_runs={"*": "job"})
    assert rf.open(tmp_path / "new")["job"]["loss"].steps.tolist() == [*range(8)]
    assert report.notes == [
        "Run 'two' continues at step 4: values of earlier runs at or after that step are hidden."
    ]


def test_torch_hparams_below_merged_runs_move_along(tmp_path: Path) -> None:
    for number, job in enumerate(("job", "job-2")):
        losses(tmp_path / "log" / job, 4 * number, 4 * number + 6, START + 100 * number)
        losses(tmp_path / "log" / job / f"1700.{number}", 0, 1, START + 100 * number + 50)
        losses(tmp_path / "log" / job / "eval", number, number + 1, START + 100 * number)
    edit(tmp_path / "log", tmp_path / "new", merge_runs={"job*": "job"})
    runs = rf.open(tmp_path / "new")
    assert list(runs) == ["job", "job/1700.0", "job/1700.1", "job/eval"]
    assert runs["job"]["loss"].steps.tolist() == [*range(10)]
    assert runs["job/eval"]["loss"].steps.tolist() == [0, 1]
    assert [path.name for path in event_files(tmp_path / "new" / "job" / "1700.0")] == [NAME]


def test_run_is_merged_into_an_existing_run(restarted: Path, tmp_path: Path) -> None:
    edit(restarted, tmp_path / "new", merge_runs={"job-b": "job-z"})
    runs = rf.open(tmp_path / "new")
    assert list(runs) == ["job-c", "job-z"]
    assert runs["job-z"]["loss"].steps.tolist() == [*range(9)]


def test_broken_run_can_be_renamed_but_not_edited(log: Path, tmp_path: Path) -> None:
    path = log / "a" / NAME
    path.write_bytes(b"\1" + path.read_bytes())
    with pytest.raises(CannotEdit, match="Run `runfold repair` first"):
        edit(log, tmp_path / "new", every=2)
    edit(log, tmp_path / "new", rename_runs={"a": "c"}, delete_runs="sweep/b")
    assert (tmp_path / "new" / "c" / NAME).read_bytes() == path.read_bytes()

"""The import of Sacred's folders: broken and hostile files, and repeated imports."""

import json
import math
import os
from pathlib import Path

import pytest

import runfold as rf
from runfold.integrations._support.sacred_folder import list_runs
from runfold.integrations._support.sacred_import import import_runs

TIMES = ["2026-11-18T20:30:10.500000", "2026-11-18T20:30:11.500000"]
STARTED = 1795033810.0
ENTRY = {
    "command": "main",
    "experiment": {
        "base_dir": "/home/ada/demo",
        "dependencies": ["numpy==2.4.6", "torch"],
        "mainfile": "train.py",
        "name": "demo",
        "repositories": [{"url": "git@host:demo", "commit": "abc", "dirty": True}],
        "sources": [["train.py", "_sources/train_1.py"]],
    },
    "host": {"hostname": "vm", "os": ["Linux", "Linux-6"], "ENV": {"CUDA_VISIBLE_DEVICES": "0"}},
    "meta": {"config_updates": {"lr": 0.5}, "comment": "first"},
    "start_time": "2026-11-18T20:30:10",
    "stop_time": "2026-11-18T20:30:12",
    "status": "COMPLETED",
    "result": 0.5,
    "artifacts": ["model.bin"],
}
METRICS = {"loss": {"steps": [0, 10], "values": [1.0, 0.1], "timestamps": TIMES}}


@pytest.fixture
def sacred(tmp_path: Path) -> Path:
    """Return a folder with one valid run, number 1."""
    folder = tmp_path / "sacred"
    write_run(folder, "1")
    (folder / "_sources").mkdir()
    (folder / "_sources" / "train_1.py").write_text('password = "hunter2hunter2"\nprint(1)\n')
    return folder


def write_run(folder: Path, name: str, **changed) -> Path:
    path = folder / name
    path.mkdir(parents=True)
    files = {"run": {**ENTRY, **changed}, "config": {"lr": 0.5, "net": {"width": 3}}}
    for stem, content in {**files, "metrics": METRICS, "info": {"best": 3}}.items():
        (path / f"{stem}.json").write_text(json.dumps(content))
    (path / "cout.txt").write_text("epoch 1\repoch 2\n\x1b[31mdone\x1b[0m\n")
    (path / "model.bin").write_bytes(b"1234")
    return path


def read_tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the content and modification time of each file."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_an_imported_run_contains_everything_that_sacred_stored(
    sacred: Path, tmp_path: Path
) -> None:
    report = import_runs(sacred, tmp_path / "logs")
    assert report.written == [str(tmp_path / "logs" / "demo" / "1")]
    assert (report.unchanged, report.problems) == ([], [])
    run = rf.open(tmp_path / "logs")["demo/1"]
    series = run["loss"]
    assert series.steps.tolist() == [0, 10]
    assert series.values.tolist() == [1.0, 0.1]  # exact, not rounded to float32
    assert series.wall_times.tolist() == [STARTED + 0.5, STARTED + 1.5]
    assert run.config == {"lr": 0.5, "net": {"width": 3}}
    assert (run.status.state, run.status.started, run.status.ended) == (
        *("finished", STARTED, STARTED + 2),
    )
    assert run.command == {"argv": ["train.py", "main", "with", "lr=0.5"]}
    assert run.host == {"hostname": "vm", "os": "Linux Linux-6"}
    assert run.packages == {"numpy": "2.4.6", "torch": ""}
    assert run.environment == {"CUDA_VISIBLE_DEVICES": "0"}
    assert run.output == "epoch 2\ndone\n"
    assert run["result"].values.tolist() == [0.5]
    assert [(item.name, item.size) for item in run.artifacts] == [("model.bin", 4)]
    assert (run.code.commit, run.code.remote, run.code.is_dirty) == ("abc", "git@host:demo", True)
    assert run.code.script_text == 'password = "***"\nprint(1)\n'
    assert run.code.masked == ["train.py"]


def test_a_second_import_writes_nothing(sacred: Path, tmp_path: Path) -> None:
    import_runs(sacred, tmp_path / "logs")
    before = read_tree(tmp_path / "logs")
    report = import_runs(sacred, tmp_path / "logs")
    assert (report.written, len(report.unchanged)) == ([], 1)
    assert read_tree(tmp_path / "logs") == before
    import_runs(sacred, tmp_path / "other")
    contents = {path: content for path, (content, _) in read_tree(tmp_path / "other").items()}
    assert contents == {path: content for path, (content, _) in before.items()}


def test_a_later_import_writes_new_and_changed_runs_only(sacred: Path, tmp_path: Path) -> None:
    running = {"status": "RUNNING", "stop_time": None, "heartbeat": TIMES[0], "result": None}
    growing = write_run(sacred, "2", **running)
    import_runs(sacred, tmp_path / "logs")
    assert rf.open(tmp_path / "logs")["demo/2"].status.state == "crashed"
    (growing / "run.json").write_text(json.dumps(ENTRY))
    longer = {"loss": {"steps": [0, 10, 20], "values": [1, 0.1, 0], "timestamps": TIMES}}
    (growing / "metrics.json").write_text(json.dumps(longer))
    write_run(sacred, "10", experiment={"name": "other"})
    before = read_tree(tmp_path / "logs" / "demo" / "1")
    report = import_runs(sacred, tmp_path / "logs")
    folders = [os.path.relpath(folder, tmp_path / "logs") for folder in report.written]
    assert folders == ["demo/2", "other/10"]
    assert read_tree(tmp_path / "logs" / "demo" / "1") == before
    run = rf.open(tmp_path / "logs")["demo/2"]
    assert (run.status.state, run["loss"].steps.tolist()) == ("finished", [0, 10, 20])
    assert run.artifacts[0].name == "model.bin"


def test_a_run_that_was_queued_is_imported_again_when_it_has_started(tmp_path: Path) -> None:
    for start in (None, "2026-11-18T20:30:10", "2026-11-18T20:40:10"):
        run = tmp_path / "sacred" / "1"
        if start is None:
            write_run(run.parent, run.name)
        (run / "run.json").write_text(json.dumps({**ENTRY, "start_time": start}))
        report = import_runs(tmp_path / "sacred", tmp_path / "logs")
        assert (len(report.written), report.problems) == (1, [])
        (name,) = os.listdir(tmp_path / "logs" / "demo" / "1" / "artifacts")
        assert name == "model.bin"
    assert len(list((tmp_path / "logs").rglob("*tfevents*"))) == 1
    started = rf.open(tmp_path / "logs")["demo/1"].status.started
    assert started == STARTED + 600


def test_changed_artifacts_are_replaced(sacred: Path, tmp_path: Path, monkeypatch) -> None:
    """Artifacts that Sacred no longer lists are deleted, and all other files are kept."""
    monkeypatch.chdir(tmp_path)
    names = ["model.bin", "plots/a.png", "old.txt"]
    run = write_run(sacred, "2", artifacts=names)
    (run / "plots").mkdir()
    copies = tmp_path / "logs" / "demo" / "2" / "artifacts"
    for content in ("1", "22", "333"):
        for name in names:
            (run / name).write_text(content)
        import_runs(sacred, "logs")
        assert {name: (copies / name).read_text() for name in names} == dict.fromkeys(
            names, content
        )
    (copies / "own.txt").write_text("own")
    (copies / "plots" / "a.png").write_text("edited")
    (run / "plots" / "a.png").write_text("4444")
    (run / "run.json").write_text(json.dumps({**ENTRY, "artifacts": names[:2]}))
    import_runs(sacred, "logs")
    files = {str(path.relative_to(copies)) for path in copies.rglob("*") if path.is_file()}
    assert files == {"model.bin", "own.txt", "plots/a.png", "plots/a-1.png"}
    assert (copies / "plots" / "a.png").read_text() == "edited"
    imported = rf.open(tmp_path / "logs")["demo/2"].artifacts
    assert [(item.name, item.size) for item in imported] == [
        *(("model.bin", 3), ("plots/a-1.png", 4)),
    ]


def test_artifacts_outside_the_run_are_not_deleted(sacred: Path, tmp_path: Path) -> None:
    """An event file can list any path, and folders of copies can be links."""
    import_runs(sacred, tmp_path / "logs")
    folder = tmp_path / "logs" / "demo" / "1"
    outside = tmp_path / "outside"
    (folder / "artifacts").rename(outside)
    (folder / "artifacts").symlink_to(outside)
    (sacred / "1" / "model.bin").write_text("22")
    with pytest.warns(UserWarning, match="had 1 problem"):
        import_runs(sacred, tmp_path / "logs")
    assert (outside / "model.bin").read_bytes() == b"1234"


def test_other_runs_are_not_overwritten(sacred: Path, tmp_path: Path) -> None:
    with rf.SummaryWriter(tmp_path / "logs" / "demo" / "1") as writer:
        writer.add_scalar("loss", 7.0, 0)
    before = read_tree(tmp_path / "logs")
    with pytest.warns(UserWarning, match=r"had 1 problem: run 1: "):
        report = import_runs(sacred, tmp_path / "logs")
    assert (report.written, report.unchanged) == ([], [])
    assert "there is already another run in" in report.problems[0]
    assert read_tree(tmp_path / "logs") == before


@pytest.mark.filterwarnings("ignore:The import from")
def test_files_that_cannot_be_read_are_problems_of_their_run(sacred: Path, tmp_path: Path) -> None:
    (write_run(sacred, "2") / "run.json").write_text('{"status": ')
    pipe = write_run(sacred, "3") / "run.json"
    pipe.unlink()
    os.mkfifo(pipe)
    with open(write_run(sacred, "4") / "run.json", "r+b") as file:
        file.truncate(1 << 30)
    (write_run(sacred, "5") / "run.json").write_text("[" * 500_000)
    outside = write_run(tmp_path / "outside", "6")
    (sacred / "6").symlink_to(outside)
    (sacred / "7").mkdir()
    (sacred / "7" / "run.json").mkdir()
    partly = write_run(sacred, "8")
    for name in ("config.json", "metrics.json", "cout.txt"):
        (partly / name).unlink()
    (partly / "config.json").symlink_to(outside / "config.json")
    os.mkfifo(partly / "metrics.json")
    os.mkfifo(partly / "cout.txt")
    report = import_runs(sacred, tmp_path / "logs")
    folders = [os.path.relpath(folder, tmp_path / "logs") for folder in report.written]
    assert folders == ["demo/1", "demo/8"]
    for number in range(2, 9):
        assert any(problem.startswith(f"run {number}: ") for problem in report.problems)
    (problem,) = (problem for problem in report.problems if problem.startswith("run 6"))
    assert problem == "run 6: it is a link, so it was skipped"
    run = rf.open(tmp_path / "logs")["demo/8"]
    assert (run.config, run.output, "loss" in run) == ({}, "", False)
    assert run.status.state == "finished"


@pytest.mark.filterwarnings("ignore:The import from")
def test_nothing_outside_sacreds_folder_is_read_or_written(sacred: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("private")
    names = ["link.bin", "inner", "folder", "missing", "pipe.bin", 7, "a\0b", "."]
    names += ["../1/model.bin", str(secret), "../../secret.txt", "folder/secret.txt"]
    sources = [["up.py", "../secret.txt"], ["link.py", "_sources/link.py"], ["x"], [1, 2]]
    experiment = {"name": "../../evil/.x", "sources": sources, "repositories": ["odd", 3]}
    run = write_run(sacred, "2", artifacts=names, experiment=experiment)
    (run / "link.bin").symlink_to(secret)
    (run / "inner").symlink_to("model.bin")
    (run / "folder").symlink_to(tmp_path)
    os.mkfifo(run / "pipe.bin")
    (sacred / "_sources" / "link.py").symlink_to(secret)
    before = set(tmp_path.iterdir())
    report = import_runs(sacred, tmp_path / "logs")
    assert set(tmp_path.iterdir()) == before | {tmp_path / "logs"}
    problems = [problem for problem in report.problems if problem.startswith("run 2: artifact")]
    assert len(problems) == len(names)
    written = [content for content, _ in read_tree(tmp_path / "logs").values()]
    assert not any(b"private" in content for content in written)
    (name,) = (name for name in rf.open(tmp_path / "logs") if name.endswith("/2"))
    imported = rf.open(tmp_path / "logs")[name]
    assert imported.artifacts == []
    assert sorted(imported.code.left_out) == ["link.py", "up.py"]


@pytest.mark.filterwarnings("ignore:The import from")
def test_odd_values_do_not_affect_other_values(sacred: Path, tmp_path: Path) -> None:
    run = write_run(
        sacred, "2", start_time="yesterday", status="ODD", stop_time=5, fail_trace=[1], host=[]
    )
    number = {"py/object": "numpy.float64", "value": 2.5}
    metrics = {
        "numbers": {
            "steps": [0, 1, 2, 3, 0.5, 2**70, None],
            "values": [float("nan"), float("inf"), number, 1e300, 1, 1, 1],
            "timestamps": ["2026-11-18T20:30:10+02:00", "odd", None, 3],
        },
        "texts": {"steps": [0, 1], "values": ["bad", True]},
        "ragged": {"steps": [0], "values": [1, 2]},
        "empty": {"steps": [], "values": [], "timestamps": []},
        "list": [1, 2],
        "huge": {"steps": [0], "values": [10**400]},
    }
    (run / "metrics.json").write_text(json.dumps(metrics))
    (run / "config.json").write_text(json.dumps({"x": {"py/tuple": [1, {"py/tuple": [2]}]}}))
    (run / "cout.txt").write_bytes(b"\xff\xfe\n")
    report = import_runs(sacred, tmp_path / "logs")
    imported = rf.open(tmp_path / "logs")["demo/2"]
    values = imported["numbers"].values.tolist()
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, 2.5, 1e300]
    assert imported["numbers"].wall_times[0] == STARTED - 2 * 3600
    assert imported["ragged"].values.tolist() == [1.0]
    assert {"texts", "empty", "list", "huge"}.isdisjoint(imported.tags["scalar"])
    assert imported.config == {"x": [1, [2]]}
    assert imported.status.state == "interrupted"
    assert imported.output == "��\n"
    assert report.problems == [
        "run 2: metric huge: skipped 1 point whose value is not a number or whose"
        " step is not a whole number",
        "run 2: metric numbers: skipped 3 points whose value is not a number or whose"
        " step is not a whole number",
        "run 2: metric ragged: the numbers of steps and values differ",
        "run 2: metric texts: skipped 2 points whose value is not a number or whose"
        " step is not a whole number",
    ]


@pytest.mark.filterwarnings("ignore:The import from")
@pytest.mark.parametrize("place", ["meta", "host", "result", "experiment", "artifacts"])
def test_deeply_nested_json_does_not_affect_other_runs(
    sacred: Path, tmp_path: Path, place: str
) -> None:
    nested: list[object] = []
    for _ in range(900):
        nested = [nested]
    values = {"meta": {"config_updates": {"x": nested}}, "host": {"ENV": {"x": nested}}}
    write_run(sacred, "0", **{place: values.get(place, nested)})
    report = import_runs(sacred, tmp_path / "logs")
    assert str(tmp_path / "logs" / "demo" / "1") in report.written
    assert len(report.written) + len([p for p in report.problems if "not imported" in p]) == 2


def test_long_output_is_cut(sacred: Path, tmp_path: Path) -> None:
    (sacred / "1" / "cout.txt").write_text("x" * 99 + "\n" + "line\n" * 1_000_000)
    import_runs(sacred, tmp_path / "logs")
    output = rf.open(tmp_path / "logs")["demo/1"].output
    assert 1_000_000 < len(output) < 1_050_000
    assert "characters of output are not stored" in output


def test_a_folder_of_one_run_or_of_none_can_be_imported(sacred: Path, tmp_path: Path) -> None:
    report = import_runs(sacred / "1", tmp_path / "logs")
    assert report.written == [str(tmp_path / "logs" / "demo" / "1")]
    assert rf.open(tmp_path / "logs")["demo/1"].code.script_text is not None
    (tmp_path / "empty").mkdir()
    assert import_runs(tmp_path / "empty", tmp_path / "logs").written == []
    with pytest.raises(FileNotFoundError):
        import_runs(tmp_path / "missing", tmp_path / "logs")


def test_runs_are_listed_in_the_order_of_their_numbers(sacred: Path) -> None:
    for name in ("b", "10", "2", "_sources", ".hidden"):
        (sacred / name).mkdir(exist_ok=True)
        (sacred / name / "run.json").write_text("{}")
    assert [Path(path).name for path in list_runs(str(sacred), [])] == ["1", "2", "10", "b"]


def test_arrays_that_sacred_encoded_twice_are_numbers(sacred: Path, tmp_path: Path) -> None:
    # At each heartbeat, FileStorageObserver encodes the earlier points again.
    array = {"dtype": "float64", "values": 2.5}
    values = [{"py/object": "numpy.ndarray", **array}, array]
    metrics = {"loss": {**METRICS["loss"], "values": values}}
    (sacred / "1" / "metrics.json").write_text(json.dumps(metrics))
    assert import_runs(sacred, tmp_path / "logs").problems == []
    assert rf.open(tmp_path / "logs")["demo/1"]["loss"].values.tolist() == [2.5, 2.5]

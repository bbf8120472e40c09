"""A folder created by torch's `add_hparams` is part of its run everywhere."""

import json
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.faultfiles import noting_opened
from helpers.logs import hparams, scalars, values, write
from helpers.packs import pack
from helpers.serve_client import Client, read_metadata
from torch.utils.tensorboard import SummaryWriter

import runfold as rf
from runfold._cli import main
from runfold._conventions import HEARTBEAT
from runfold._events.value_encoding import hparams_end, metadata_only, text
from runfold._experiments import Trial, open_experiments
from runfold._story.side_files import write_aside
from runfold.compat.tensorboard_reducer import load_tb_events
from runfold.errors import UnknownRun

PART = "1700000000.25"
SEEDS = ["seed-0", "seed-1", "seed-2"]


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Three runs as logged by torch's writer."""
    for seed, name in enumerate(SEEDS):
        with SummaryWriter(str(tmp_path / "logs" / name)) as writer:
            for step in range(3):
                writer.add_scalar("loss", step + seed, step)
            writer.add_hparams({"lr": 0.1 * seed, "model": "mlp"}, {"acc": seed})
    return tmp_path / "logs"


def grow(folder: Path, **settings: object) -> None:
    """Write the folder of one `add_hparams` call."""
    write(folder, hparams(**settings), scalars("acc", (0, 0.5)), values(hparams_end("success")))


def list_trials(logdir: Path) -> list[Trial]:
    """Return the trials of all experiments."""
    return [trial for experiment in open_experiments(logdir).all for trial in experiment.trials]


@pytest.mark.parametrize("is_packed", [False, True])
def test_all_lists_of_runs_are_the_same(logdir: Path, is_packed: bool):
    runs = rf.open(pack(logdir) if is_packed else logdir)
    assert list(runs) == SEEDS
    assert len(runs) == 3
    assert list(runs.where("lr >= 0")) == SEEDS
    frames = [runs.table(), runs.scalars(), runs.hparams(), runs.sessions(), runs.metrics()]
    assert [sorted(set(frame["run"])) for frame in frames] == [SEEDS] * 5
    assert list(runs.hparams(wide=True).index) == SEEDS
    for table in ("runs", "scalars", "hparams"):
        table_runs = runs.sql(f"select distinct run from {table} order by run")
        assert table_runs["run"].tolist() == SEEDS
    assert runs.tags["scalar"] == ["loss", "acc"]
    assert repr(runs).startswith("3 runs in ")


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_content_of_a_part_belongs_to_its_run(logdir: Path, is_packed: bool):
    run = rf.open(pack(logdir) if is_packed else logdir)["seed-2"]
    assert list(run) == ["loss", "acc"]
    assert (run["acc"].run, run["acc"].values.tolist()) == ("seed-2", [2.0])
    assert run.config == {"lr": 0.2, "model": "mlp"}
    assert run.status.state == "finished"
    assert run.points == 3 + 1 + 3
    assert run.path.endswith("seed-2")


def test_runs_are_grouped_by_the_hparams_in_their_parts(logdir: Path, capsys):
    runs = rf.open(logdir)
    reduced = runs.reduce("mean", by="model")
    assert list(reduced.groups) == ["model=mlp"]
    assert reduced["model=mlp", "acc"]["mean"].tolist() == [1.0]
    assert main(["compare", str(logdir), "--tag", "loss", "--by", "lr", "--json"]) == 0
    assert {"lr=0", "lr=0.1", "lr=0.2"} <= set(capsys.readouterr().out.split('"'))
    assert main(["plot", str(logdir), "--tags", "loss", "--by", "lr", "--align", "union"]) == 0
    assert "lr=0.2" in capsys.readouterr().out


def test_two_runs_are_compared_with_their_parts(logdir: Path):
    runs = rf.open(logdir)
    diff = runs["seed-0"].diff(runs["seed-1"]).without_same()
    assert [(entry.name, entry.a, entry.b) for entry in diff.sections["hparams"]] == [
        ("lr", 0.0, 0.1)
    ]
    assert [final.tag for final in diff.finals] == ["loss", "acc"]
    assert Client(logdir).get("/api/diff", a="seed-0", b="seed-1")["sections"][0]["rows"] == [
        {"name": "state", "a": "finished", "b": "finished", "isSame": True},
        {"name": "exit", "a": None, "b": None, "isSame": True},
    ]


def test_the_server_lists_the_same_runs(logdir: Path):
    client = Client(logdir)
    assert client.get("/api/table")["run"].to_pylist() == SEEDS
    assert [tag["runs"] for tag in client.get("/api/tags")["kinds"]["scalar"]] == [3, 3]
    curves = client.post("/api/curves", tags=["loss", "acc"])
    assert {curve["run"] for curve in read_metadata(curves)} == set(SEEDS)
    folder = next(logdir.glob("seed-1/*.*/")).name
    status, message = client.refused("/api/curves", tags=["loss"], runs=[f"seed-1/{folder}"])
    assert status == 404
    assert "is part of the run 'seed-1'" in message


def test_naming_a_part_suggests_its_run(logdir: Path, capsys):
    part = f"seed-1/{next(logdir.glob('seed-1/*.*/')).name}"
    why = (
        f"'{part}' is part of the run 'seed-1': add_hparams created this folder inside the run's"
        " folder. Use 'seed-1' instead."
    )
    runs = rf.open(logdir)
    assert part not in runs
    with pytest.raises(UnknownRun) as caught:
        runs[part]
    assert str(caught.value) == why
    for command in (["show", str(logdir), part, "acc"], ["diff", str(logdir), "seed-0", part]):
        assert main(command) == 2
        assert why in capsys.readouterr().err
    # Opened by its own path, it is a run like any other.
    assert rf.open(logdir / part)["."]["acc"].values.tolist() == [1.0]


def test_the_runs_own_points_take_precedence(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0), (1, 0.5)), values(text("note", "own")))
    write(
        tmp_path / "a" / PART, hparams(lr=0.1), scalars("loss", (9, 9.0)), values(text("note", "x"))
    )
    runs = rf.open(tmp_path)
    assert runs["a"]["loss"].values.tolist() == [1.0, 0.5]
    assert runs.text()["text"].tolist() == ["own"]


def test_hparams_of_all_folders_of_a_run_are_used(tmp_path: Path):
    write(tmp_path / "a", hparams(lr=0.1), scalars("loss", (0, 1.0)))
    grow(tmp_path / "a" / PART, width=3.0)
    grow(tmp_path / "a" / "1700000001.25", lr=0.1, depth=2.0)
    runs = rf.open(tmp_path)
    assert list(runs) == ["a"]
    assert runs["a"].config == {"lr": 0.1, "width": 3.0, "depth": 2.0}
    assert runs.sessions()["status"].tolist() == ["success"]


@pytest.mark.parametrize("own", [{}, {"lr": 0.2}])
def test_folders_that_contradict_each_other_are_separate_runs(
    tmp_path: Path, own: dict[str, float]
):
    write(tmp_path / "a", hparams(**own), scalars("loss", (0, 1.0)))
    parts = [f"a/{PART}", "a/1700000001.25"]
    for part, rate in zip(parts, (0.1, 0.2), strict=True):
        grow(tmp_path / part, lr=rate)
    runs = rf.open(tmp_path)
    assert list(runs) == ["a", *parts]
    assert runs[parts[1]].config == {"lr": 0.2}
    assert runs["a"].tags["scalar"] == ["loss"]


def test_a_part_of_a_part_is_a_separate_run(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    grow(tmp_path / "a" / PART, lr=0.1)
    grow(tmp_path / "a" / PART / PART, lr=0.1)
    assert list(rf.open(tmp_path)) == ["a", f"a/{PART}/{PART}"]


def test_a_folder_without_hparams_is_a_separate_run(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    write(tmp_path / "a" / PART, scalars("loss", (0, 1.0)))
    assert list(rf.open(tmp_path)) == ["a", f"a/{PART}"]


def test_only_parts_and_their_runs_are_read_for_the_list(tmp_path: Path):
    for name in ("a", "b", "lr-0.1"):
        write(tmp_path / name, scalars("loss", (0, 1.0)))
    with noting_opened() as opened:
        assert list(rf.open(tmp_path)) == ["a", "b", "lr-0.1"]
        assert opened == []
        grow(tmp_path / "a" / PART, lr=0.1)
        opened.clear()
        runs = rf.open(tmp_path)
        assert opened == []
        assert list(runs) == ["a", "b", "lr-0.1"]
        assert {Path(path).parent.name for path in opened} == {"a", PART}
        opened.clear()
        assert runs["b"]["loss"].values.tolist() == [1.0]
        assert [Path(path).parent.name for path in opened] == ["b"]


def test_a_part_that_appears_later_joins_its_run(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    runs = rf.open(tmp_path).load()
    run = runs["a"]
    grow(tmp_path / "a" / PART, lr=0.1)
    changes = runs.refresh()
    assert (changes.runs, changes.gone, changes.points) == ([], [], 3)
    assert list(runs) == ["a"]
    assert run["acc"].values.tolist() == [0.5]
    assert run.config == {"lr": 0.1}
    assert not runs.refresh()
    write(tmp_path / "a" / PART, scalars("acc", (1, 0.75)), number=2)
    assert runs.refresh().points == 1
    assert run["acc"].values.tolist() == [0.5, 0.75]


def test_a_later_contradiction_makes_all_parts_separate_runs(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    grow(tmp_path / "a" / PART, lr=0.1)
    runs = rf.open(tmp_path).load()
    assert list(runs) == ["a"]
    grow(tmp_path / "a" / "1700000001.25", lr=0.2)
    parts = [f"a/{PART}", "a/1700000001.25"]
    assert runs.refresh().runs == parts
    assert list(runs) == ["a", *parts]
    assert "acc" not in runs["a"]
    assert runs[parts[0]]["acc"].run == parts[0]


def test_deleting_a_part_keeps_its_run(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    grow(tmp_path / "a" / PART, lr=0.1)
    runs = rf.open(tmp_path).load()
    assert list(runs["a"]) == ["loss", "acc"]
    shutil.rmtree(tmp_path / "a" / PART)
    assert runs.refresh().points == -3
    assert list(runs["a"]) == ["loss"]
    assert runs["a"].config == {}
    assert runs.problems().empty


def test_the_server_reports_a_run_that_gained_a_part(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    client = Client(tmp_path)
    client.source.logs()
    grow(tmp_path / "a" / PART, lr=0.1)
    changed = client.source.refresh()
    assert changed is not None
    assert (changed.new, changed.changed) == ([], ["a"])
    assert client.get("/api/table")["lr"].to_pylist() == [0.1]


def test_problems_in_a_part_are_problems_of_its_run(tmp_path: Path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    broken = values(metadata_only("_hparams_/broken", "hparams", b"\xff\xff"))
    path = write(tmp_path / "a" / PART, hparams(lr=0.1), broken)
    runs = rf.open(tmp_path)
    runs.hparams()
    problems = runs.problems()
    assert (problems["run"].tolist(), problems["file"].tolist()) == (["a"], [str(path)])


def test_packing_some_runs_packs_their_parts(logdir: Path, tmp_path: Path):
    runs = rf.open(logdir).where("lr > 0.15")
    runs.pack(tmp_path / "some.parquet")
    again = rf.open(tmp_path / "some.parquet")
    assert list(again) == ["seed-2"]
    assert again["seed-2"].config == {"lr": 0.2, "model": "mlp"}
    output = str(tmp_path / "one.parquet")
    assert main(["pack", str(logdir), "--runs", "seed-1", "-o", output]) == 0
    assert rf.open(output)["seed-1"].config == {"lr": 0.1, "model": "mlp"}


def test_code_that_works_on_files_sees_every_folder(logdir: Path, tmp_path: Path, capsys):
    assert main(["check", "--json", str(logdir)]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == 6
    folded = load_tb_events([str(logdir / name) for name in SEEDS])
    assert list(folded) == ["loss"]
    assert main(["pack", str(logdir), "-o", str(tmp_path / "p.parquet")]) == 0
    assert main(["unpack", str(tmp_path / "p.parquet"), "-o", str(tmp_path / "again")]) == 0
    files = [path.relative_to(logdir) for path in sorted(logdir.rglob("*tfevents*"))]
    assert len(files) == 6
    for file in files:
        assert (tmp_path / "again" / file).read_bytes() == (logdir / file).read_bytes()


def test_exports_have_the_same_runs(logdir: Path, tmp_path: Path):
    rf.open(logdir).export(tmp_path / "scalars.parquet")
    assert set(pq.read_table(tmp_path / "scalars.parquet")["run"].to_pylist()) == set(SEEDS)


def test_an_edit_that_deletes_a_run_deletes_its_parts(logdir: Path, tmp_path: Path, capsys):
    values = rf.open(logdir)["seed-1"].points
    assert main(["edit", str(logdir), "-o", str(tmp_path / "o"), "--delete-runs", "seed-1"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"seed-1: deleted, {values} values\n"
    assert "1 of 3 runs changed" in printed.err
    assert list(rf.open(tmp_path / "o")) == ["seed-0", "seed-2"]
    assert not (tmp_path / "o" / "seed-1").exists()


def test_rules_for_a_chosen_run_apply_to_its_parts(logdir: Path, tmp_path: Path):
    rules = ["--runs", "seed-1", "--rename-tag", "acc=accuracy"]
    assert main(["edit", str(logdir), "-o", str(tmp_path / "o"), *rules]) == 0
    runs = rf.open(tmp_path / "o")
    assert [list(run) for run in runs.values()] == [
        ["loss", "acc"],
        ["loss", "accuracy"],
        ["loss", "acc"],
    ]


def test_a_run_in_the_logdir_itself_is_renamed_with_its_parts(tmp_path: Path):
    write(tmp_path / "logs", scalars("loss", (0, 1.0)))
    grow(tmp_path / "logs" / PART, lr=0.1)
    rules = ["--rename-run", ".=a"]
    assert main(["edit", str(tmp_path / "logs"), "-o", str(tmp_path / "o"), *rules]) == 0
    runs = rf.open(tmp_path / "o")
    assert list(runs) == ["a"]
    assert runs["a"].config == {"lr": 0.1}


def test_a_tag_in_a_part_is_moved_by_the_name_of_its_run(logdir: Path, tmp_path: Path):
    rules = ["--move-tag", "acc={run}-final"]
    assert main(["edit", str(logdir), "-o", str(tmp_path / "o"), *rules]) == 0
    runs = rf.open(tmp_path / "o")
    assert sorted(runs) == sorted([*SEEDS, *(f"{name}-final" for name in SEEDS)])
    assert runs["seed-2-final"]["acc"].values.tolist() == [2.0]


def test_a_part_that_leaves_its_run_is_reported(logdir: Path, tmp_path: Path, capsys):
    part = f"seed-1/{next(logdir.glob('seed-1/*.*/')).name}"
    rules = ["--rename-run", f"{part}=other"]
    assert main(["edit", str(logdir), "-o", str(tmp_path / "o"), *rules]) == 0
    assert f"{part} -> other" in capsys.readouterr().out


def test_folders_that_contradict_each_other_are_edited_one_by_one(tmp_path: Path):
    write(tmp_path / "logs/a", hparams(lr=0.1), scalars("loss", (0, 1.0)))
    grow(tmp_path / "logs/a" / PART, lr=0.2)
    rules = ["--delete-runs", "a"]
    assert main(["edit", str(tmp_path / "logs"), "-o", str(tmp_path / "o"), *rules]) == 0
    assert list(rf.open(tmp_path / "o")) == [f"a/{PART}"]


def test_experiments_and_trials_count_runs_like_other_lists(logdir: Path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(logdir.parent / "state"))
    assert main(["experiments", "list", "--logdir", str(logdir), "--json"]) == 0
    experiments = json.loads(capsys.readouterr().out)
    assert [[trial["name"] for trial in each["trials"]] for each in experiments] == [
        [seed] for seed in SEEDS
    ]
    assert main(["trials", "seed-1", "--logdir", str(logdir), "--json"]) == 0
    assert [trial["name"] for trial in json.loads(capsys.readouterr().out)] == ["seed-1"]
    assert main(["experiments", "delete", "seed-1", "--yes", "--logdir", str(logdir)]) == 0
    assert not (logdir / "seed-1").exists()


def test_trial_ids_stay_the_same_when_one_turns_out_to_be_a_part(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    logdir = tmp_path / "logs"
    for name in ("a", f"a/{PART}", "b"):
        write(logdir / name, scalars("loss", (0, 1.0)))
    before = {trial.name: trial.id for trial in list_trials(logdir)}
    assert list(before) == ["a", f"a/{PART}", "b"]
    write(logdir / "a" / PART, hparams(lr=0.1), number=2)
    assert {trial.name: trial.id for trial in list_trials(logdir)} == {
        "a": before["a"],
        "b": before["b"],
    }


def test_a_part_that_is_being_written_protects_its_experiment(logdir: Path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(logdir.parent / "state"))
    beat = {"pid": os.getpid(), "host": os.uname().nodename, "state": "running", "seconds": 10.0}
    write_aside(str(next(logdir.glob("seed-1/*.*/"))), HEARTBEAT, beat)
    assert main(["experiments", "delete", "seed-1", "--yes", "--logdir", str(logdir)]) == 2
    assert (logdir / "seed-1").exists()


@pytest.mark.parametrize("options", [[], ["--partition"]])
def test_a_pack_counts_runs_like_other_lists(
    logdir: Path, tmp_path: Path, options: list[str], capsys
):
    output = str(tmp_path / ("p" if options else "p.parquet"))
    assert main(["pack", str(logdir), "-o", output, *options]) == 0
    assert "Packed 3 runs, 6 event files" in capsys.readouterr().err


def test_a_folder_that_contradicts_its_run_is_packed_only_if_named(tmp_path: Path):
    write(tmp_path / "logs/a", hparams(lr=0.1), scalars("loss", (0, 1.0)))
    grow(tmp_path / "logs/a" / PART, lr=0.2)
    output = str(tmp_path / "one.parquet")
    assert main(["pack", str(tmp_path / "logs"), "--runs", "a", "-o", output]) == 0
    assert list(rf.open(output)) == ["a"]

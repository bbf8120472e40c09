"""The drop-in for tensorboard-reducer, compared with the original on logs that both can read."""

import math
import os
import re
from pathlib import Path

import pandas as pd
import pytest
import tensorboard_reducer as peer
from pandas.testing import assert_frame_equal, assert_series_equal
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from runfold._conventions import REDUCED_SUFFIX
from runfold.compat import tensorboard_reducer as ours

OPERATIONS = ["mean", "std", "min", "max", "median", "count", "sem", "quantile"]

Points = list[tuple[int, float]]


def write_run(folder: Path, **series: Points) -> str:
    """Log series as torch does and return the folder; `train_loss` is the tag `train/loss`."""
    with SummaryWriter(str(folder)) as writer:
        for name, points in series.items():
            for step, value in points:
                writer.add_scalar(name.replace("_", "/"), value, step)
    return str(folder)


def curve(*steps: int, start: float = 1.0) -> Points:
    return [(step, start / (step + 3)) for step in steps]


@pytest.fixture
def runs(tmp_path):
    """Three runs with two tags; one has a NaN, another has unordered steps."""
    return [
        write_run(tmp_path / "a", train_loss=curve(3, 1, 2), lr=curve(0, 5)),
        write_run(tmp_path / "b", train_loss=curve(3, 1, 2, start=1e-5), lr=curve(0, 5)),
        write_run(tmp_path / "c", train_loss=[(1, 2.0), (2, math.nan), (3, -1e30)], lr=curve(0, 5)),
    ]


@pytest.fixture
def uneven(tmp_path):
    """Three runs with different tags, steps and subfolders."""
    folder = tmp_path / "uneven"
    write_run(folder / "a" / "below", other=curve(1))
    return [
        write_run(folder / "a", loss=curve(9, 1, 2, 3), first=curve(1)),
        write_run(folder / "b", both=curve(4, 5), loss=curve(2, 3, 4)),
        write_run(folder / "c", loss=curve(3, 9, 0), both=curve(5, 4)),
    ]


def assert_same(actual: dict[str, pd.DataFrame], expected: dict[str, pd.DataFrame]) -> None:
    assert list(actual) == list(expected)
    for tag, frame in expected.items():
        assert_frame_equal(actual[tag], frame)


def test_tables_are_the_same(runs):
    assert_same(ours.load_tb_events(runs), peer.load_tb_events(runs))


@pytest.mark.parametrize("least", [None, 1, 2, 3, 4])
def test_tables_of_uneven_runs_are_the_same(uneven, least):
    lax = {"strict_tags": False, "strict_steps": False, "min_runs_per_step": least}
    assert_same(ours.load_tb_events(uneven, **lax), peer.load_tb_events(uneven, **lax))


@pytest.mark.parametrize("how", ["keep-first", "keep-last", "mean"])
def test_duplicate_steps_are_handled_the_same(tmp_path, how):
    again = [*curve(4, 2, 3), *curve(2, 4, 9, start=7.0), *curve(2, start=-1.0)]
    runs = [write_run(tmp_path / name, loss=again) for name in "ab"]
    assert_same(
        ours.load_tb_events(runs, handle_dup_steps=how),
        peer.load_tb_events(runs, handle_dup_steps=how),
    )


def test_a_restarted_run_has_duplicate_steps(tmp_path):
    folder = write_run(tmp_path, loss=curve(*range(6)))
    # torch numbers files created within the same second; TensorBoard sorts number 10 before 9.
    (first,) = Path(folder).iterdir()
    first.rename(first.with_name("events.out.tfevents.1"))
    with SummaryWriter(folder, purge_step=4) as writer:
        writer.add_scalar("loss", 9.0, 4)
    with pytest.raises(ValueError, match=r"contains duplicate steps\.") as theirs:
        peer.load_tb_events([folder])
    with pytest.raises(ValueError, match=r"contains duplicate steps\.") as caught:
        ours.load_tb_events([folder])
    assert str(caught.value) == f"{theirs.value} The first of them is step 4."
    last = {"handle_dup_steps": "keep-last"}
    assert_same(ours.load_tb_events([folder], **last), peer.load_tb_events([folder], **last))


def test_a_run_can_be_passed_twice(runs):
    twice = [runs[0], runs[0]]
    assert_same(ours.load_tb_events(twice), peer.load_tb_events(twice))


def test_changing_a_table_does_not_affect_the_next_load(runs):
    table = ours.load_tb_events(runs[:1])["lr"]
    table.iloc[0, 0] = 5.0
    assert_same(ours.load_tb_events(runs[:1]), peer.load_tb_events(runs[:1]))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_reductions_are_the_same(runs, operation):
    loaded = peer.load_tb_events(runs)
    actual, expected = (package.reduce_events(loaded, operation) for package in (ours, peer))
    assert list(actual) == list(expected) == [operation]
    for tag, series in expected[operation].items():
        assert_series_equal(actual[operation][tag], series)


def read_events(folders: list[str]) -> list[dict[str, list[tuple[int, str]]]]:
    """Return the points in each folder by tag, as TensorBoard reads them; NaN equals NaN."""
    read = []
    for folder in folders:
        log = EventAccumulator(folder, {"scalars": 0}).Reload()
        tags = log.Tags()["scalars"]
        read.append({tag: [(p.step, repr(p.value)) for p in log.Scalars(tag)] for tag in tags})
    return read


@pytest.mark.parametrize("out", ["out", "out/", "new/folder/out"])
@pytest.mark.parametrize("operations", [["max", "mean", "std"], ["std", "min"], ["mean"]])
def test_event_folders_are_the_same(runs, tmp_path, monkeypatch, out, operations):
    reduced = peer.reduce_events(peer.load_tb_events(runs), operations)
    written = []
    for package in (ours, peer):
        folder = tmp_path / package.__name__
        folder.mkdir()
        monkeypatch.chdir(folder)
        names = package.write_tb_events(reduced, out)
        assert sorted(path.parent for path in folder.rglob("*tfevents*")) == sorted(
            folder / name for name in names
        )
        written.append((names, read_events(names)))
    assert written[0] == written[1]


def test_event_files_have_the_suffix_that_allows_overwriting(runs, tmp_path):
    reduced = ours.reduce_events(ours.load_tb_events(runs), "mean")
    (folder,) = ours.write_tb_events(reduced, str(tmp_path / "out"))
    (file,) = Path(folder).iterdir()
    assert file.name.startswith("events.out.tfevents.")
    assert file.name.endswith(REDUCED_SUFFIX)
    ours.write_tb_events(reduced, str(tmp_path / "out"), overwrite=True)


@pytest.mark.fault(59)
def test_event_files_have_unique_names(runs, tmp_path):
    reduced = ours.reduce_events(ours.load_tb_events(runs), ["mean", "max"])
    folders = [
        *ours.write_tb_events(reduced, f"{tmp_path}/out"),
        *ours.write_tb_events(reduced, f"{tmp_path}/again"),
    ]
    names = {file.name for folder in folders for file in Path(folder).iterdir()}
    assert len(names) == 4
    assert all(os.uname().nodename in name for name in names)


@pytest.mark.parametrize(
    "name",
    [
        "out.csv",
        "out.CSV",
        "out.csv.gz",
        "out.csv.bz2",
        "out.csv.xz",
        "out.csv.zip",
        "out.csv.gzip",
    ],
)
def test_csv_files_are_the_same(uneven, tmp_path, name):
    loaded = peer.load_tb_events(uneven, strict_tags=False, strict_steps=False)
    reduced = peer.reduce_events(loaded, ["mean", "std"])
    tables = []
    for package in (ours, peer):
        path = tmp_path / f"{package.__name__}-{name}"
        assert package.write_data_file(reduced, path) == path
        tables.append(pd.read_csv(path, header=[0, 1], index_col=0))
    assert_frame_equal(*tables)


@pytest.mark.parametrize("name", ["out.json", "out.json.gz", "out.xlsx"])
def test_other_data_files_are_the_same(uneven, tmp_path, name):
    loaded = peer.load_tb_events(uneven, strict_tags=False, strict_steps=False)
    reduced = peer.reduce_events(loaded, ["mean", "std"])
    read = pd.read_excel if name.endswith("xlsx") else pd.read_json
    tables = []
    for package in (ours, peer):
        path = str(tmp_path / f"{package.__name__}-{name}")
        package.write_data_file(reduced, path)
        tables.append(read(path))
    assert_frame_equal(*tables, rtol=0, atol=1e-9)


def shown(text: str, folder: str) -> str:
    """Return printed text without times, rates and the folder; bars are in their last state."""
    return re.sub(r"\d+:\d+<[^\]]*\]", "", re.sub(r"[^\r\n]*\r", "", text)).replace(folder, "")


@pytest.mark.parametrize("flags", [["--lax-tags", "--lax-steps"], []])
def test_the_command_prints_the_same(runs, uneven, tmp_path, capsys, flags):
    printed = []
    for package in (ours, peer):
        folder = str(tmp_path / package.__name__)
        given = [*(uneven if flags else runs), *flags, "--verbose", "-r", "std,mean,max"]
        assert package.main([*given, "-o", f"{folder}/out"]) == 0
        assert package.main([*given, "-o", f"{folder}.csv"]) == 0
        printed.append([shown(text, folder) for text in capsys.readouterr()])
    assert printed[0] == printed[1]


def first_words(message: str, words: int = 12) -> list[str]:
    return message.split()[:words]


@pytest.mark.parametrize(
    "wrong",
    [
        {"input_dirs": []},
        {"handle_dup_steps": "first"},
        {"strict_tags": True},
        {"strict_tags": False, "strict_steps": True},
        {"min_runs_per_step": 0},
        {"min_runs_per_step": 2.0},
    ],
    ids=str,
)
def test_errors_start_with_the_same_words(uneven, wrong):
    lax = {"input_dirs": uneven, "strict_tags": False, "strict_steps": False}
    messages = []
    for package in (ours, peer):
        with pytest.raises(ValueError, match=r"\w") as caught:
            package.load_tb_events(**(lax | wrong))
        messages.append(first_words(str(caught.value)))
    assert messages[0] == messages[1]

"""Intended differences from tensorboard-reducer 0.4."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import writers
from helpers.eventfiles import corrupt, scalar
from helpers.logs import scalars, write
from pandas.testing import assert_frame_equal

from runfold._conventions import REDUCED_SUFFIX
from runfold.compat.tensorboard_reducer import (
    load_tb_events,
    main,
    reduce_events,
    write_data_file,
    write_tb_events,
)

MODULE = [sys.executable, "-m", "runfold.compat.tensorboard_reducer"]


@pytest.fixture
def runs(tmp_path) -> list[str]:
    """Two runs with one tag."""
    for name, points in {"a": [(0, 1.0), (1, 1e-5)], "b": [(0, 3.0), (1, 1e-5 / 3)]}.items():
        write(tmp_path / "runs" / name, scalars("loss", *points))
    return [str(tmp_path / "runs" / name) for name in "ab"]


@pytest.fixture
def reduced(runs) -> dict[str, dict[str, pd.Series]]:
    return reduce_events(load_tb_events(runs), ["mean", "std"])


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, by relative path."""
    files = filter(Path.is_file, folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_every_point_of_a_long_series_is_read(tmp_path):
    steps = np.arange(30_000)
    write(tmp_path, lambda file: file.scalars("loss", steps, np.ones(30_000), np.sqrt(steps)))
    table = load_tb_events([str(tmp_path)])["loss"]
    assert table.index.tolist() == steps.tolist()
    assert np.array_equal(table["value"], np.sqrt(steps).astype(np.float32))


def test_scalars_of_tensorflow_2_are_read(tmp_path):
    writers.torch(tmp_path / "torch")
    writers.tensorflow_2(tmp_path / "tensorflow")
    torch, tensorflow = (load_tb_events([str(tmp_path / n)]) for n in ("torch", "tensorflow"))
    assert list(tensorflow) == list(torch) == ["train/loss", "odd"]
    for tag, table in torch.items():
        assert_frame_equal(tensorflow[tag], table)


@pytest.mark.fault(63)
def test_different_steps_are_rejected_even_if_their_number_is_equal(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0), (10, 2.0)))
    write(tmp_path / "b", scalars("loss", (0, 1.0), (11, 2.0)))
    runs = [str(tmp_path / name) for name in "ab"]
    with pytest.raises(
        ValueError, match=r"^Unequal steps.*'loss'.*b' has 1 step that .*a' does not have"
    ):
        load_tb_events(runs)
    assert load_tb_events(runs, strict_steps=False)["loss"].index.tolist() == [0]


def test_problems_in_a_file_are_reported(tmp_path):
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(scalar(step=0) + corrupt(scalar(step=1), -5) + scalar(step=2))
    with pytest.warns(
        UserWarning, match=r"1 problem, the first: .* bad payload checksum\. Skipped"
    ) as warned:
        table = load_tb_events([str(tmp_path)])["loss"]
    assert (table.index.tolist(), warned[0].filename) == ([0, 2], __file__)


def test_a_missing_folder_is_named(runs):
    with pytest.raises(FileNotFoundError, match=r"No logdir '.*runs/c'"):
        load_tb_events([*runs, runs[0].replace("runs/a", "runs/c")])


def test_a_path_is_not_a_list_of_folders(runs):
    with pytest.raises(ValueError, match=r"^Expected non-empty list of input directories, got '/"):
        load_tb_events(runs[0])


def test_a_folder_of_runs_is_not_a_run(runs):
    with pytest.raises(FileNotFoundError, match=r"^Got 1 input directories, but none of them"):
        load_tb_events([str(Path(runs[0]).parent)])


@pytest.mark.parametrize("operation", ["meen", "shape", "head", "cumsum", "to_csv", "value", "agg"])
def test_an_unknown_operation_lists_close_matches(runs, operation):
    events = load_tb_events(runs)
    hint = "Did you mean 'mean'" if operation == "meen" else "(Available: |Did you mean)"
    with pytest.raises(AttributeError, match=f"no reduction '{operation}'. {hint}"):
        reduce_events(events, operation)


@pytest.mark.fault(57)
def test_a_foreign_folder_is_never_overwritten(reduced, tmp_path):
    out = tmp_path / "out"
    write_tb_events(reduced, str(out))
    kept = tmp_path / "out-mean" / "events.out.tfevents.7.mine"
    kept.write_bytes(b"precious")
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"out-mean.std' already exists"):
        write_tb_events(reduced, str(out))
    with pytest.raises(
        ValueError, match=r"^Received the overwrite flag but the content of '.*-mean'"
    ):
        write_tb_events(reduced, str(out), overwrite=True)
    assert contents(tmp_path) == before


@pytest.mark.fault(57)
def test_a_path_is_never_passed_to_a_shell(reduced, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious").touch()
    odd = "out; rm -rf precious #"
    for _ in range(2):
        write_tb_events(reduced, odd, overwrite=True)
        write_data_file(reduced, f"{odd}.csv", overwrite=True)
    assert (tmp_path / "precious").exists()
    assert sorted(path.name for path in tmp_path.glob("out*")) == [
        odd + end for end in ("-mean", "-mean+std", "-mean-std", ".csv")
    ]


@pytest.mark.fault(57)
def test_a_folder_named_like_a_data_file_is_kept(reduced, tmp_path):
    folder = tmp_path / "old.csv"
    folder.mkdir()
    (folder / "precious").touch()
    with pytest.raises(FileExistsError, match="already exists"):
        write_data_file(reduced, str(folder))
    with pytest.raises(ValueError, match=r"^Received the overwrite flag but the content of"):
        write_data_file(reduced, str(folder), overwrite=True)
    assert list(folder.iterdir()) == [folder / "precious"]


def test_an_unknown_extension_keeps_the_existing_file(reduced, tmp_path):
    path = tmp_path / "out.csv.old"
    path.write_text("precious")
    with pytest.raises(ValueError, match="has unknown extension, should be one of"):
        write_data_file(reduced, str(path), overwrite=True)
    assert path.read_text() == "precious"


def test_small_numbers_keep_their_digits_in_json(reduced, tmp_path):
    path = write_data_file(reduced, str(tmp_path / "out.json"))
    written = json.loads(Path(path).read_text())
    assert written == {
        f"('loss', '{name}')": {"0": curves["loss"][0], "1": curves["loss"][1]}
        for name, curves in reduced.items()
    }


def test_the_member_of_a_zip_archive_is_named_after_the_table(reduced, tmp_path):
    path = write_data_file(reduced, str(tmp_path / "out.csv.zip"))
    assert zipfile.ZipFile(path).namelist() == ["out.csv"]
    assert len(pd.read_csv(path, header=[0, 1], index_col=0)) == 2


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.json", "out.json.bz2", "out.xlsx"])
def test_the_command_writes_every_data_file(runs, tmp_path, name):
    assert main([*runs, "-o", str(tmp_path / name), "-r", "mean,std"]) == 0
    assert [path.name for path in tmp_path.iterdir() if path.name != "runs"] == [name]


def test_the_command_requires_an_output(runs, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(runs)
    assert "required: -o/--outpath" in capsys.readouterr().err


def test_the_module_runs_as_a_command_and_reports_an_error_in_one_line(runs, tmp_path):
    command = [*MODULE, *runs, "-o", str(tmp_path / "out")]
    done, again = (subprocess.run(command, capture_output=True, text=True) for _ in range(2))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (file,) = os.listdir(tmp_path / "out-mean")
    assert file.endswith(REDUCED_SUFFIX)
    assert again.returncode == 1
    assert again.stderr.startswith("TensorBoard Reducer: '")
    assert again.stderr.count("\n") == 1


def test_torch_tensorflow_and_tensorboard_are_not_needed(runs, tmp_path):
    code = (
        "import sys; from runfold.compat.tensorboard_reducer import main; main(sys.argv[1:]);"
        "print({'tensorboard', 'tensorflow', 'torch'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, *runs, "-o", str(tmp_path / "out")]
    assert subprocess.check_output(command, text=True) == "set()\n"

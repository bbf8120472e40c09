"""Logs with very many tags: the memory they take, and the part that each view shows."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.cli_runs import START, write
from helpers.packs import pack
from helpers.serve_client import Client

import runfold as rf
from runfold._cli import main
from runfold._core.encoder import EventBuffer
from runfold._tables.by_run.run_columns import MOST_TAGS

MANY = 100_000

_MEASURE = """
import sys
import psutil
import runfold as rf

small, large, tags = sys.argv[1:]
memory = psutil.Process().memory_info
rf.open(small)["."].points  # triggers imports on first use
before = memory().rss
run = rf.open(large)["."]
assert len(run) == int(tags)
assert run["tag-7"].steps.tolist() == list(range(run.points // int(tags)))
print((memory().rss - before) / int(tags))
"""


def write_tags(folder: Path, tags: int, points: int = 1) -> Path:
    """Write a run with this many scalar tags, each with the same number of points."""
    events = EventBuffer()
    events.file_version(START)
    for step in range(points):
        for number in range(tags):
            events.scalar(f"tag-{number}", number + step / 2, step, START + step)
    write(folder, events)
    return folder


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tags(tmp_path_factory.mktemp("many"), MANY)


def measure(small: Path, large: Path) -> float:
    """Return the number of bytes per tag that are needed to open a log with many tags."""
    command = [sys.executable, "-c", _MEASURE, str(small), str(large), str(MANY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.fault(71)
def test_a_tag_takes_at_most_400_bytes_to_open(many: Path, tmp_path: Path) -> None:
    assert 0 < measure(write_tags(tmp_path, 10), many) <= 400


def test_a_tag_with_four_points_takes_at_most_400_bytes_to_open(tmp_path: Path) -> None:
    small = write_tags(tmp_path / "small", 10)
    assert 0 < measure(small, write_tags(tmp_path / "large", MANY, 4)) <= 400


def test_a_tag_in_a_pack_takes_at_most_400_bytes_to_open(many: Path, tmp_path: Path) -> None:
    small = pack(write_tags(tmp_path / "small", 10), "small.parquet")
    large = pack(shutil.copytree(many, tmp_path / "large"), "large.parquet")
    assert 0 < measure(small, large) <= 400


@pytest.mark.parametrize("points", [1, 2, 4, 5, 33])
def test_every_point_of_many_tags_is_read(tmp_path: Path, points: int) -> None:
    run = rf.open(write_tags(tmp_path, 1_100, points))["."]
    assert (len(run), run.points, run.hidden) == (1_100, 1_100 * points, 0)
    assert list(run) == [f"tag-{number}" for number in range(1_100)]
    assert "tag-1100" not in run
    for number in (0, 1, 999, 1_099):
        series = run[f"tag-{number}"]
        np.testing.assert_array_equal(series.steps, np.arange(points))
        np.testing.assert_array_equal(series.values, number + np.arange(points) / 2)
        np.testing.assert_array_equal(series.wall_times, START + np.arange(points))
        assert not series.values.flags.writeable
    assert len(run.scalars()) == 1_100 * points


def test_many_tags_grow_and_restart_like_few(tmp_path: Path) -> None:
    counts = []
    for tags in (900, 1_100):
        folder = write_tags(tmp_path / str(tags), tags, 3)
        runs = rf.open(folder)
        assert runs["."]["tag-5"].steps.tolist() == [0, 1, 2]
        events = EventBuffer()
        events.session_start(2, START + 2)
        for number in (5, tags):
            events.scalar(f"tag-{number}", 9.0, 2, START + 9)
        with open(folder / "events.out.tfevents.1", "ab") as file:
            file.write(events.getvalue())
        assert runs.refresh().points == 2
        run = runs["."]
        assert run["tag-5"].values.tolist() == [5.0, 5.5, 9.0]
        assert run["tag-6"].steps.tolist() == [0, 1]
        assert run[f"tag-{tags}"].values.tolist() == [9.0]
        counts.append((len(run) - tags, run.points - 2 * tags, run.hidden - tags))
    assert counts == [(1, 2, 0), (1, 2, 0)]


# Views


@pytest.mark.fault(71)
def test_ls_and_table_show_the_first_tags_and_say_so(
    many: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ls", str(many)]) == 0
    shown = capsys.readouterr()
    assert "100000 scalar" in shown.out
    assert shown.err == "1 run, 100,000 points, 4.5 MB.\n"
    assert main(["ls", "--tags", str(many)]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 1 + MOST_TAGS
    assert "Run '.' has 100,000 tags; these are the first 1,000. --json lists all." in shown.err
    assert main(["table", str(many)]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()[0].split()) == 5 + MOST_TAGS
    assert (
        "There are 100,000 scalar tags; only the first 1,000 are shown. Choose others with"
        " --last or --columns, or print all tags with --csv."
    ) in shown.err


def test_tags_after_the_first_can_be_selected(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    folder = str(write_tags(tmp_path, 1_100))
    assert main(["table", folder, "--json", "--columns", "tag-1099"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"run": ".", "tag-1099": 1099.0}]
    for choice in (["--columns", "tag-1099"], ["--last", "tag-1099"]):
        assert main(["table", folder, "--sort", "tag-1098", *choice]) == 0
        shown = capsys.readouterr()
        assert "tag-1099" in shown.out
        assert (shown.out.split()[-1], "first 1,000" in shown.err) == ("1099", False)
    assert main(["table", folder, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)[0]) == 6 + 1_100 - 1
    assert main(["ls", folder, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"][0]["tags"]) == 1_100
    assert len(rf.open(folder).table().columns) == 5 + 1_100


@pytest.mark.fault(71)
def test_the_server_lists_the_first_tags_and_says_how_many_there_are(many: Path) -> None:
    client = Client(many)
    tags = client.get("/api/tags")
    assert [tag["tag"] for tag in tags["kinds"]["scalar"]] == [f"tag-{n}" for n in range(MOST_TAGS)]
    assert tags["leftOut"] == {"scalar": MANY - MOST_TAGS}
    assert client.get("/api/status")["kinds"] == {"scalar": MANY}
    table = client.get("/api/table", stat="last")
    assert [name for name in table.column_names if "tag-" in name] == [
        f"tag-{number}" for number in range(MOST_TAGS)
    ]
    assert table["steps"].to_pylist() == [0]
    assert json.loads(table.schema.metadata[b"leftOut"]) == {"scalar": MANY - MOST_TAGS}
    run = client.get("/api/run", run=".")
    assert run["tags"]["scalar"] == [f"tag-{number}" for number in range(MOST_TAGS)]
    assert run["tagsLeftOut"] == {"scalar": MANY - MOST_TAGS}


@pytest.mark.fault(71)
def test_a_report_contains_the_first_tags_and_says_so(many: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    assert main(["report", str(many), "-o", str(output)]) == 0
    assert "99,000 more scalar tags are not in this report." in output.read_text()
    assert output.stat().st_size < 10_000_000

"""`runfold report`."""

import pytest
from helpers.cli_runs import losses, write
from helpers.reports import Held

from runfold._cli import main


@pytest.fixture
def logdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs" / "seed-1", losses(0.5, 0.25))
    write(tmp_path / "runs" / "seed-2", losses(0.5, 0.125, tag="val/loss"))
    return tmp_path / "runs"


def refuse(capsys, *args):
    assert main(["report", *args]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_a_report_is_written_and_its_path_printed(logdir, tmp_path, capsys):
    assert main(["report", "runs"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "report.html\n"
    assert printed.err.startswith("Wrote ")
    held = Held((tmp_path / "report.html").read_text())
    assert held.table("GET", "/api/table")["run"].to_pylist() == ["seed-1", "seed-2"]


def test_where_and_the_condition_of_the_view_both_apply(logdir, tmp_path):
    view = "http://127.0.0.1:6006/?tab=runs&where=steps > 0 or points > 100"
    condition = "last['val/loss'] < 1"
    assert main(["report", "runs", "-o", "a/b.html", "--view", view, "--where", condition]) == 0
    held = Held((tmp_path / "a" / "b.html").read_text())
    assert held.table("GET", "/api/table")["run"].to_pylist() == ["seed-2"]
    assert held.document["view"] == "tab=runs"


def test_an_existing_file_stays_without_overwrite(logdir, tmp_path, capsys):
    (tmp_path / "report.html").write_text("mine")
    assert "Use --overwrite" in refuse(capsys, "runs")
    assert (tmp_path / "report.html").read_text() == "mine"
    assert main(["report", "runs", "-f"]) == 0


def test_errors_are_one_line_and_nothing_is_written(logdir, tmp_path, capsys):
    assert "Did you mean 'isFolded'?" in refuse(capsys, "runs", "--view", "isFoldd=true")
    assert "none of the 2 runs" in refuse(capsys, "runs", "--view", "search=zzz")
    assert "stepz" in refuse(capsys, "runs", "--where", "stepz > 1")
    assert "nowhere" in refuse(capsys, "nowhere")
    (tmp_path / "empty").mkdir()
    assert refuse(capsys, "empty").startswith("No runs in 'empty'")
    assert not list(tmp_path.glob("*.html"))

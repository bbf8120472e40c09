"""Which runs a real TensorBoard shows, and to whom."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from helpers.boards import PREFIX, Child, serving, until, write_losses

from runfold._serve.tensorboards.child import pause_after
from runfold._serve.tensorboards.instance_runs import Sources

ODD = 'two words, it\'s "odd": größe/日本'


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logs") / 'it\'s, a: "größe" $HOME'
    for name in ("chosen/a", "chosen/a/below", "other/a", "other/b", ODD):
        write_losses(logdir / name, 0, 1, 2)
    write_losses(logdir / "long", *range(50_000))
    return logdir


@pytest.fixture(scope="module")
def board(logdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    sources = Sources(
        (str(logdir),), runs=(ODD, "other/b", "long"), experiments=("chosen", "gone", "later")
    )
    state = tmp_path_factory.mktemp("state") / 'O\'Neill, "größe": a'
    with serving(state, sources) as child:
        until(lambda: len(child.tags()) >= 5)
        yield child


def test_exactly_the_selected_runs_are_shown(board: Child) -> None:
    shown = ["chosen/a", "chosen/a/below", "long", "other/b", ODD]
    assert [run for run in board.runs() if not run.startswith(("later", "gone"))] == shown
    assert {run: board.tags()[run] for run in shown} == {run: ["loss"] for run in shown}
    assert board.steps(ODD) == [0, 1, 2]


def test_every_point_of_a_long_series_is_shown(board: Child) -> None:
    assert until(lambda: board.steps("long")) == list(range(50_000))


def test_runs_and_files_that_appear_later_are_shown(board: Child, logdir: Path) -> None:
    write_losses(logdir / "later" / "x", 0)
    until(lambda: board.steps("later/x") == [0])
    write_losses(logdir / "later" / "x", 1, 2, number=2)
    until(lambda: board.steps("later/x") == [0, 1, 2])
    shutil.rmtree(logdir / "later")
    until(lambda: "later/x" not in board.runs())


@pytest.mark.parametrize("path", ["/", "/data/runs", "/runfold/health", "/runfold/page.js", "/x"])
def test_nothing_is_revealed_without_the_key(board: Child, path: str) -> None:
    wrong = [{}, {"X-Runfold-Key": ""}, {"X-Runfold-Key": "the kez"}, {"X-Runfold-Key": "k\xe9"}]
    for headers in wrong:
        assert board.ask(path, **headers) == (403, b"Forbidden\n")
    assert board.ask(path, "POST") == (403, b"Forbidden\n")


def test_only_this_machine_can_reach_it(board: Child) -> None:
    assert board.process is not None
    itself = psutil.Process(board.process.pid)
    listening = {
        connection.laddr.ip
        for process in (itself, *itself.children())
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening <= {"127.0.0.1", "::1"}


def test_the_fast_loader_is_used(board: Child) -> None:
    assert board.process is not None
    (loader,) = psutil.Process(board.process.pid).children()
    assert "tensorboard_data_server" in loader.exe()
    assert "fast data loading" in board.log


def test_the_page_enables_auto_reload_before_tensorboard_starts(board: Child) -> None:
    page = board.get("/").decode()
    assert page.count("<script") == page.count("</script>")
    assert page.index('<script src="runfold/page.js">') == page.index("<script")
    assert board.get("/index.html").decode().count("runfold/page.js") == 1
    script = board.get("/runfold/page.js").decode()
    assert "_tb_global_settings" in script
    assert "autoReload: true" in script


def test_a_disconnected_client_does_not_count_as_use_forever(board: Child) -> None:
    board.say_page("closed")
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", board.port)) as connection:
            lines = [f"GET {PREFIX}/index.js HTTP/1.1", "Host: x", f"X-Runfold-Key: {board.key}"]
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            connection.recv(10)
    until(lambda: board.health()["idle"] > 0)


def test_health_reports_usage_and_open_pages(board: Child) -> None:
    before = board.health()
    board.runs()
    board.say_page("open", "a")
    board.say_page("open", "a")
    board.say_page("open", "b")
    after = board.health()
    assert after["requests"] == before["requests"] + 1
    assert (after["open_pages"], after["idle"]) == (before["open_pages"] + 2, 0.0)
    board.say_page("closed", "a")
    assert board.say_page("closed", "b") == 204
    assert board.health()["open_pages"] == before["open_pages"]
    assert board.ask("/runfold/page", **{"X-Runfold-Key": board.key})[0] == 405


@pytest.mark.parametrize(
    ("took", "is_remote", "pause"),
    [(0.01, False, 2), (60, False, 1200), (0.01, True, 5), (1, True, 20), (300, True, 30)],
)
def test_pause_grows_with_the_search_time_up_to_a_limit_for_stores(took, is_remote, pause):
    assert pause_after(took, is_remote) == pause


def test_a_deleted_logdir_is_reported_and_can_come_back(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    with serving(tmp_path / "state", Sources((str(logdir),))) as child:
        until(lambda: child.health()["problem"] == f"No such folder: {logdir}.")
        assert child.health()["runs"] == 0
        write_losses(logdir / "a", 0)
        until(lambda: child.steps("a") == [0])
        shutil.rmtree(logdir)
        until(lambda: child.health()["runs"] == 0)
        until(lambda: child.runs() == [])
        assert f"runfold: No such folder: {logdir}." in child.log


def test_an_instance_over_the_home_folder_does_not_show_its_own_tree(tmp_path: Path) -> None:
    home = tmp_path / "home"
    state = home / ".local/state/runfold/tensorboards/0123abcd"
    state.parent.mkdir(parents=True)
    expected = []
    with serving(state, Sources((str(home),)), HOME=str(home), XDG_STATE_HOME="") as child:
        # Each run appears after another search of the home folder, which now contains the tree.
        for number in range(3):
            write_losses(home / f"run-{number}", 1)
            expected.append(f"run-{number}")
            until(lambda: child.health()["runs"] > number)  # noqa: B023
            until(lambda: child.steps(expected[-1]))
            assert (child.health()["runs"], child.runs()) == (number + 1, expected)

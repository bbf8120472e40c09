"""`runfold serve` from a user's point of view: the link, errors, and how it ends."""

import os
import pty
import re
import shutil
import signal
import socket
import stat
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from helpers.cli_runs import RUNFOLD
from helpers.logs import scalars, write
from helpers.packs import pack
from helpers.servers import Loopback, serving

import runfold
from runfold._cli import main
from runfold._serve.server import CannotServe, listen, listen_privately


@pytest.fixture
def logdir(tmp_path):
    write(tmp_path / "logs" / "seed-1", scalars("loss", (0, 1.0)))
    write(tmp_path / "logs" / "seed-2", scalars("loss", (0, 2.0)))
    return tmp_path / "logs"


def test_link_logs_a_browser_in_and_is_replaced(logdir):
    with serving(logdir) as served, served.browse() as browser:
        first = served.link
        assert re.fullmatch(r"http://[0-9a-f]{32}\.localhost:\d+/login\?token=[\w-]{43}", first)
        assert browser.get("/api/status").status_code == 403
        assert browser.get(first).status_code == 303
        assert browser.get("/api/status").json()["runs"] == 2
        assert served.link != first
        with served.browse() as other:
            assert other.get(served.link).status_code == 303


def test_rule_33_links_are_in_a_private_file_if_stderr_is_not_a_terminal(logdir):
    with serving(logdir) as served, served.browse() as browser:
        address, file, _ = served.lines
        assert address == f"Serving 2 runs at {served.url}\n"
        path = Path(file.removeprefix("The login link is in ").partition(", which only")[0])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        browser.get(served.link)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        # Nothing else is printed, and the output contains neither a ticket nor the name.
        assert served.end(signal.SIGTERM) == (143, "")
        assert "localhost" not in "".join(served.lines)
    assert not path.exists()


def test_rule_33_links_are_printed_on_a_terminal(logdir):
    ours, theirs = pty.openpty()
    command = [*RUNFOLD, "serve", "--port", "0", "--no-browser", str(logdir)]
    with subprocess.Popen(command, stderr=theirs) as process, open(ours) as terminal:
        os.close(theirs)
        try:
            link = terminal.readline().strip().removeprefix("Serving 2 runs at ")
            assert terminal.readline() == "Press Ctrl-C to stop.\n"
            with httpx.Client(transport=Loopback()) as browser:
                assert browser.get(link).status_code == 303
                before, _, ticket = link.partition("token=")
                line = terminal.readline().strip()
                assert line.startswith(f"For another browser: {before}token=")
                assert ticket not in line
        finally:
            process.terminate()


def test_state_folder_that_cannot_be_written_is_one_line(logdir, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert main(["serve", str(logdir), "--port", "0", "--no-browser"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "stderr is not a terminal, and the login link could not be saved" in error
    assert error.endswith(
        "Not a directory. Set XDG_STATE_HOME to a folder that you can write to.\n"
    )


def test_login_works_with_a_closed_stderr(logdir):
    with serving(logdir) as served, served.browse() as browser:
        served.process.stderr.close()
        assert browser.get(served.link).status_code == 303
        assert browser.get("/api/status").json()["runs"] == 2


def test_link_redirects_to_the_private_name_from_every_name_of_this_machine(logdir):
    with serving(logdir) as served, served.browse() as browser:
        link = served.link
        path = link.partition(str(served.port))[2]
        # The port belongs to a tunnel that the server does not know about.
        for host, port in (("127.0.0.1", ":7000"), ("localhost", ":7000"), ("localhost", "")):
            answer = httpx.get(f"{served.url}{path}", headers={"Host": host + port})
            name = urlsplit(served.page).hostname
            assert (answer.status_code, answer.cookies) == (303, {})
            assert answer.headers["location"] == f"http://{name}{port}{path}"
        # The name is not revealed without a ticket.
        for wrong in ("/login", "/login?token=x", "/"):
            answer = httpx.get(f"{served.url}{wrong}")
            assert answer.status_code == 403
            assert name not in f"{answer.headers}{answer.text}"
        # The ticket is still valid.
        assert browser.get(link).status_code == 303


def test_rule_32_a_cookie_is_invalid_under_another_name(logdir):
    with serving(logdir) as served, served.browse() as browser:
        (cookie,) = browser.get(served.link).cookies.items()
        headers = {"Cookie": "=".join(cookie)}
        for host in ("127.0.0.1", "localhost", "[::1]"):
            named = {**headers, "Host": f"{host}:{served.port}"}
            assert httpx.get(f"{served.url}/api/status", headers=named).status_code == 403
        named = {**headers, "Host": urlsplit(served.page).netloc}
        assert httpx.get(f"{served.url}/api/status", headers=named).status_code == 200


def test_explicit_host_is_used_for_the_page_with_a_warning(logdir):
    with serving(logdir, "--host", "127.0.0.1") as served, served.browse() as browser:
        assert served.page == served.url
        assert served.lines[0].startswith(f"A browser sends the cookie of {served.url} to every")
        assert browser.get(served.link).status_code == 303
        assert browser.get("/api/status").status_code == 200


def test_rules_1_and_32_only_both_loopback_addresses_are_used(logdir):
    known = [host for host in ("127.0.0.1", "::1") if _is_available(host)]
    with serving(logdir) as served, listen(known[-1], 0) as other:
        listening = psutil.Process(served.process.pid).net_connections("inet")
        bound = {connection.laddr for connection in listening}
        assert bound == {(host, served.port) for host in known}
        # Another server on the same port of the other address would get the cookie.
        for address in known:
            with pytest.raises(CannotServe, match="is in use"):
                listen(address, served.port)
        with pytest.raises(CannotServe, match="is in use"):
            listen_privately(other.getsockname()[1])


def _is_available(address):
    try:
        listen(address, 0).close()
    except CannotServe:  # a machine without IPv6
        return False
    return True


def test_missing_page_is_reported_and_the_rest_works(logdir, tmp_path, monkeypatch):
    package = Path(runfold.__file__).parent
    shutil.copytree(package, tmp_path / "runfold", ignore=shutil.ignore_patterns("page"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with serving(logdir) as served, served.browse() as browser:
        assert served.lines[0].startswith("This installation of Runfold does not include the page")
        browser.get(served.link)
        page = browser.get("/")
        assert page.status_code == 503
        assert page.text in "".join(served.lines)
        assert browser.get("/api/status").json()["runs"] == 2


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_server_ends_cleanly_with_open_connections(logdir, ending):
    with serving(logdir) as served:
        idle = served.connect("")
        half = served.connect("GET /api/status HTTP/1.1\r\nHost: loc")
        with idle, half:
            httpx.get(f"{served.url}/api/status")
            status, rest = served.end(ending)
    assert (status, rest) == (128 + ending, "")


def test_token_file_is_deleted_when_the_server_ends(logdir, tmp_path):
    file = tmp_path / "token"
    with serving(logdir, "--token-file", file) as served:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        headers = {"Authorization": f"Bearer {file.read_text()}"}
        assert httpx.get(f"{served.url}/api/status", headers=headers).status_code == 200
        served.end(signal.SIGTERM)
    assert not file.exists()


def test_rule_7_no_argument_or_variable_contains_a_secret(logdir, tmp_path):
    with serving(logdir, "--token-file", tmp_path / "token") as served:
        secrets = [served.link.partition("token=")[2], (tmp_path / "token").read_text()]
        process = psutil.Process(served.process.pid)
        shown = [*process.cmdline(), *process.environ().values()]
        assert not [text for text in shown for secret in secrets if secret in text]


def test_pack_is_served(logdir):
    with serving(pack(logdir)) as served, served.browse() as browser:
        browser.get(served.link)
        assert browser.get("/api/status").json()["runs"] == 2


def test_folder_without_runs_is_served(tmp_path):
    with serving(tmp_path) as served:
        assert served.lines[0] == (
            f"No runs in '{tmp_path}': no file there has 'tfevents' in its name. New runs will"
            " appear on the page.\n"
        )


def test_no_login_works_without_a_link(logdir):
    with serving(logdir, "--no-login") as served:
        assert served.link == f"{served.url}/"
        assert httpx.get(f"{served.url}/api/status").status_code == 200


def test_rule_1_another_address_prints_a_warning_and_needs_a_login(logdir):
    with serving(logdir, "--host", "0.0.0.0") as served:
        assert served.lines[0].startswith(
            "Warning: other machines can connect to 0.0.0.0. They need the link"
        )
        assert f"http://{socket.gethostname()}:{served.port}/login?token=" in served.link
        for host in (socket.gethostname(), "127.0.0.1"):
            answer = httpx.get(f"{served.url}/api/status", headers={"Host": host})
            assert answer.status_code == 403
        with httpx.Client(base_url=served.url, headers={"Host": socket.gethostname()}) as browser:
            browser.get(served.link.partition(str(served.port))[2])
            assert browser.get("/api/status").status_code == 200
            evil = browser.get("/api/status", headers={"Host": "evil.example"})
            assert evil.status_code == 403


def test_rule_2_other_machines_always_need_a_login(logdir, capsys):
    assert main(["serve", str(logdir), "--host", "0.0.0.0", "--port", "0", "--no-login"]) == 2
    assert capsys.readouterr().err == (
        "--no-login works only on this machine, but other machines can connect to 0.0.0.0."
        " Remove --no-login or --host.\n"
    )


def test_taken_port_is_one_line(logdir, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", str(logdir), "--port", str(port)]) == 2
    message = f"Port {port} is in use. Pass another with --port, or --port 0 for any free port.\n"
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--host", "no.such.host.invalid"], "Cannot resolve host 'no.such.host.invalid'"),
        (["--host", "192.0.2.1"], "'192.0.2.1' is not an address of this machine. Omit --host"),
        (
            ["--port", "70000"],
            "runfold serve: argument --port: expected a port from 0 to 65535, got",
        ),
        (["--poll", "0"], "runfold serve: argument --poll: expected 0.1 to 86400 seconds, got '0'"),
        (["--token-file", "nowhere/token"], "nowhere/token: No such file or directory"),
        (["--token-file", "seed-1"], "logs/seed-1: Is a directory"),
    ],
)
def test_wrong_options_are_one_line(logdir, capsys, args, message, monkeypatch):
    monkeypatch.chdir(logdir)
    assert main(["serve", ".", "--no-browser", *args]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(message) or message in error


def test_wrong_path_is_one_line_with_the_near_match(logdir, capsys, monkeypatch):
    monkeypatch.chdir(logdir.parent)
    assert main(["serve", "lgos"]) == 2
    assert capsys.readouterr().err == "No logdir 'lgos'. Did you mean 'logs'?\n"


def test_rule_7_a_browser_gets_the_link_in_a_file_that_only_the_user_can_read(logdir, tmp_path):
    pipe, script = tmp_path / "pipe", tmp_path / "browser"
    os.mkfifo(pipe)
    script.write_text(f'#!/bin/sh\necho "$1" > "{pipe}"\n')
    script.chmod(0o700)
    with serving(logdir, browser=script) as served:
        opened = Path(urlsplit(pipe.read_text().strip()).path)
        assert served.link in opened.read_text()
        assert stat.S_IMODE(opened.stat().st_mode) == 0o600
        assert stat.S_IMODE(opened.parent.stat().st_mode) == 0o700
        served.end(signal.SIGTERM)
    assert not opened.parent.exists()

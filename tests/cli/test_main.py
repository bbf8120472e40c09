"""Properties of all commands: help, errors, closed pipes and Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.checkout import ROOT
from helpers.cli_runs import RUNFOLD, losses, run_apart, run_in_terminal, write

import runfold
from runfold._cli import main
from runfold._cli.commands import find_commands, summarize_command
from runfold._cli.parser import load

GUIDES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PROMPTS = ["\nExample:\n  ", "\nExit status: "]


def help_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([name, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", find_commands())
def test_help_has_an_imperative_line_an_example_and_exit_codes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = help_of(name, capsys)
    assert load(name).HELP.startswith(summarize_command(name) + "\n\n")
    assert all(part in shown for part in PROMPTS)
    assert f"runfold {name} " in shown.partition("\nExample:\n")[2]
    assert max(map(len, shown.split("\n"))) <= 80


@pytest.mark.parametrize("name", find_commands())
def test_every_option_states_its_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = help_of(name, capsys).partition("\nOptions:\n")[2].split("\n  -")
    stated = ("Default:", "Required.", "-help")
    assert [option for option in options if not any(part in option for part in stated)] == []


@pytest.mark.parametrize("name", find_commands())
def test_a_guide_mentions_every_command(name: str) -> None:
    assert any(f"runfold {name}" in page.read_text(encoding="utf-8") for page in GUIDES)


def test_help_does_not_break_a_name_at_a_hyphen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--help"]) == 0
    assert "cmp-overall-pairs.csv" in capsys.readouterr().out


def test_top_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name:<13}{summarize_command(name)}\n" in shown for name in find_commands())


def test_version_matches_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"runfold {runfold.__version__}\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["lss"], "No command 'lss'. Did you mean 'ls'? See `runfold --help`."),
        (["--json"], "runfold: a command must come first. See `runfold --help`."),
        (
            ["ls", "--jsn", "."],
            "runfold ls: unrecognized arguments: --jsn. Did you mean '--json'?"
            " See `runfold ls --help`.",
        ),
        (
            ["trials"],
            "runfold trials: the following arguments are required: EXPERIMENT."
            " See `runfold trials --help`.",
        ),
        (
            ["show", ".", "a", "b", "--step", "x"],
            "runfold show: argument --step: invalid int value: 'x'. See `runfold show --help`.",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    assert capsys.readouterr() == ("", message + "\n")


def test_options_can_come_between_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", losses(1.0))
    write(tmp_path / "-b", losses(1.0))
    assert main(["sql", str(tmp_path), "--csv", "select 1 as one"]) == 0
    assert capsys.readouterr().out == "one\n1\n"
    assert main(["ls", str(tmp_path / "a"), "--tags", str(tmp_path / "-b")]) == 0
    assert capsys.readouterr().out.count("train/loss") == 2
    done = run_apart("ls", "--tags", "a", "--", "-b", cwd=tmp_path)
    assert done.stdout.count("train/loss") == 2


@pytest.mark.parametrize("args", [["ls"], ["check"], ["show", "tag"]])
def test_wrong_path_is_one_line_with_the_near_match(args: list[str], tmp_path: Path) -> None:
    write(tmp_path / "runs" / "a", losses(1.0))
    done = run_apart(args[0], "rnus", *args[1:], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "No logdir 'rnus'. Did you mean 'runs'?\n"


@pytest.mark.parametrize(
    "args",
    [
        ["ls", "runs"],
        ["table", "runs"],
        ["show", "runs", "train/loss"],
        ["sql", "runs", "select count(*) from scalars"],
        ["compare", "runs", "--tag", "train/loss"],
        ["plot", "runs"],
        ["reduce", "runs", "-o", "out.csv"],
        ["export", "runs", "-o", "out.csv"],
    ],
)
def test_every_command_notes_problems_of_a_damaged_log(args: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "runs" / "a", losses(1.0, 2.0, 3.0))
    data = bytearray(path.read_bytes())
    data[-6] ^= 1  # in the last payload
    path.write_bytes(data)
    done = run_apart(*args, cwd=tmp_path)
    assert done.returncode == 0
    assert "Found 1 problem. `runfold check runs` lists it.\n" in done.stderr


def test_no_command_shows_the_help_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"Commands:\n  {next(iter(find_commands()))} " in shown.err


@pytest.mark.parametrize("command", ["ls", "check", "show"])
def test_closed_pipe_prints_no_error(command: str, tmp_path: Path) -> None:
    for number in range(20):
        write(tmp_path / f"{'run' * 30}-{number}", losses(*[1.0] * 50))
    name = f"{'run' * 30}-1"
    args = {"ls": ["--tags"], "check": ["--json"], "show": [name, "train/loss", "--csv"]}[command]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*RUNFOLD, command, str(tmp_path), *args],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_head_gets_its_line(tmp_path: Path) -> None:
    write(tmp_path / "a", losses(1.0))
    command = f'"{sys.executable}" -m runfold ls "{tmp_path}" 2>&1 | head -1'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "run"
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_without_a_message(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*RUNFOLD, "demo", str(tmp_path / "demo")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Training ")
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in rest


def test_a_terminated_job_leaves_no_partial_output(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a", losses(1.0))
    script = """if True:
        import signal, sys
        from runfold._cli import main
        from runfold._pack import pack_writer
        def wait(*args, **options):
            print("packing", flush=True)
            signal.pause()
        pack_writer.write_pack = wait
        sys.argv[1:] = ["pack", "logs"]
        sys.exit(main())
    """
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "packing\n"
        process.send_signal(signal.SIGTERM)
        out, rest = process.communicate(timeout=60)
    assert (process.returncode, out, rest) == (143, "", "")
    assert os.listdir(tmp_path) == ["logs"]


def test_output_in_an_encoding_without_the_characters_is_escaped(tmp_path: Path) -> None:
    write(tmp_path, losses(1.0, 2.0, tag="verlust/größe→"))
    done = run_apart("show", str(tmp_path), "verlust/größe→", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert done.stdout.startswith("verlust/gr\\xf6\\xdfe\\u2192 in run .: scalar, 2 points")
    assert "*" in done.stdout


def test_nothing_from_a_log_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    events = losses(1.0, tag="\x1b[31mred\x07[bold]")
    write(tmp_path / "a", events)
    status, shown = run_in_terminal(100, "ls", "--tags", str(tmp_path), NO_COLOR="1")
    assert status == 0
    assert "\x1b" not in shown
    assert "\\x1b[31mred\\x07[bold]" in shown


@pytest.mark.parametrize("command", ["ls", "check"])
def test_listing_and_checking_scalars_need_no_heavy_package(command: str, tmp_path: Path) -> None:
    write(tmp_path / "a", losses(1.0))
    code = "import sys; from runfold._cli import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, command, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "numpy" in loaded
    assert not loaded & {"pandas", "tensorboard", "google", "PIL", "tqdm"}


def test_too_little_memory_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path / "small", losses(1.0, 2.0))
    write(tmp_path / "large", losses(*range(500_000)))
    script = """if True:
        import contextlib, io, resource, sys
        from runfold._cli import main
        with contextlib.redirect_stdout(io.StringIO()):  # imports what the command needs
            assert main(["show", sys.argv[1] + "/small", "train/loss"]) == 0
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 20), resource.RLIM_INFINITY))
        sys.exit(main(["show", sys.argv[1] + "/large", "train/loss"]))
    """
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True
    )
    message = "Not enough memory. Select fewer runs, tags or steps.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize(
    "args",
    [
        ["tensorboard", "list"],
        ["tensorboard", "start", "--logdir", "runs", "--detach"],
        ["experiments", "--logdir", "runs"],
    ],
)
def test_the_message_for_an_unwritable_home_names_the_variable(
    args: list[str], tmp_path: Path
) -> None:
    write(tmp_path / "runs" / "a", losses(1.0))
    # Root can write anywhere, but cannot create a folder below a file.
    (tmp_path / "home").write_text("")
    (tmp_path / "runs" / ".runfold").symlink_to(tmp_path / "home")
    done = run_apart(*args, cwd=tmp_path, XDG_STATE_HOME=str(tmp_path / "home"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(". Set XDG_STATE_HOME to a folder that you can write to\n")
    assert "Traceback" not in done.stderr

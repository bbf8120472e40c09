"""The logdir of a command: an argument, `--logdir`, or the default."""

from pathlib import Path

import pytest
from helpers.cli_runs import losses, write

from runfold._cli import main

RUNS = "Reading the folder 'runs'. Use --logdir to read another.\n"
HERE = "No folder 'runs' here: reading the current folder. Use --logdir to read another.\n"

# Commands whose output does not depend on how the logdir is passed; {} is replaced by the logdir.
COMMANDS = [
    ["ls", "{}"],
    ["check", "{}"],
    ["table", "{}", "--csv"],
    ["show", "{}", "a", "train/loss", "--csv"],
    ["show", "{}", "train/loss", "--csv"],
    ["sql", "{}", "select run from runs", "--csv"],
    ["reduce", "{}", "-o", "out.csv", "-f"],
    ["compare", "{}", "--tag", "train/loss", "--json"],
    ["plot", "{}", "--tag", "train/loss"],
    ["diff", "{}", "a", "a", "--json"],
    ["export", "{}", "-o", "out.csv", "-f"],
    ["edit", "{}", "--every", "2", "--dry-run"],
    ["repair", "{}", "--dry-run"],
    ["pack", "{}", "-o", "out.parquet", "-f"],
    ["report", "{}", "-o", "out.html", "-f"],
]
# Commands that accept only --logdir.
NAMED = [
    ["experiments", "list", "--json"],
    ["experiments", "show", "a"],
    ["trials", "a"],
    ["trials", "a", "--json"],
    ["stop", "a"],
]


def run(words: list[str], place: list[str], capsys: pytest.CaptureFixture[str]) -> tuple:
    argv = [part for word in words for part in (place if word == "{}" else [word])]
    return main(argv), *capsys.readouterr()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", ["runs", "."])
def test_the_logdir_is_an_argument_an_option_or_the_default(
    words: list[str],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / name / "a", losses(1.0, 2.0, 3.0))
    monkeypatch.chdir(tmp_path)
    status, out, notes = run(words, [name], capsys)
    assert status == 0, notes
    assert run(words, ["--logdir", name], capsys) == (status, out, notes)
    if words[0] == "diff" and name == ".":
        return  # here the folder a is the run itself
    if words[:3] == ["show", "{}", "a"] and name == ".":
        return  # here the folder a is the run itself
    assert run(words, [], capsys) == (status, out, (RUNS if name == "runs" else HERE) + notes)


@pytest.mark.parametrize("words", NAMED, ids=" ".join)
@pytest.mark.parametrize("name", ["runs", "."])
def test_the_default_is_noted_once_for_commands_without_logdir_arguments(
    words: list[str],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / name / "a", losses(1.0, 2.0, 3.0))
    monkeypatch.chdir(tmp_path)
    status, out, notes = run([*words, "--logdir", name], [], capsys)
    if words[0] == "stop" and name == ".":
        return  # here the folder a is the run itself
    assert run(words, [], capsys) == (status, out, (RUNS if name == "runs" else HERE) + notes)


def test_stop_prints_no_default_for_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "other" / "a", losses(1.0))
    monkeypatch.chdir(tmp_path)
    assert main(["stop", "other/a"]) == 2
    assert "reading" not in capsys.readouterr().err


def test_unpack_takes_the_pack_as_an_argument_or_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "runs" / "a", losses(1.0, 2.0))
    monkeypatch.chdir(tmp_path)
    assert main(["pack", "runs", "-o", "logs.parquet"]) == 0
    assert main(["unpack", "--logdir", "logs.parquet", "-o", "copy"]) == 0
    (original,), (copy,) = (list((tmp_path / name / "a").iterdir()) for name in ("runs", "copy"))
    assert copy.read_bytes() == original.read_bytes()
    capsys.readouterr()
    assert main(["unpack"]) == 2
    assert capsys.readouterr().err == "Specify the pack to unpack.\n"
    assert main(["unpack", "logs.parquet", "--logdir", "logs.parquet"]) == 2


@pytest.mark.parametrize("words", [["ls", "{}"], ["edit", "{}", "--every", "2", "-o", "new"]])
def test_an_argument_together_with_the_option_is_rejected(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [str(tmp_path), "--logdir", str(tmp_path)]
    message = "Pass the logdir as an argument or with --logdir, not both.\n"
    assert run(words, both, capsys) == (2, "", message)


def test_an_empty_option_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "--logdir", ""]) == 2
    message = "--logdir is empty. Omit it or specify a folder.\n"
    assert capsys.readouterr() == ("", message)


def test_edit_rejects_several_logdirs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(tmp_path), str(tmp_path), "--dry-run"]) == 2
    assert capsys.readouterr() == ("", "This command accepts only one logdir.\n")


@pytest.mark.parametrize("words", [*COMMANDS, *NAMED, ["tensorboard", "start"]], ids=" ".join)
def test_the_help_mentions_the_argument_only_if_there_is_one(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    is_argument = "{}" in words
    main([word for word in words if word != "{}"] + ["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "--logdir LOGDIR The logdir, as an alternative to the positional argument. Default:" in text
    ) == is_argument
    assert ("--logdir LOGDIR The logdir. Default:" in text) != is_argument

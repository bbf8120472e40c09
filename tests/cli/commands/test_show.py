"""`runfold show`: the values it finds, and how it shows them."""

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.cli_runs import START, losses, png, run_in_terminal, write, write_kinds
from torch.utils.tensorboard import SummaryWriter

from runfold._cli import kind_views, main, terminal
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values
from runfold._plot import terminal_curves


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write_kinds(tmp_path / "runs" / "seed-1")
    return tmp_path / "runs"


def show(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert main(["show", *map(str, args)]) == 0
    return capsys.readouterr().out


def complaint(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert main(["show", *map(str, args)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


def test_scalar_is_shown_as_a_curve_and_a_table(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = show(capsys, logdir, "seed-1", "train/loss").splitlines()
    assert shown[0] == "train/loss in run seed-1: scalar, 3 points, steps 0..2"
    assert shown[2].startswith("   0.5 │")
    assert shown[16].startswith(" 0.125 │")
    assert [line.split()[:2] for line in shown[20:]] == [
        ["step", "value"],
        ["0", "0.5"],
        ["1", "0.25"],
        ["2", "0.125"],
    ]


def test_long_series_shows_both_ends_and_all_points_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, losses(*np.linspace(0, 1, 100)))
    assert "... 90 more; --all lists them ..." in show(capsys, tmp_path, "train/loss")
    shown = show(capsys, tmp_path, "train/loss", "--all")
    assert [line.split()[0] for line in shown.splitlines()[-100:]] == list(map(str, range(100)))


def test_run_can_be_omitted_if_there_is_only_one(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(capsys, logdir, "note") == show(capsys, logdir, "seed-1", "note")


def test_one_step(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(capsys, logdir, "train/loss", "--step", 1).splitlines()
    assert [line.split()[:2] for line in shown[1:]] == [["step", "value"], ["1", "0.25"]]


def test_csv_has_every_point_exactly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = EventBuffer()
    numbers = [0.1, math.nan, -math.inf, 1e-300]
    for step, number in enumerate(numbers):
        events.scalar_double("x", number, 2**62 + step, START + step / 3)
    write(tmp_path, events)
    head, *rows = csv.reader(io.StringIO(show(capsys, tmp_path, "x", "--csv")))
    assert head == ["step", "wall_time", "value"]
    assert [int(row[0]) for row in rows] == [2**62 + step for step in range(4)]
    assert [float(row[1]) for row in rows] == [START + step / 3 for step in range(4)]
    np.testing.assert_array_equal([float(row[2]) for row in rows], numbers)


def test_json_has_null_for_nan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, losses(0.5, math.nan, math.inf))
    found = json.loads(show(capsys, tmp_path, "train/loss", "--json"), parse_constant=pytest.fail)
    points = [(0, START, 0.5), (1, START + 1, None), (2, START + 2, None)]
    assert found == {
        "run": ".",
        "tag": "train/loss",
        "kind": "scalar",
        "hidden": 0,
        "values": [
            dict(zip(("step", "wall_time", "value"), point, strict=True)) for point in points
        ],
    }


@pytest.mark.parametrize("option", [[], ["--all"], ["--csv"], ["--json"], ["--step", "3"]])
def test_long_series_are_printed_in_blocks_without_a_difference(
    option: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(tmp_path, losses(*np.linspace(0, 1, 30), math.nan))
    whole = show(capsys, tmp_path, "train/loss", *option)
    for size in (1, 4, 31):
        monkeypatch.setattr(kind_views, "_BLOCK", size)
        monkeypatch.setattr(terminal, "_JSON_ENTRIES", size)
        monkeypatch.setattr(terminal_curves, "_BLOCK", size)
        assert show(capsys, tmp_path, "train/loss", *option) == whole


def test_non_finite_values_are_counted_but_not_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, losses(1.0, math.nan, 2.0, math.inf))
    assert main(["show", str(tmp_path), "train/loss"]) == 0
    assert capsys.readouterr().err == "2 values are NaN or infinite and not drawn.\n"
    write(tmp_path / "b", losses(math.nan, math.nan))
    assert main(["show", str(tmp_path / "b"), "train/loss"]) == 0
    assert "│" not in capsys.readouterr().out


def test_text_is_shown_line_by_line_and_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = losses()
    events.value(values.text("note", "one\ntwo\x1b[2J"), 0, START)
    events.value(values.text("note", [["a", "b"]]), 1, START)
    write(tmp_path, events)
    shown = show(capsys, tmp_path, "note")
    assert shown.startswith("note in run .: text, 2 values, steps 0..1\n\nstep 0, ")
    assert "\none\ntwo\\x1b[2J\n" in shown
    assert shown.endswith("\na\nb\n")


def test_last_image_is_described_and_others_are_mentioned(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(logdir), "picture"]) == 0
    shown = capsys.readouterr()
    assert f"\nstep 2, {_time(2)}\nimage 0: png, 4 x 2, {len(png())} B\n" in shown.out
    assert shown.err == "\n1 more step; --step N shows one, --all shows all.\n"
    assert "step 1, " in show(capsys, logdir, "picture", "--all")


def _time(seconds: float) -> str:
    from runfold._cli.render import format_time

    return format_time(START + seconds)


@pytest.mark.parametrize(
    ("env", "code"),
    [
        ({"COLORTERM": "truecolor"}, "\x1b[38;2;255;0;0;48;2;255;0;0m▀"),
        ({"COLORTERM": ""}, "\x1b[38;5;196;48;5;196m▀"),
    ],
)
def test_image_is_drawn_if_there_are_colors(env: dict[str, str], code: str, logdir: Path) -> None:
    status, shown = run_in_terminal(80, "show", str(logdir), "picture", NO_COLOR="", **env)
    assert status == 0
    assert f"\n{code * 4}\x1b[0m\n" in shown


def test_no_color_turns_colors_off(logdir: Path) -> None:
    status, shown = run_in_terminal(80, "show", str(logdir), "picture", NO_COLOR="1")
    assert status == 0
    assert "\x1b" not in shown


def test_broken_image_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = losses()
    events.value(values.image("picture", 2, 4, 3, b"\x00\x01"), 0, START)
    write(tmp_path, events)
    assert "Cannot be shown: the image has none of" in show(capsys, tmp_path, "picture")


@pytest.mark.parametrize(
    ("tag", "parts"),
    [
        ("weights", ["4 numbers from -1 to 1, mean 0", "-1 ..  0 ", "25.0%", "75.0%"]),
        ("matrix", ["float64 of shape (2, 2)", "[[1. 0.]\n [0. 1.]]"]),
        ("beep", ["clip 0: audio/wav, 0.0 s", "sample_rate  8000.0"]),
    ],
)
def test_other_kinds_have_a_summary(
    tag: str, parts: list[str], logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = show(capsys, logdir, tag)
    assert [part for part in parts if part not in shown] == []


@pytest.mark.parametrize("tag", ["weights", "matrix", "beep", "picture", "note"])
def test_every_kind_has_json(tag: str, logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(show(capsys, logdir, tag, "--json"), parse_constant=pytest.fail)
    assert (found["run"], found["tag"]) == ("seed-1", tag)
    assert all(set(value) == {"step", "wall_time", "value"} for value in found["values"])


def test_output_saves_the_stored_bytes_and_never_overwrites(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "picture.png"
    assert show(capsys, logdir, "picture", "-o", target) == ""
    assert target.read_bytes() == png()
    message = complaint(capsys, logdir, "picture", "-o", target)
    assert message == f"{target} already exists. Choose another file.\n"
    assert complaint(capsys, logdir, "picture", "-o", tmp_path / "no" / "folder") == (
        f"{tmp_path}/no/folder: No such file or directory\n"
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["sed-1", "note"], "No run 'sed-1' in '{}'. Did you mean 'seed-1'?"),
        (["seed-1", "los"], "No tag 'los' in run 'seed-1'. Did you mean 'train/loss'?"),
        (["zzz"], "No tag 'zzz' in run 'seed-1'. `runfold ls --tags` lists all tags."),
        (["a", "b", "c"], "Expected a run and a tag. Put names with spaces in quotes."),
        (["train/loss", "--step", "9"], "Tag 'train/loss' has no step 9. Nearest: 1, 2."),
        (["picture", "--step", "9"], "Tag 'picture' has no step 9. Nearest: 1, 2."),
        (
            ["note", "--kind", "image"],
            "Tag 'note' in run 'seed-1' has text data, not 'image'.",
        ),
        (
            ["picture", "--kind", "imge"],
            "Tag 'picture' in run 'seed-1' has image data, not 'imge'. Did you mean 'image'?",
        ),
        (["note", "--csv"], "--csv is only for scalars. Use --json for text data."),
        (
            ["weights", "-o", "x"],
            "-o saves images, audio and text. Use --json for histogram data.",
        ),
        (
            ["train/loss", "-o", "x"],
            "-o saves images, audio and text; for scalars use --csv > FILE.",
        ),
        (
            ["picture", "-o", "x", "--index", "3"],
            "--index 3 is out of range: the step has 1 value, numbered from 0.",
        ),
    ],
)
def test_error_is_one_line(
    args: list[str], message: str, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(capsys, logdir, *args) == message.format(logdir) + "\n"


def test_run_without_a_tag_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, losses(1.0))
    message = complaint(capsys, tmp_path, "b")
    assert message == "Specify a tag after the run 'b': train/loss.\n"


def test_the_only_run_without_a_tag_lists_its_tags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", losses(1.0))
    assert main(["show", str(tmp_path), "a"]) == 2
    assert capsys.readouterr().err == "Specify a tag after the run 'a': train/loss.\n"


def test_run_is_required_if_there_are_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, losses(1.0))
    assert complaint(capsys, tmp_path, "train/loss") == (
        f"There are 2 runs in '{tmp_path}': put the run before the tag,"
        f" as in `runfold show {tmp_path} a train/loss`.\n"
    )


def test_suggested_command_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my runs"
    write(folder / "a", losses(1.0, tag="loss"))
    write(folder / "b", losses(1.0, tag="it's"))
    message = complaint(capsys, folder, "it's")
    assert message.endswith(f"""`runfold show '{folder}' a "it's"`.\n""")


def test_tag_with_two_kinds_needs_a_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = losses(1.0, tag="x")
    events.value(values.text("x", "hello"), 0, START)
    write(tmp_path, events)
    assert complaint(capsys, tmp_path, "x") == (
        "Tag 'x' in run '.' has scalar and text data. Add --kind scalar or --kind text.\n"
    )
    assert show(capsys, tmp_path, "x", "--kind", "text").endswith("\nhello\n")


def test_value_that_does_not_decode_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = losses()
    events.value(values.tensor("note", np.zeros(3), "text"), 0, START)
    write(tmp_path, events)
    assert main(["show", str(tmp_path), "note"]) == 0
    assert "has a value that cannot be decoded (tag 'note': " in capsys.readouterr().err


def test_hidden_points_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = losses(1.0, 2.0, 3.0)
    events.session_start(1, START)
    write(tmp_path, events)
    assert "1 point, step 0, 2 hidden by a restart" in show(capsys, tmp_path, "train/loss")
    kept = show(capsys, tmp_path, "train/loss", "--restarts", "keep")
    assert "3 points, steps 0..2\n" in kept


def write_graph(folder: Path, *tags: str) -> None:
    """Write a graph, which has no tag, and one point per tag."""
    with SummaryWriter(str(folder)) as writer:
        writer.add_graph(torch.nn.Linear(2, 3), torch.rand(1, 2))
        for tag in tags:
            writer.add_scalar(tag, 1.0, 0)


def test_a_graph_without_a_tag_is_shown_by_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_graph(tmp_path / "a", "loss")
    write_graph(tmp_path / "b", "loss")
    shown = show(capsys, tmp_path, "a", "graph").splitlines()
    assert shown[0] == "graph in run a: graph, 1 value, step 0"
    assert shown[3] == "5 nodes"
    assert json.loads(show(capsys, "--json", tmp_path, "a", "graph"))["kind"] == "graph"
    assert "after the run 'a': loss, step1, graph." in complaint(capsys, tmp_path, "a")
    assert "Did you mean 'graph'?" in complaint(capsys, tmp_path, "a", "graf")


def test_a_tag_called_graph_takes_precedence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_graph(tmp_path, "graph", "")
    assert show(capsys, tmp_path, "graph").startswith("graph in run .: scalar, 1 point")
    assert "5 nodes" in show(capsys, "--kind", "graph", tmp_path, "")


def test_the_empty_tag_and_the_graph_are_distinct(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_graph(tmp_path, "")
    assert "5 nodes" in show(capsys, tmp_path, "graph")
    assert show(capsys, "--kind", "scalar", tmp_path, "").startswith('"" in run .: scalar')


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with runs in `runs` and others in `other`."""
    monkeypatch.chdir(tmp_path)
    for name in ("runs/lr-0.1/seed-0", "runs/lr-0.1/seed-1", "other/x"):
        write(tmp_path / name, losses(1.0))
    return tmp_path


def test_a_run_in_the_default_logdir_needs_no_path(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "lr-0.1/seed-0", "train/loss", "--csv"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "Reading the folder 'runs'. Use --logdir to read another.\n"
    assert shown.out == show(capsys, "runs", "lr-0.1/seed-0", "train/loss", "--csv")
    # A path takes precedence over a run with the same name.
    write(here / "lr-0.1/seed-0", losses(5.0, 6.0))
    assert len(show(capsys, "lr-0.1/seed-0", "train/loss", "--csv").splitlines()) == 3


def test_a_word_that_is_neither_path_nor_run_has_near_matches(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = complaint(capsys, "lr-0.1/seed-2", "train/loss")
    assert message.startswith("'lr-0.1/seed-2' is neither a path nor a run in 'runs'. Did you mean")
    assert "'lr-0.1/seed-1'" in message
    message = complaint(capsys, "othr", "train/loss")
    assert message == "No logdir 'othr'. Did you mean 'other'?\n"
    assert complaint(capsys, "othr", "x", "train/loss") == message


def test_a_logdir_alone_lists_its_runs_and_tags(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(capsys, "runs") == (
        "Specify a run and a tag: `runfold show runs RUN TAG`."
        " Runs: lr-0.1/seed-0, lr-0.1/seed-1. Tags: train/loss.\n"
    )
    assert complaint(capsys, "other") == (
        "Specify a tag: `runfold show other TAG`. Tags: train/loss.\n"
    )


def test_a_tag_can_have_the_name_of_a_folder_without_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs/a", losses(1.0, tag="loss"))
    (tmp_path / "loss").mkdir()
    assert show(capsys, "loss").startswith("loss in run a: scalar")

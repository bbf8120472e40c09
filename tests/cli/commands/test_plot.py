"""`runfold plot`: figures in files, and drawings in the terminal."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli_runs import START, run_apart, run_in_terminal, write
from PIL import Image

from runfold._cli import main
from runfold._cli.parser import load
from runfold._core.encoder import EventBuffer

CODE = re.compile(r"\x1b\[[0-9;]*m")


def seed(*values: float, tags: tuple[str, ...] = ("val/loss",)) -> EventBuffer:
    events = EventBuffer()
    events.file_version(START)
    for step, value in enumerate(values):
        for tag in tags:
            events.scalar(tag, value, 10 * step, START + 60 * step)
    return events


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for group, low in (("a", 1.0), ("b", 4.0)):
        for number in range(3):
            values = [low + number + 1 / (step + 1) for step in range(30)]
            write(tmp_path / "runs" / group / f"seed-{number}", seed(*values))
    return tmp_path / "runs"


def plot(capsys: pytest.CaptureFixture[str], *args: object, status: int = 0) -> tuple[str, str]:
    assert main(["plot", *map(str, args)]) == status
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_groups_have_marks_without_colors(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = plot(capsys, logdir, "--tag", "val/loss", "--by", "parent")
    lines = out.splitlines()
    assert lines[0] == "val/loss: mean"
    assert {"*", "o"} <= set("".join(lines[1:16]))
    assert lines[17].split() == ["0", "step", "290"]
    assert lines[18] == "  * a (n=3)  o b (n=3)"
    assert err.startswith("Folded 6 runs in 2 groups, 1 tag: mean, std by step")


def test_one_group_has_a_band_without_colors(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = plot(capsys, logdir)
    assert out.startswith("val/loss: mean ± std\n")
    assert "⠡" in out
    assert out.splitlines()[18] == "  ━━ 6 runs"


def test_terminal_with_colors_shows_groups_and_bands(logdir: Path) -> None:
    status, shown = run_in_terminal(
        90, "plot", str(logdir), "--by", "parent", NO_COLOR="", COLORTERM="truecolor"
    )
    assert status == 0
    assert "\x1b[38;2;86;180;233m━━\x1b[0m a (n=3)" in shown
    assert {"\x1b[0;38;2;86;180;233m", "\x1b[0;2;38;2;230;159;0m"} <= set(CODE.findall(shown))
    drawing = CODE.sub("", shown).split("Folded")[0].splitlines()
    assert drawing[0] == "val/loss: mean ± std"
    assert max(map(len, drawing)) <= 90


def test_more_groups_than_colors_make_several_drawings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(10):
        write(tmp_path / f"run-{number}" / "a", seed(number, number))
    out, _ = plot(capsys, tmp_path, "--by", "parent")
    assert out.count("└") == 2
    assert out.count("\n  9 │") == 2
    assert all(f"run-{number} (n=1)" in out for number in range(10))


def test_terminal_without_braille_gets_ascii(logdir: Path) -> None:
    done = run_apart("plot", str(logdir), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout.isascii()) == (0, True)
    assert "+---" in done.stdout
    assert "  * 6 runs" in done.stdout


def test_relative_and_wall_time_axes_have_labels(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = plot(capsys, logdir, "--x", "relative")
    assert out.splitlines()[17].split() == ["0", "relative", "time", "(min)", "29"]
    out, _ = plot(capsys, logdir, "--x", "wall_time")
    assert re.search(r"2023-11-1\d \d\d:\d\d +time +2023-11-1\d \d\d:\d\d\n", out)


@pytest.mark.parametrize("name", ["curve.png", "curve.svg", "curve.pdf"])
def test_the_suffix_sets_the_output_format(
    name: str, logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / name
    args = (logdir, "--tags", "val/*", "--by", "parent", "--smooth", "0.6", "--log-y", "-o", target)
    out, err = plot(capsys, *args)
    assert out == f"{target}\n"
    assert err.startswith("Folded 6 runs")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]]
    assert target.read_bytes().startswith(start)
    if name.endswith("png"):
        with Image.open(target) as image:
            # The image is as wide as a column in a paper; the legend below makes it taller.
            assert image.size[0] == 1050
            assert image.size[1] > 780


@pytest.mark.fault(57)
def test_existing_file_is_rejected_before_reading(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "curve.png"
    target.write_text("mine")
    _, err = plot(capsys, logdir, "-o", target, status=2)
    assert err.startswith(f"{target} already exists.")
    assert target.read_text() == "mine"
    plot(capsys, logdir, "-o", target, "-f")
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--tag", "val/los"], "Did you mean 'val/loss'?"),
        (
            ["-o", "curve.pfd"],
            "curve.pfd: unknown picture format 'pfd'. Did you mean 'pdf' or 'pgf'?",
        ),
        (["--band", "ci95"], "Statistic 'ci95' was not computed. Available: mean, std."),
        (["-r", "mean,sdt"], "Did you mean 'std'?"),
        (["--smooth", "1"], "--smooth: expected a number that is at least 0 and below 1, got '1'."),
        (["--smooth", "x"], "--smooth: expected a number that is at least 0 and below 1, got 'x'."),
    ],
)
def test_errors_are_one_line(
    args: list[str], message: str, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = plot(capsys, logdir, *args, status=2)
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_ci95_is_the_interval_of_the_line(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = plot(capsys, logdir, "-r", "iqm,ci95", "--band", "ci95")
    assert out.startswith("val/loss: iqm, ci95-iqm\n")
    assert err.startswith("The interval was changed to match the line: iqm, ci95-iqm.\n")
    out, err = plot(capsys, logdir, "-r", "median,ci95-t")
    assert out.startswith("val/loss: median\n")
    hint = "ci95-t is computed for the mean, so it does not form a band around the median."
    assert err.count(f"{hint} Use 'ci95-median' for a band.\n") == 1


def test_first_tags_are_drawn_by_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", seed(1.0, 2.0, tags=tuple(f"tag-{number}" for number in range(14))))
    out, err = plot(capsys, tmp_path)
    assert out.count("└") == 12
    assert err.startswith("Only the first 12 of 14 tags are drawn. Choose others by name or glob")
    out, err = plot(capsys, tmp_path, "--tag", "tag-*")
    assert out.count("└") == 14
    assert "Only the first" not in err


def test_too_many_groups_are_rejected_unless_the_limit_is_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        write(tmp_path / f"run-{number}" / "a", seed(number, number))
    for target in ([], ["-o", tmp_path / "a.png"]):
        _, err = plot(capsys, tmp_path, "--by", "parent", "--max-groups", 2, *target, status=2)
        assert err.startswith("3 groups are too many for one figure; the limit is 2.")
        assert "--where" in err
    plot(capsys, tmp_path, "--by", "parent", "--max-groups", 3)


def test_mismatched_runs_are_drawn_by_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", seed(1.0, 2.0, 3.0, tags=("loss", "acc")))
    other = EventBuffer()
    other.file_version(START)
    for step, value in ((0, 1.0), (5, 9.0), (5, 2.0), (20, 3.0)):
        other.scalar("loss", value, step, START + step)
    write(tmp_path / "b", other)
    out, err = plot(capsys, tmp_path)
    assert out.startswith("loss: mean")
    assert "\nacc" in out
    notes = err.splitlines()
    assert notes[0].endswith(
        "Left out: 1 duplicate point (--duplicates selects a different value)."
    )
    assert notes[1:3] == [
        "The runs have different steps in tag loss: aligned by interpolate (align=, --align).",
        "Reduced over fewer runs than the group has: tag acc"
        " (to raise an error instead: --no-lax-tags).",
    ]
    plot(capsys, tmp_path, "-o", tmp_path / "a.png")
    for option in (["--duplicates", "error"], ["--align", "strict"], ["--no-lax-tags"]):
        assert "nothing was reduced" in plot(capsys, tmp_path, *option, status=2)[1]
    assert main(["reduce", str(tmp_path), "-o", str(tmp_path / "out.csv")]) == 2


def test_runs_without_the_x_tag_are_reported_with_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", seed(1.0, 2.0, tags=("loss", "samples")))
    write(tmp_path / "b", seed(1.0, 2.0, tags=("loss",)))
    _, err = plot(capsys, tmp_path, "--x", "samples")
    assert "1 run without tag 'samples': b (to raise an error instead: --no-lax-tags)" in err
    assert (
        "nothing was reduced"
        in plot(capsys, tmp_path, "--x", "samples", "--no-lax-tags", status=2)[1]
    )


def test_single_runs_have_their_own_names(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = plot(capsys, logdir, "--by", "run")
    assert out.startswith("val/loss\n")
    names = [f"{group}/seed-{number}" for group in "ab" for number in range(3)]
    assert out.splitlines()[-1] == "".join(
        f"  {mark} {name}" for mark, name in zip("*o+x#@", names, strict=True)
    )
    assert err == (
        "Folded 6 runs in 6 groups, 1 tag: mean by step (same steps in all, NaN skipped)."
        " Left out: nothing.\n"
    )
    plot(capsys, logdir, "--by", "run", "-o", tmp_path / "runs.png")


def test_values_that_are_not_drawn_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", seed(1.0, -1.0, 2.0))
    note = "1 value of 'val/loss' is not drawn: a log y-axis can only show values above 0.\n"
    assert plot(capsys, tmp_path, "--log-y")[1].startswith(note)
    assert plot(capsys, tmp_path, "--log-y", "-o", tmp_path / "a.png")[1].startswith(note)


def test_missing_character_in_the_font_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", seed(1.0, 2.0, tags=("損失",)))
    _, err = plot(capsys, tmp_path, "-o", tmp_path / "a.png")
    assert "missing from font" in err
    assert "Traceback" not in err


def test_no_finite_value_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", seed(float("inf"), float("inf")))
    assert "No finite values." in plot(capsys, tmp_path)[0]


def test_drawing_in_the_terminal_needs_no_matplotlib(logdir: Path) -> None:
    code = "import sys; from runfold._cli import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "plot", str(logdir), "--by", "parent"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & {"matplotlib", "pandas", "scipy", "PIL", "tensorboard"}


def test_example_in_the_help_works() -> None:
    assert "runfold plot demo-runs --tag val/loss --by lr" in load("plot").HELP

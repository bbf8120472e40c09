"""Repaired files: every intact record is kept, and nothing else."""

import os
from pathlib import Path
from typing import Any

import pytest
from helpers.cli_runs import START
from helpers.tensorboard_readers import READERS, provider, read_scalars
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._cli.commands.read.check import find_problems
from runfold._core.encoder import EventBuffer, frame
from runfold._edit import repair
from runfold._edit.sound_records import salvage
from runfold._logdir.loader import Logdir

NAME = "events.out.tfevents.1"


def header() -> bytes:
    buffer = EventBuffer()
    buffer.file_version(START)
    return buffer.getvalue()


def scalar(step: int) -> bytes:
    buffer = EventBuffer()
    buffer.scalar("loss", step / 2, step, START + step)
    return buffer.getvalue()


def make(folder: Path, *pieces: bytes) -> Path:
    path = folder / "run" / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(pieces))
    os.utime(path, (START, START))
    return path


def repaired(path: Path) -> bytes:
    return path.read_bytes()


def problems(folder: Path) -> list:
    return find_problems(Logdir(folder, restarts="keep"))


RECORDS = [header(), *map(scalar, range(6))]
BREAKS = {
    "bad length": ([*RECORDS[:3], b"\x01" + scalar(9)[1:], *RECORDS[3:]], [1]),
    "bad payload": ([*RECORDS[:3], scalar(9)[:-6] + b"??" + scalar(9)[-4:], *RECORDS[3:]], [1]),
    "torn tail": ([*RECORDS, scalar(9)[:-1]], [1]),
    "torn, then continued": ([*RECORDS[:3], scalar(9)[:-9], *RECORDS[3:]], [1]),
    "zeros within": ([*RECORDS[:4], bytes(4096), *RECORDS[4:]], [1]),
    "zeros at the end": ([*RECORDS, bytes(5000)], [1]),
    "no event": ([*RECORDS[:2], frame(b"\xff\xff"), *RECORDS[2:]], [1]),
    "noise before": ([b"noise", *RECORDS], [1]),
    "excessive length": ([*RECORDS[:3], frame(b"x" * 50)[:12], *RECORDS[3:]], [1]),
}


@pytest.mark.parametrize("name", BREAKS)
def test_every_intact_record_is_kept_and_the_loss_is_reported(name: str, tmp_path: Path) -> None:
    pieces, losses = BREAKS[name]
    source = make(tmp_path / "log", *pieces)
    before = source.read_bytes()
    report = repair(tmp_path / "log", tmp_path / "new")
    assert repaired(tmp_path / "new" / "run" / NAME) == b"".join(RECORDS)
    assert [len(file.losses) for file in report.changed] == losses
    kept = sum(map(len, RECORDS))
    assert sum(file.lost for file in report.files) == len(before) - kept
    assert problems(tmp_path / "new") == []
    assert source.read_bytes() == before


@pytest.mark.parametrize("where", [{"output": "new"}, {"in_place": True}, {"dry_run": True}])
def test_intact_log_needs_no_repair_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "log", *RECORDS)
    os.chmod(tmp_path, 0o500)
    try:
        report = repair("log", **where)
    finally:
        os.chmod(tmp_path, 0o700)
    assert (report.changed, report.target, report.backup) == ([], None, None)
    assert [file.records for file in report.files] == [len(RECORDS)]
    assert report.summary == "Nothing to repair in 1 event file. Nothing was written."
    assert os.listdir() == ["log"]


@pytest.mark.parametrize("reader", READERS)
def test_tensorboard_reads_repaired_files_completely(reader: str, tmp_path: Path) -> None:
    make(tmp_path / "log", *BREAKS["bad length"][0])
    repair(tmp_path / "log", tmp_path / "new")
    with provider(reader, tmp_path / "new") as source:
        points = read_scalars(source, "run", "loss")
    assert [step for step, _, _ in points] == [*range(6)]


def test_missing_header_is_added_with_the_time_of_the_first_event(tmp_path: Path) -> None:
    make(tmp_path / "log", scalar(3), scalar(4))
    report = repair(tmp_path / "log", tmp_path / "new")
    buffer = EventBuffer()
    buffer.file_version(START + 3)
    assert repaired(tmp_path / "new" / "run" / NAME) == buffer.getvalue() + scalar(3) + scalar(4)
    assert report.changed[0].has_new_header


def test_record_longer_than_a_chunk_is_found_after_damage(tmp_path: Path) -> None:
    from runfold._events import value_encoding as values

    buffer = EventBuffer()
    buffer.value(values.text("note", "x" * (9 << 20)), 0, START)
    make(tmp_path / "log", header(), b"noise" * 1_000_000, buffer.getvalue(), scalar(1))
    report = repair(tmp_path / "log", tmp_path / "new")
    whole = header() + buffer.getvalue() + scalar(1)
    assert repaired(tmp_path / "new" / "run" / NAME) == whole
    assert [(loss.start, loss.stop) for loss in report.changed[0].losses] == [
        (len(header()), len(header()) + 5_000_000)
    ]


@pytest.mark.parametrize("chunk", [1, 13, 50, 200])
@pytest.mark.parametrize("name", BREAKS)
def test_salvage_is_the_same_for_any_chunk_size(
    name: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path, *BREAKS[name][0])
    whole = salvage(str(path))
    monkeypatch.setattr("runfold._edit.sound_records.CHUNK", chunk)
    assert salvage(str(path)) == whole


def test_only_long_records_are_lost_after_many_false_lengths(tmp_path: Path) -> None:
    false = frame(bytes(100_000))[:12] * 20_000
    path = make(tmp_path, header(), false, frame(bytes(100_000)), scalar(1))
    salvaged = salvage(str(path))
    short = path.stat().st_size - len(scalar(1))
    assert salvaged.spans == [(0, len(header())), (short, path.stat().st_size)]


def test_file_without_an_intact_record_is_left_out_and_a_compressed_file_is_kept(
    tmp_path: Path,
) -> None:
    make(tmp_path / "log", b"nothing of an event file" * 10)
    other = tmp_path / "log" / "run" / "events.out.tfevents.2.gz"
    other.write_bytes(b"\x1f\x8b" + bytes(100))
    (tmp_path / "log" / "run" / "model.pt").write_bytes(b"weights")
    report = repair(tmp_path / "log", tmp_path / "new")
    names = sorted(path.name for path in (tmp_path / "new" / "run").iterdir())
    assert names == ["events.out.tfevents.2.gz", "model.pt"]
    assert [file.lines for file in report.files] == [
        [
            f"run/{NAME}: bytes 0 to 239 lost: 240 bytes, no complete record at the end.",
            f"run/{NAME}: no intact record. The file is left out.",
        ],
        [f"run/{other.name}: compressed, not broken. Kept unchanged; decompress it first."],
    ]


@pytest.mark.parametrize(("breaks", "lines"), [(10, 10), (11, 11), (2000, 11)])
def test_many_losses_become_a_few_lines_and_a_count(
    breaks: int, lines: int, tmp_path: Path
) -> None:
    make(tmp_path / "log", header(), *(piece for n in range(breaks) for piece in (b"?", scalar(n))))
    (file,) = repair(tmp_path / "log", tmp_path / "new").files
    assert len(file.losses) == breaks
    assert len(file.lines) == lines
    count, size = (
        ("1 more range", "1 byte") if breaks == 11 else ("1,990 more ranges", "1,990 bytes")
    )
    message = f"run/{NAME}: {count} lost, {size}; use --json to list them all."
    assert (file.lines[-1] == message) == (breaks > 10)


def test_repair_in_place_keeps_the_broken_log_as_backup(tmp_path: Path) -> None:
    path = make(tmp_path / "log", *BREAKS["torn tail"][0])
    before = path.read_bytes()
    report = repair(tmp_path / "log", in_place=True)
    assert path.read_bytes() == b"".join(RECORDS)
    assert report.backup is not None
    assert (Path(report.backup) / "run" / NAME).read_bytes() == before
    again = repair(tmp_path / "log", in_place=True)
    assert (again.changed, again.backup) == ([], None)


def test_dry_run_reports_the_same_and_writes_nothing(tmp_path: Path) -> None:
    make(tmp_path / "log", *BREAKS["bad payload"][0])
    report = repair(tmp_path / "log", dry_run=True)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert report.files == repair(tmp_path / "log", tmp_path / "new").files


damage = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "insert", "zero"]),
        st.integers(0, 500),
        st.binary(min_size=1),
    ),
    max_size=4,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(damage)
def test_intact_records_survive_any_damage(
    tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[str, int, bytes]]
) -> None:
    data = bytearray(b"".join(RECORDS))
    for kind, at, noise in damages:
        at %= max(1, len(data))
        if kind == "flip" and data:
            data[at] ^= 1 << noise[0] % 8
        elif kind == "cut":
            del data[at : at + len(noise)]
        elif kind == "insert":
            data[at:at] = noise
        else:
            data[at : at + len(noise)] = bytes(len(noise))
    folder = tmp_path_factory.mktemp("log")
    path = make(folder / "log", bytes(data))
    sound = [record for record in RECORDS if record in data]
    report = repair(folder / "log", folder / "new")
    if not report.changed:
        assert not (folder / "new").exists()
        assert salvage(str(path)).is_whole
        return
    result = folder / "new" / "run" / NAME
    kept = result.read_bytes() if result.exists() else b""
    for record in sound:
        assert kept.count(record) == data.count(record)
    assert problems(folder / "new") == []
    if result.exists():
        assert salvage(str(result)).is_whole
    assert path.read_bytes() == data
    assert set(rf.open(folder / "new")) <= {"run"}

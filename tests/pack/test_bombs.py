"""Small packs that would exhaust memory: rejected before anything is decoded."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.faultfiles import points
from helpers.pack_bombs import deflated, equal_rows, forge_index, many_texts, repeat_value
from helpers.packs import pack, write
from helpers.writers import png

import runfold as rf
from runfold._conventions import PACK_MARKER, PACK_PART
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values
from runfold._pack.pack import pack_logdir, unpack_logdir
from runfold._pack.page_sizes import decoded_size
from runfold.errors import BadPack, RunfoldError

ROOM = 1536 << 20

# Takes a pack and a folder; limits memory to a given amount beyond what imports need.
SCRIPT = """
import resource, sys
import duckdb, pandas, pyarrow.parquet, PIL.Image
import runfold as rf
from runfold._cli import main
from runfold.errors import BadPack

pack, folder, room, *commands = sys.argv[1:]
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(room), resource.RLIM_INFINITY))
arguments = {
    "show": ["show", pack, "note"],
    "unpack": ["unpack", pack, "-o", folder],
    "sql": ["sql", pack, "select count(text) from text"],
}
for command in commands:
    print(command, main(arguments.get(command, [command, pack])))
try:
    print(len(rf.open(pack).text()))
except BadPack as error:
    print(error)
"""


def run_with_little_memory(path, *commands):
    arguments = [str(path), str(path.parent / "unpacked"), str(ROOM), *commands]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.fault(70)
def test_one_value_for_all_rows_is_rejected(tmp_path):
    path = many_texts(tmp_path)
    repeat_value(path, "payload")
    assert os.path.getsize(path) < 200_000
    out, notes = run_with_little_memory(path, "show", "check", "unpack", "sql")
    assert out[:-1] == ["show 2", "check 2", "unpack 2", "sql 2"]
    assert out[-1] == (
        f"{path}: row group 0 expands to 83.9 GB, but the maximum in a pack is 302 MB. "
        "It was not decoded. The file is damaged, or was built to exhaust memory. "
        "Pack the logs again."
    )
    assert notes == [out[-1]] * 4
    assert not (tmp_path / "unpacked").exists()


@pytest.mark.fault(70)
def test_one_kind_for_all_rows_is_stored_once(tmp_path):
    """The stored kind of a text entry does not matter, so the entry is restored."""
    path = many_texts(tmp_path)
    repeat_value(path, "kind")
    out, _ = run_with_little_memory(path, "unpack")
    assert out == [str(tmp_path / "unpacked"), "unpack 0", "20001"]
    (again,) = (tmp_path / "unpacked" / "run").iterdir()
    assert again.read_bytes() == (tmp_path / "logs" / "run" / again.name).read_bytes()


INDEXES = {
    "segments": lambda: json.dumps({"segments": [deflated(1 << 28)] * 5, "runs": []}).encode(),
    "empty lists": lambda: b'{"runs": [' + b"[]," * 10_000_000 + b"[]]}",
    "numbers": lambda: b'{"runs": [' + b"0.5," * 15_000_000 + b"0]}",
    "a text": lambda: b'{"runs": "' + b"x" * 100_000_000 + b'"}',
}


@pytest.mark.fault(70)
@pytest.mark.parametrize("content", INDEXES)
def test_index_that_expands_too_much_is_rejected(tmp_path, content):
    path = many_texts(tmp_path, 10)
    forge_index(path, INDEXES[content]())
    assert os.path.getsize(path) < 1_000_000
    out, notes = run_with_little_memory(path, "ls", "check", "show", "unpack", "sql")
    assert out[:-1] == ["ls 2", "check 2", "show 2", "unpack 2", "sql 2"]
    assert "the index in its footer expands to more than" in out[-1]
    assert notes == [out[-1]] * 5


@pytest.mark.fault(70)
@pytest.mark.parametrize(("kind", "size"), [("scalar", "503 MB"), ("text", "2.0 GB")])
def test_equal_rows_that_exhaust_memory_are_rejected(tmp_path, kind, size):
    path = tmp_path / "equal.parquet"
    equal_rows(path, 20, kind)
    assert os.path.getsize(path) < 100_000
    out, notes = run_with_little_memory(path, "ls", "table", "check", "show", "unpack", "sql")
    assert out[:-1] == ["ls 2", "table 2", "check 2", "show 2", "unpack 2", "sql 2"]
    assert f"the rows of its file expand to {size}, and Runfold decodes at most" in out[-1]
    assert notes == [out[-1]] * 6


@pytest.mark.fault(70)
def test_equal_rows_in_many_files_are_measured_together(tmp_path):
    folder = tmp_path / "packs"
    for number in range(4):
        (folder / str(number)).mkdir(parents=True)
        equal_rows(folder / str(number) / PACK_PART, 5, "scalar")
    (folder / PACK_MARKER).write_text("{}")
    assert len(rf.open(folder / "0" / PACK_PART)) == 5
    with pytest.raises(BadPack, match="the rows of 4 files expand to 503 MB"):
        rf.open(folder)
    with pytest.raises(BadPack, match="the rows of 4 files expand to 503 MB"):
        unpack_logdir(folder, tmp_path / "again")


def test_logs_that_could_not_be_opened_again_are_not_packed(tmp_path, monkeypatch):
    monkeypatch.setattr("runfold._pack.memory_budget._LEAST_DECODED", 0)
    monkeypatch.setattr("runfold._pack.memory_budget._MOST_DECODED", 1)
    write(tmp_path / "logs" / "run" / "events.out.tfevents.1", points(*range(5000)))
    for name in ("one.parquet", "many/"):
        with pytest.raises(RunfoldError, match="Nothing was written"):
            pack_logdir([tmp_path / "logs"], f"{tmp_path}/{name}")
    assert os.listdir(tmp_path) == ["logs"]


def test_running_out_of_memory_is_not_a_damaged_pack(tmp_path, monkeypatch):
    runs = rf.open(many_texts(tmp_path, 10))

    def fail(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 8 failed")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fail)
    with pytest.raises(MemoryError, match="malloc"):
        runs.text()


def page(kind, size, values, encoding):
    """Return the header of a Parquet page that claims a size, in Thrift's compact protocol."""

    def integer(number):
        number = number << 1
        while number > 0x7F:
            yield number & 0x7F | 0x80
            number >>= 7
        yield number

    step = 0x35 if kind == 3 else 0x15  # the encoding is field 4 or field 2
    detail = bytes([0x15, *integer(values), step, *integer(encoding), 0])
    head = bytes([0x15, *integer(kind), 0x15, *integer(size), 0x15, *integer(0)])
    return head + bytes([{0: 0x2C, 2: 0x4C, 3: 0x5C}[kind]]) + detail + b"\0"


PLAIN, DICTIONARY, DELTA_LENGTH, DELTA = 0, 8, 6, 7


@pytest.mark.parametrize("kind", [0, 3])
@pytest.mark.parametrize("encoding", [PLAIN, DELTA_LENGTH])
def test_decoded_size_of_pages_comes_from_their_headers(kind, encoding):
    pages = page(kind, 2_000_000_000, 9, encoding) + page(kind, 70, 9, encoding)
    assert decoded_size(pages, True) == decoded_size(pages, False) == 2_000_000_070


@pytest.mark.parametrize("kind", [0, 3])
@pytest.mark.parametrize("encoding", [DICTIONARY, DELTA])
def test_pages_that_repeat_values_count_one_per_row(kind, encoding):
    pages = page(2, 1000, 1, PLAIN) + page(kind, 5, 300, encoding)
    assert decoded_size(pages, False) == 1005
    assert decoded_size(pages, True) == 1005 + 300 * 1000


@pytest.mark.parametrize("size", range(1, 12))
def test_truncated_page_is_rejected(size):
    whole = page(0, 70, 9, PLAIN)
    with pytest.raises(ValueError, match="the header of a page is invalid"):
        decoded_size(whole + whole[:size], False)


def test_identical_images_survive_packing(tmp_path):
    """A pack with many rows that is small because its values repeat is valid."""
    picture = png(np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8))
    buffer = EventBuffer()
    for step in range(20_000):
        buffer.summary([values.image("same", 32, 32, 3, picture)], step, 5.0 + step)
    log = tmp_path / "logs" / "run" / "events.out.tfevents.1"
    write(log, buffer.getvalue())
    path = pack(tmp_path / "logs")
    assert os.path.getsize(path) < os.path.getsize(log) / 100
    images = rf.open(path).images()
    assert [len(images), images["image"].iloc[-1].data] == [20_000, picture]
    unpack_logdir(path, tmp_path / "again")
    assert (tmp_path / "again" / "run" / log.name).read_bytes() == log.read_bytes()


def test_one_large_value_survives_packing(tmp_path):
    log = tmp_path / "logs" / "run" / "events.out.tfevents.1"
    buffer = EventBuffer()
    buffer.summary([values.text("note", "x" * (40 << 20))], 1, 5.0)
    write(log, buffer.getvalue())
    path = pack(tmp_path / "logs")
    assert len(rf.open(path).text()["text"][0]) == 40 << 20
    unpack_logdir(path, tmp_path / "again")
    assert (tmp_path / "again" / "run" / log.name).read_bytes() == log.read_bytes()

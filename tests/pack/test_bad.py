"""Files that are not packs, damaged packs, and malicious packs."""

import base64
import json
import os
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.faultfiles import points
from helpers.packs import FRAMES, pack, write, write_odd_runs

import runfold as rf
from runfold._cli import main
from runfold._pack.pack import pack_logdir, unpack_logdir
from runfold._pack.pack_layout import KEY, MOST_ROWS, schema
from runfold.errors import BadPack, LogdirNotFound, OutputExists, RunfoldError, UnknownFormat


@pytest.fixture
def packed(tmp_path):
    write(tmp_path / "logs" / "run" / "events.out.tfevents.1", points(1, 2, 3), points(1, tag="b"))
    return pack(tmp_path / "logs")


def forge(path, change):
    """Rewrite a pack with a changed index, a dict of plain values."""
    table = pq.ParquetFile(path).read()
    stored = json.loads(pq.ParquetFile(path).metadata.metadata[KEY])
    index = json.loads(zlib.decompress(base64.b64decode(stored["index"])))
    change(stored if change.__name__ == "head" else index)
    if change.__name__ != "head":
        stored["index"] = base64.b64encode(zlib.compress(json.dumps(index).encode())).decode()
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: json.dumps(stored)})


def read_everything(path):
    runs = rf.open(path)
    for name in FRAMES:
        getattr(runs, name)()
    return runs.problems()


def test_another_parquet_file_is_rejected(tmp_path):
    pq.write_table(pa.table({"run": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(BadPack, match="not written by `runfold pack`"):
        rf.open(tmp_path / "other.parquet")


def test_a_table_written_by_runfold_is_not_a_pack(tmp_path, packed):
    rf.open(packed).scalars().to_parquet(tmp_path / "table.parquet")
    with pytest.raises(
        BadPack, match=r"parquet: a table written by Runfold, .* Use `rf\.read_table`\.$"
    ):
        rf.open(tmp_path / "table.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"text, not Parquet", b"PAR1" * 9])
def test_files_other_than_parquet_are_rejected(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(BadPack, match="cannot be read as Parquet"):
        rf.open(tmp_path / "x.parquet")


def test_a_pack_with_other_columns_is_rejected(packed):
    file = pq.ParquetFile(packed)
    table = file.read().append_column("more", pa.nulls(file.metadata.num_rows))
    pq.write_table(table.replace_schema_metadata(file.metadata.metadata), packed)
    with pytest.raises(BadPack) as caught:
        rf.open(packed)
    assert str(caught.value) == f"{packed}: it does not have the columns of a pack."


def test_a_missing_pack_is_an_unknown_logdir(tmp_path, packed):
    with pytest.raises(LogdirNotFound, match=r"Did you mean 'logs\.parquet'"):
        rf.open(tmp_path / "log.parquet")


def test_a_pack_truncated_anywhere_is_rejected(tmp_path, packed):
    data = packed.read_bytes()
    for size in range(0, len(data), 97):
        packed.write_bytes(data[:size])
        with pytest.raises(BadPack):
            rf.open(packed)


def test_any_damaged_byte_is_tolerated_or_rejected(tmp_path, packed):
    data = packed.read_bytes()
    whole = rf.open(packed).scalars()
    for at in range(4, len(data), 53):
        packed.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        try:
            read_everything(packed)
            assert rf.open(packed).scalars().equals(whole)
            unpack_logdir(packed, tmp_path / f"out-{at}")
        except RunfoldError:
            assert not (tmp_path / f"out-{at}").exists()


def test_the_error_names_a_newer_version(packed):
    def head(stored):
        stored["version"] = 9

    forge(packed, head)
    with pytest.raises(
        BadPack, match=r"parquet: a pack of version 9, but this Runfold supports only 1\. Install"
    ):
        rf.open(packed)


@pytest.mark.parametrize("folder", ["../out", "/tmp/out", "a/../../b", "a//b", "..", "", "a\0b"])
def test_a_folder_outside_the_output_is_rejected_and_nothing_written(tmp_path, packed, folder):
    def point_outside(index):
        index["runs"][0]["folder"] = folder

    forge(packed, point_outside)
    read_everything(packed)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(BadPack, match="is not a plain file or folder name"):
        unpack_logdir(packed, tmp_path / "new")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", ["../x.tfevents", "/etc/x", "", ".", "a/b"])
def test_a_file_name_outside_the_folder_is_rejected(tmp_path, packed, name):
    def point_outside(index):
        index["runs"][0]["files"][0]["name"] = name

    forge(packed, point_outside)
    with pytest.raises(BadPack, match="is not a plain file or folder name"):
        unpack_logdir(packed, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def segments(column, number):
    """Return a change that replaces one column of the segments."""

    def change(index):
        values = zlib.compress(number.to_bytes(8, "little", signed=True))
        index["segments"][column] = base64.b64encode(values).decode()
        for other in range(5):
            if other != column:
                rest = zlib.decompress(base64.b64decode(index["segments"][other]))[:8]
                index["segments"][other] = base64.b64encode(zlib.compress(rest)).decode()

    return change


def put(*keys, value):
    def change(index):
        for key in keys[:-1]:
            index = index[key]
        index[keys[-1]] = value

    return change


FILE = ("runs", 0, "files", 0)


@pytest.mark.parametrize(
    "change",
    [
        *(segments(column, number) for column in range(5) for number in (-2, 7, 1 << 62)),
        put("runs", value=None),
        put("runs", 0, "tags", value=9),
        put("runs", 0, "tags", value=-1),
        put("runs", 0, "name", value=["x"]),
        put("runs", 0, "name", value="\ud800"),
        put("runs", 0, "config", value=7),
        put("runs", 0, "unknown", value=7),
        put("tags", 0, "names", value=["x"]),
        put("tags", 0, "metadata", value=["?", "?"]),
        put("tags", 0, "plugins", value=[99, 99]),
        put("tags", 0, "plugin_names", value=[[], [], [], []]),
        put("templates", value="x"),
        put("is_scalar", value=[]),
        put(*FILE, "size", value=-1),
        put(*FILE, "restarts", value=[[1 << 70, 0, []]]),
        put(*FILE, "restarts", value=[[0, -1, []]]),
        put(*FILE, "problems", value=[["x"]]),
        put(*FILE, "first_wall_time", value={}),
    ],
)
def test_an_invalid_index_is_rejected(packed, change):
    forge(packed, change)
    with pytest.raises(BadPack):
        rf.open(packed)


@pytest.mark.parametrize("template", [b"", b"\xff\xff\x04abc", bytes(10_000)])
def test_false_templates_do_not_unpack(tmp_path, packed, template):
    def replace_template(index):
        index["templates"] = [base64.b64encode(template).decode()] * len(index["templates"])

    forge(packed, replace_template)
    with pytest.raises(BadPack):
        unpack_logdir(packed, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_row_group_larger_than_a_pack_can_contain_is_rejected(packed):
    """A few bytes can represent a column of any length, if all values are identical."""
    (row,) = pq.ParquetFile(packed).read().slice(0, 1).to_pylist()
    row_table = pa.Table.from_pylist([row], schema()).combine_chunks()
    columns = [pa.repeat(column[0], MOST_ROWS + 1) for column in row_table.columns]
    stored = pq.ParquetFile(packed).metadata.metadata[KEY]
    with pq.ParquetWriter(packed, row_table.schema) as writer:
        table = pa.Table.from_arrays(columns, row_table.column_names).cast(row_table.schema)
        writer.write_table(table, row_group_size=MOST_ROWS + 1)
        writer.add_key_value_metadata({KEY: stored})
    with pytest.raises(BadPack, match="a row group is larger than a pack can contain"):
        rf.open(packed)


def test_existing_output_is_only_replaced_with_overwrite(tmp_path, packed):
    before = packed.read_bytes()
    with pytest.raises(OutputExists, match="--overwrite"):
        pack_logdir([tmp_path / "logs"], packed)
    assert packed.read_bytes() == before
    pack_logdir([tmp_path / "logs"], packed, overwrite=True)
    folder = tmp_path / "parts"
    pack_logdir([tmp_path / "logs"], folder, partition=True)
    with pytest.raises(OutputExists):
        pack_logdir([tmp_path / "logs"], folder, partition=True)
    pack_logdir([tmp_path / "logs"], folder, partition=True, overwrite=True)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(OutputExists, match="was not written by Runfold"):
        pack_logdir([tmp_path / "logs"], folder, partition=True, overwrite=True)


@pytest.mark.parametrize("name", ["logs", "logs.csv", "logs.parquet.gz"])
def test_a_pack_with_another_suffix_is_not_written(tmp_path, packed, name):
    with pytest.raises(UnknownFormat, match=r"the name of a pack must end in \.parquet"):
        pack_logdir([tmp_path / "logs"], tmp_path / "new" / name)
    assert not (tmp_path / "new").exists()


def test_a_pack_is_not_packed_again(tmp_path, packed):
    with pytest.raises(BadPack, match="already a pack"):
        pack_logdir([packed], tmp_path / "again.parquet")


def test_mistakes_are_one_line_on_the_command_line(tmp_path, packed, capsys):
    packed.write_bytes(b"PAR1 and nothing else")
    assert main(["ls", str(packed)]) == 2
    assert main(["unpack", str(packed), "-o", str(tmp_path / "new")]) == 2
    assert main(["unpack", str(tmp_path / "logs"), "-o", str(tmp_path / "new")]) == 2
    assert main(["pack", str(tmp_path / "none"), "-o", str(tmp_path / "new.parquet")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert not any("Traceback" in line for line in lines)


def test_run_names_cannot_point_out_of_a_partitioned_folder(tmp_path):
    write_odd_runs(tmp_path / "logs")
    write(tmp_path / "logs" / ("x" * 200) / ("y" * 200) / "a.tfevents.1", points(1))
    folder = pack(tmp_path / "logs", "parts", partition=True)
    assert {len(path.relative_to(folder).parts) for path in folder.rglob("*.parquet")} == {2}
    assert list(rf.open(folder)) == list(rf.open(tmp_path / "logs"))

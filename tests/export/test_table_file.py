"""Tables by suffix: formats, compression, failed writes and bad names."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from runfold._export.formats import FORMATS
from runfold._export.table_file import Format, check_path, write_table
from runfold.errors import OutputExists, RunfoldError, UnknownFormat

COLUMNS = {"tag": ["loss", "loss"], "step": np.array([0, 1]), "mean": np.array([0.5, np.nan])}
CSV = b"tag,step,mean\nloss,0,0.5\nloss,1,nan\n"


def test_the_suffix_determines_the_format_in_any_case():
    assert check_path("out.csv") == Format(".csv")
    assert check_path("a.b/OUT.v2.CSV.GZ") == Format(".csv", ".gz")
    assert [check_path(f"out{suffix}").suffix for suffix in FORMATS] == list(FORMATS)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("out.jsn", r"out\.jsn: unknown format\. Did you mean '\.json'"),
        ("out.xls", "Did you mean '.xlsx'"),
        ("out.csv.gzip", "Did you mean '.gz'"),
        ("out.csv.zip", r"unknown format.* Formats: \.csv, \.tsv, \.json"),
        ("out", "the name has no suffix for a table format. Formats: .csv"),
        ("out.gz", "the name has no suffix for a table format"),
        ("out.parquet.gz", "out.parquet.gz: .parquet files are already compressed"),
        ("evil\x1b[2J.x", r"evil\\x1b"),
    ],
)
def test_an_unknown_suffix_lists_the_formats(tmp_path, path, message):
    with pytest.raises(UnknownFormat, match=message):
        check_path(path)
    with pytest.raises(ValueError, match=message):
        write_table(COLUMNS, tmp_path / path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("suffix", "unpack"),
    [
        ("", bytes),
        (".gz", gzip.decompress),
        (".bz2", bz2.decompress),
        (".xz", lzma.decompress),
        (".zst", lambda data: pa.input_stream(pa.py_buffer(data), compression="zstd").read()),
    ],
)
def test_text_is_compressed_by_a_second_suffix(tmp_path, suffix, unpack):
    path = write_table(COLUMNS, str(tmp_path / f"out.csv{suffix}"))
    assert path == str(tmp_path / f"out.csv{suffix}")
    with open(path, "rb") as file:
        assert unpack(file.read()) == CSV


def test_a_long_table_is_one_frame_of_zstandard(tmp_path):
    steps = np.arange(200_000)
    path = write_table({"step": steps}, tmp_path / "out.csv.zst")
    with open(path, "rb") as file:
        data = file.read()
    size = len("step\n" + "\n".join(map(str, steps.tolist())) + "\n")
    # The decoder stops at the end of the first frame, like pandas's reader.
    assert len(pa.Codec("zstd").decompress(data, size)) == size


@pytest.mark.parametrize("suffix", [*FORMATS, ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst"])
def test_the_same_table_gives_the_same_bytes_under_any_name(tmp_path, suffix):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_table(COLUMNS, first)
    write_table(COLUMNS, second)
    assert first.read_bytes() == second.read_bytes()


FILLING = """
import errno, resource, signal, sys
from runfold._export.table_file import write_table
import numpy as np

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
columns = {"step": np.arange(40_000), "mean": np.random.default_rng(0).random(40_000)}
for suffix in sys.argv[2:]:
    path = f"{sys.argv[1]}/out{suffix}"
    try:
        write_table(columns, path, overwrite=True)
    except OSError as error:
        print(suffix, errno.errorcode[error.errno], error.filename == path)
"""


@pytest.mark.fault(56)
@pytest.mark.without_coverage
def test_a_full_disk_is_an_error_with_the_path_and_the_old_file_stays(tmp_path):
    suffixes = [
        *(".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst"),
        *(".json", ".xlsx", ".parquet", ".feather", ".tex", ".md"),
    ]
    for suffix in suffixes[::2]:
        (tmp_path / f"out{suffix}").write_bytes(b"old")
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", FILLING, tmp_path, *suffixes],
        capture_output=True,
        text=True,
    )
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [f"{suffix} EFBIG True" for suffix in suffixes]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        f"out{suffix}": b"old" for suffix in suffixes[::2]
    }


@pytest.mark.fault(57)
def test_an_existing_table_is_replaced_only_with_overwrite(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")
    with pytest.raises(OutputExists):
        write_table(COLUMNS, path)
    assert path.read_bytes() == b"old"
    write_table(COLUMNS, path, overwrite=True)
    assert path.read_bytes() == CSV


@pytest.mark.parametrize("suffix", FORMATS)
def test_columns_of_different_lengths_are_rejected_and_leave_no_file(tmp_path, suffix):
    with pytest.raises(ValueError, match="the same length: step 2, mean 3"):
        write_table({"step": [1, 2], "mean": [1, 2, 3]}, tmp_path / f"out{suffix}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_table_without_rows_is_written(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    write_table({"tag": [], "step": np.array([], np.int64)}, path)
    contents = {
        ".csv": "tag,step\n",
        ".tsv": "tag\tstep\n",
        ".json": "[]\n",
        ".jsonl": "",
        ".md": "| tag | step |\n| --- | ---: |\n",
    }
    if suffix in contents:
        assert path.read_text() == contents[suffix]
    else:
        assert path.stat().st_size > 0


@pytest.mark.parametrize(
    ("suffix", "digits"), [(".csv", 4), (".xlsx", 4), (".tex", 0), (".md", -1)]
)
def test_digits_are_only_for_tables_that_people_read(tmp_path, suffix, digits):
    with pytest.raises(RunfoldError, match=r"at least 1, and works only with \.tex or \.md"):
        write_table(COLUMNS, tmp_path / f"out{suffix}", digits=digits)


@pytest.mark.parametrize(
    ("suffixes", "unwanted"),
    [
        ([".csv", ".tsv.gz", ".json", ".jsonl", ".tex", ".md", ".xlsx"], ["pandas", "pyarrow"]),
        ([".csv.zst", ".parquet", ".feather"], ["pandas"]),
    ],
)
def test_heavy_modules_are_imported_only_if_needed(tmp_path, suffixes, unwanted):
    code = (
        "import sys\n"
        "from runfold._export.table_file import write_table\n"
        "for suffix in sys.argv[2:]:\n"
        "    columns = {'tag': ['a', None], 'step': [1, None], 'mean': [0.5, 1.0]}\n"
        "    write_table(columns, sys.argv[1] + '/out' + suffix)\n"
        "print(*sys.modules)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, tmp_path, *suffixes],
        capture_output=True,
        check=True,
        text=True,
    )
    assert set(unwanted) & set(ended.stdout.split()) == set()
    assert len(os.listdir(tmp_path)) == len(suffixes)

"""`runfold sql`: output, files and exit status."""

import base64
import csv
import io
import json
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cli_runs import run_apart, run_in_terminal
from helpers.logs import scalars, write
from helpers.sql_logs import PICTURE, write_logdir

from benchmarks.commands import heavy_imports
from runfold._cli import main
from runfold._tables.sql.schema import TABLES

LAST = "select run, value from scalars where tag = 'val/loss' order by run"
ODD = "select step, value from scalars where tag = 'step' order by value"
ENDLESS = "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t"


@pytest.fixture
def logdir(tmp_path: Path) -> str:
    return str(write_logdir(tmp_path / "logs"))


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["sql", *args]) == 0
    return capsys.readouterr().out


def test_rows_are_printed_as_a_table(logdir: str, capsys: pytest.CaptureFixture[str]):
    assert printed(capsys, logdir, LAST) == "run     value\nseed-0      2\nseed-1      3\n"


def test_csv_is_exact(logdir: str, capsys: pytest.CaptureFixture[str]):
    assert printed(capsys, logdir, ODD, "--csv") == (
        "step,value\n7,-inf\n-5,inf\n4611686018427387905,nan\n"
    )
    names = list(csv.DictReader(io.StringIO(printed(capsys, logdir, "from runs", "--csv"))))
    assert names[0]["run"] == "odd 'run'\n😀"
    assert json.loads(names[1]["hparams"])["name"] == "adam"


def test_json_is_strict(logdir: str, capsys: pytest.CaptureFixture[str]):
    assert json.loads(printed(capsys, logdir, ODD, "--json")) == [
        {"step": 7, "value": None},
        {"step": -5, "value": None},
        {"step": 4611686018427387905, "value": None},
    ]
    query = (
        "select data, [1.5, null] l, {'a': date '2020-01-02'} s, 3::hugeint h from images limit 1"
    )
    assert json.loads(printed(capsys, logdir, query, "--json")) == [
        {
            "data": base64.b64encode(PICTURE).decode(),
            "l": [1.5, None],
            "s": {"a": "2020-01-02"},
            "h": 3,
        }
    ]


def test_files_keep_the_types_of_their_format(
    logdir: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    names = [str(tmp_path / f"a{suffix}") for suffix in (".parquet", ".arrow", ".csv", ".json")]
    outputs = [word for name in names for word in ("-o", name)]
    query = "select step, value, run as r, [step] steps from scalars where tag = 'step'"
    assert printed(capsys, logdir, query, *outputs).split() == names
    parquet = pq.read_table(names[0])
    with pa.ipc.open_file(names[1]) as file:
        assert repr(file.read_all().to_pylist()) == repr(parquet.to_pylist())
    assert parquet.column("steps").to_pylist()[0] == [2**62 + 1]
    frame = pd.read_csv(names[2])
    assert frame["step"].tolist() == parquet.column("step").to_pylist()
    assert frame["steps"].tolist() == [f"[{step}]" for step in frame["step"]]
    assert [row["value"] for row in json.loads(Path(names[3]).read_text())][1:] == [
        "Infinity",
        "-Infinity",
    ]


def test_rows_that_parquet_cannot_store_are_rejected(
    logdir: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "a.parquet"
    assert main(["sql", logdir, "select interval 1 day as i", "-o", str(out)]) == 2
    assert "Parquet cannot store these rows." in capsys.readouterr().err
    assert not out.exists()


def test_an_existing_file_is_kept(logdir: str, tmp_path: Path):
    out = tmp_path / "a.csv"
    out.write_text("mine")
    assert main(["sql", logdir, "select 1 a", "-o", str(out)]) == 2
    assert out.read_text() == "mine"
    assert main(["sql", logdir, "select 1 a", "-o", str(out), "-f"]) == 0
    assert out.read_text() == "a\n1\n"


def test_a_query_is_read_from_a_file_or_stdin(
    logdir: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "query.sql"
    file.write_text("-- how many\nselect count(*) n from runs;\n")
    assert printed(capsys, logdir, "--file", str(file)) == "n\n3\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("select 1 as a"))
    assert printed(capsys, logdir, "-") == "a\n1\n"
    file.write_bytes(b"\xff")
    assert main(["sql", logdir, "--file", str(file)]) == 2
    assert "the query is not valid UTF-8." in capsys.readouterr().err


def test_tables_are_listed_without_a_logdir(capsys: pytest.CaptureFixture[str]):
    assert json.loads(printed(capsys, "--tables", "--json")) == TABLES
    shown = printed(capsys, "--schema").split("\n")
    assert shown[1].split() == ["runs", "run", "VARCHAR"]
    assert len(shown) == 2 + sum(map(len, TABLES.values()))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "Specify a logdir and a query"),
        (["{}"], "Specify a logdir and a query"),
        (["{}", "--logdir", "{}", "select 1"], "as an argument or with --logdir, not both"),
        (["{}/nowhere", "select 1"], "nowhere"),
        (["{}", "select x from runs"], "Line 1 of the query: There is no column 'x'"),
        (["{}", "delete from runs"], "DELETE is not allowed"),
        (["{}", "select 1", "--csv", "--json"], "Choose one"),
        (["{}", "select 1", "-o", "a.doc"], "unknown format"),
        (["{}", "select 1", "--limit-memory", "5 apples"], "expected a size such as 500MB"),
        (["{}", "select 1", "--limit-seconds", "-1"], "expected a positive number of seconds"),
        (
            ["{}", "select to_timestamp(1.79e12) as late"],
            "Cast it in the query, for example with `late::var",
        ),
        (["{}", "select date '9999-12-31' + 1 as late", "--csv"], "Column 'late' has a time out"),
        (["{}", "select [timestamp 'infinity'] as late", "--json"], "the years 1 to 9999"),
        (["{}", ENDLESS, "--limit-seconds", "0.1"], "exceeded its time limit of"),
        (["{}", "select list(a) from range(999999999) t(a)", "--limit-memory", "20MB"], "stopped"),
    ],
)
def test_an_error_has_status_2(
    args: list[str], message: str, logdir: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["sql", *(arg.format(logdir) for arg in args)]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


def test_an_empty_folder_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["sql", str(tmp_path), "select 1"]) == 2
    assert "No runs in" in capsys.readouterr().err


def test_problems_of_loaded_runs_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "a", scalars("loss", (0, 1.0), (1, 2.0)))
    file.write_bytes(file.read_bytes()[:-3] + b"xyz")
    assert main(["sql", str(tmp_path), "select count(*) n from scalars"]) == 0
    assert capsys.readouterr() == (
        "n\n1\n",
        f"Found 1 problem. `runfold check {tmp_path}` lists it.\n",
    )


def test_a_window_shows_the_first_rows_without_control_characters(logdir: str):
    query = "select '\x1b[31m' || range as name from range(150)"
    status, shown = run_in_terminal(40, "sql", logdir, query, NO_COLOR="1")
    assert status == 0
    assert shown.split("\n")[:2] == ["name", "\\x1b[31m0"]
    assert shown.endswith("... and 50 more rows; --csv prints all rows.\n")
    assert "\x1b" not in shown


def test_only_the_result_is_printed(logdir: str):
    done = run_apart("sql", logdir, LAST)
    assert (done.returncode, done.stderr) == (0, "")
    assert heavy_imports("sql", logdir, LAST, "--csv") == []

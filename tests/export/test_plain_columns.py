"""How cells are written: missing values, formulas, and special characters of a format."""

import io
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from runfold._export.plain_columns import make_columns
from runfold._export.table_file import write_table
from runfold.errors import RunfoldError


def written(tmp_path, suffix, columns, **options):
    path = tmp_path / f"out{suffix}"
    write_table(columns, path, overwrite=True, **options)
    return path if suffix in (".xlsx", ".parquet") else path.read_bytes().decode()


def sheet(path):
    return list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))


@pytest.mark.parametrize(
    ("values", "kind", "plain"),
    [
        ([1, 2], "int", [1, 2]),
        ([1, 2.5], "float", [1.0, 2.5]),
        ([np.float32(0.5), np.int64(1)], "float", [0.5, 1.0]),
        ([True, np.False_], "bool", [True, False]),
        ([True, 1], "text", ["True", "1"]),
        (["a", 1, None], "text", ["a", "1", None]),
        ([2**63], "text", [str(2**63)]),
        (np.array([2**64 - 1], np.uint64), "text", [str(2**64 - 1)]),
        (np.array([7], np.uint64), "int", [7]),
        (np.array([7], np.uint8), "int", [7]),
        (np.array([0.1], np.float32), "float", [0.10000000149011612]),
        (np.array(["a", "b"]), "text", ["a", "b"]),
        (np.array(["a", None], object), "text", ["a", None]),
        ([None, 2], "int", [None, 2]),
        ([None, 2.5], "float", [None, 2.5]),
        ([None], "text", [None]),
        ([], "text", []),
    ],
)
def test_a_column_has_the_kind_of_its_values(values, kind, plain):
    (column,) = make_columns({"x": values})
    assert (column.kind, column.part()) == (kind, plain)
    assert [type(value) for value in column.part()] == [type(value) for value in plain]


MISSING = {
    "text": ["", None, "a"],
    "flag": [True, None, False],
    "step": [1, None, 3],
    "mean": [float("nan"), None, 0.5],
}


def test_a_missing_value_differs_from_empty_text_and_nan(tmp_path):
    text = written(tmp_path, ".csv", MISSING)
    assert text == 'text,flag,step,mean\n"",true,1,nan\n,,,\na,false,3,0.5\n'
    options = pa.csv.ConvertOptions(
        strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
    )
    read = pa.csv.read_csv(io.BytesIO(text.encode()), convert_options=options)
    assert read["text"].to_pylist() == ["", None, "a"]
    assert written(tmp_path, ".json", MISSING).splitlines()[:2] == [
        '[{"text":"","flag":true,"step":1,"mean":"NaN"},',
        '{"text":null,"flag":null,"step":null,"mean":null},',
    ]
    assert sheet(written(tmp_path, ".xlsx", MISSING))[2] == (None, None, None, None)
    rows = pq.read_table(written(tmp_path, ".parquet", MISSING)).to_pylist()
    assert str(rows[0]) == str({"text": "", "flag": True, "step": 1, "mean": float("nan")})
    assert rows[1:] == [
        {"text": None, "flag": None, "step": None, "mean": None},
        {"text": "a", "flag": False, "step": 3, "mean": 0.5},
    ]


def test_a_row_with_only_a_missing_value_is_kept(tmp_path):
    path = tmp_path / "out.csv"
    write_table({"step": [1, None, 3]}, path)
    assert pd.read_csv(path)["step"].isna().tolist() == [False, True, False]


FORMULAS = ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "a=1", "", "'", "#N/A", "1", "TRUE"]
ESCAPED = [*("'" + text for text in FORMULAS[:7]), *FORMULAS[7:]]


@pytest.mark.fault(64)
def test_text_in_excel_is_text_and_never_a_formula(tmp_path):
    path = written(tmp_path, ".xlsx", {"=A1": FORMULAS})
    heading, *cells = (row[0] for row in openpyxl.load_workbook(path).active.iter_rows())
    assert heading.value == "=A1"
    assert [cell.value or "" for cell in cells] == FORMULAS
    assert {cell.data_type for cell in (heading, *cells) if cell.value} == {"s"}
    assert b"<f>" not in zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")


@pytest.mark.fault(64)
def test_formulas_are_escaped_by_option_and_numbers_stay_numbers(tmp_path):
    columns = {"=A1": FORMULAS, "mean": np.full(len(FORMULAS), -np.inf)}
    columns["step"] = np.full(len(FORMULAS), -(2**63))
    for suffix, separator in ((".csv", ","), (".tsv", "\t")):
        text = written(tmp_path, suffix, columns, escape_formulas=True)
        read = pa.csv.read_csv(
            io.BytesIO(text.encode()),
            parse_options=pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(column_types={"'=A1": pa.string()}),
        )
        assert read["'=A1"].to_pylist() == ESCAPED
        assert text.splitlines()[0].split(separator)[0] == "'=A1"
        assert set(read["mean"].to_pylist()) == {-np.inf}
        assert set(read["step"].to_pylist()) == {-(2**63)}
        plain = written(tmp_path, suffix, columns)
        assert plain.startswith("=A1")
        assert "'=" not in plain
    rows = sheet(written(tmp_path, ".xlsx", columns, escape_formulas=True))
    assert [(text or "", *rest) for text, *rest in rows] == [
        ("'=A1", "mean", "step"),
        *((text, "-inf", str(-(2**63))) for text in ESCAPED),
    ]


def test_excel_escapes_invalid_xml_and_shortens_long_text(tmp_path):
    text = ["nul\0 esc\x1b \ud800 \udc80 \uffff\r\t\n", "a" * 40_000, "_x000D_ _x41_"]
    rows = [row[0] for row in sheet(written(tmp_path, ".xlsx", {"tag": text}))[1:]]
    assert rows[0] == "nul\\x00 esc\\x1b \\ud800 \\x80 \\uffff\r\t\n"
    assert rows[1].endswith("a (40,000 characters)")
    assert len(rows[1]) < 32_767
    assert rows[2] == "_x005F_x000D_ _x41_"  # Excel shows the original text


def test_a_table_too_long_for_excel_is_rejected_and_leaves_no_file(tmp_path):
    with pytest.raises(RunfoldError, match=r"1,048,576 rows.*1,048,577.*use \.parquet or \.csv"):
        write_table({"step": np.arange(1_048_576)}, tmp_path / "out.xlsx")
    with pytest.raises(RunfoldError, match="16,384 columns"):
        write_table({f"tag{number}": [0] for number in range(16_385)}, tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_the_columns_of_a_wide_sheet_are_in_order(tmp_path):
    names = [f"tag{number}" for number in range(730)]
    rows = sheet(written(tmp_path, ".xlsx", {name: [name] for name in names}))
    assert [list(row) for row in rows] == [names, names]


def test_a_name_that_is_not_utf8_is_written_escaped(tmp_path):
    columns = {"run\udc80": ["seed\udcff"]}
    shown = {"run\\x80": ["seed\\xff"]}
    assert written(tmp_path, ".csv", columns) == "run\\x80\nseed\\xff\n"
    frame = pd.read_json(io.StringIO(written(tmp_path, ".json", columns)))
    assert frame.to_dict("list") == shown
    assert written(tmp_path, ".tex", columns).count("\\textbackslash{}x") == 2
    assert sheet(written(tmp_path, ".xlsx", columns)) == [("run\\x80",), ("seed\\xff",)]
    assert pq.read_table(written(tmp_path, ".parquet", columns)).to_pydict() == shown


def test_only_repeated_text_is_dictionary_encoded(tmp_path):
    columns = {"tag": ["a", "b"] * 50, "run": [str(number) for number in range(100)]}
    read = pq.read_table(written(tmp_path, ".parquet", columns))
    assert pa.types.is_dictionary(read.schema.field("tag").type)
    assert read.schema.field("run").type == pa.string()
    assert read.to_pydict() == columns


MARKED = {"tag": ["a|b_c", "*x* <b>&", "[y] ~z~ $1$ _w_", "--lr\n"], "mean": [0.5, -1, 2, 3]}


def test_special_characters_of_markdown_are_escaped(tmp_path):
    assert written(tmp_path, ".md", MARKED) == (
        "| tag                     | mean |\n"
        "| ----------------------- | ---: |\n"
        "| a\\|b_c                  |  0.5 |\n"
        "| \\*x\\* &lt;b\\>&amp;      | -1.0 |\n"
        "| \\[y\\] \\~z\\~ \\$1\\$ \\_w\\_ |  2.0 |\n"
        "| --lr\\\\n                 |  3.0 |\n"
    )


def test_special_characters_of_latex_are_escaped(tmp_path):
    assert written(tmp_path, ".tex", MARKED) == (
        "% \\usepackage{booktabs}\n\\begin{tabular}{lr}\n\\toprule\ntag & mean \\\\\n\\midrule\n"
        "a\\textbar{}b\\_c & 0.5 \\\\\n"
        "{*}x{*} \\textless{}b\\textgreater{}\\& & -1.0 \\\\\n"
        "{[}y] \\textasciitilde{}z\\textasciitilde{} \\$1\\$ \\_w\\_ & 2.0 \\\\\n"
        "-{}-lr\\textbackslash{}n & 3.0 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def test_digits_round_only_the_fraction_of_floats(tmp_path):
    columns = {
        "step": [2**53 + 1, 10, 123456],
        "wall_time": [1700000000.25, 9999.96, 1e300],
        "mean": [0.123456, -1.23456e-7, float("-inf")],
    }
    lines = written(tmp_path, ".md", columns, digits=4).splitlines()[2:]
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines] == [
        ["9007199254740993", "1700000000", "0.1235"],
        ["10", "10000", "-1.235e-07"],
        ["123456", "1e+300", "-inf"],
    ]
    assert "0.1235 \\\\" in written(tmp_path, ".tex", columns, digits=4)

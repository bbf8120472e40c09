"""Other readers get back the same numbers and text from every format."""

import csv
import html
import json
import math
import re
import tempfile
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from runfold._export.table_file import write_table
from runfold._humanize import escape

# Characters that XML can represent. In Excel files, the others are escaped (tested elsewhere).
XML = st.characters(exclude_characters="\ufffe\uffff", exclude_categories=["Cs", "Cc"])
TEXTS = st.text(XML | st.sampled_from("\t\n\r\"'\\|&%$#_{}~^<>[]*-`=,"))
FLOATS = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308])
INTS = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(st.tuples(TEXTS, st.booleans(), INTS, FLOATS), max_size=8)
NAMES = ["some text", "a flag", "step", "mean"]


def table(rows):
    text, flags, steps, means = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = [list(text), np.array(flags, bool), np.array(steps, np.int64), np.array(means)]
    return dict(zip(NAMES, columns, strict=True))


def plain(rows):
    """Return rows in a comparable form, in which NaN equals NaN and -0.0 differs from 0.0."""
    return [(text, bool(flag), int(step), repr(float(mean))) for text, flag, step, mean in rows]


def from_words(rows):
    return plain((text, {"true": 1, "false": 0}[flag], *rest) for text, flag, *rest in rows)


def read_delimited(path, separator):
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file, delimiter=separator)
    return names, from_words(rows)


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        records = json.load(file, parse_constant=refuse)
    return list(records[0]) if records else NAMES, plain(record.values() for record in records)


def read_jsonl(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        records = [json.loads(line, parse_constant=refuse) for line in file]
    return list(records[0]) if records else NAMES, plain(record.values() for record in records)


def read_excel(path):
    names, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    return list(names), plain((text or "", *rest) for text, *rest in rows)


def read_arrow(path):
    content = pa.ipc.open_file(path).read_all()
    return content.column_names, plain(zip(*content.to_pydict().values(), strict=True))


def read_parquet(path):
    content = pq.read_table(path)
    return content.column_names, plain(zip(*content.to_pydict().values(), strict=True))


LATEX = {
    **{f"\\{char}": char for char in "&%$#_{}"},
    **{"{[}": "[", "{*}": "*", "-{}": "-"},
    **{"\\textbackslash{}": "\\", "\\textasciitilde{}": "~", "\\textasciicircum{}": "^"},
    **{"\\textless{}": "<", "\\textgreater{}": ">", "\\textbar{}": "|"},
}
LATEX_WORD = re.compile("|".join(map(re.escape, sorted(LATEX, key=len, reverse=True))))


def read_latex(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        body = file.read().split("\\toprule\n")[1].split("\\bottomrule")[0]
    lines = [line.removesuffix(" \\\\") for line in body.split("\n") if line[-2:] == "\\\\"]
    names, *rows = (
        [LATEX_WORD.sub(lambda found: LATEX[found[0]], cell) for cell in line.split(" & ")]
        for line in lines
    )
    return names, from_words(rows)


def read_markdown(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(file.read())
    names, *rows = (
        [html.unescape(cell) for cell in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall("<tr>(.*?)</tr>", page, re.DOTALL)
    )
    return names, from_words(rows)


READERS = {
    ".csv": lambda path: read_delimited(path, ","),
    ".tsv": lambda path: read_delimited(path, "\t"),
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".xlsx": read_excel,
    ".parquet": read_parquet,
    ".feather": read_arrow,
    ".arrow": read_arrow,
}


@pytest.mark.parametrize("suffix", READERS)
@given(rows=ROWS)
@settings(max_examples=60)
def test_numbers_and_text_come_back_exactly(suffix, rows):
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(table(rows), f"{folder}/out{suffix}")
        assert READERS[suffix](path) == (NAMES, plain(rows))


@pytest.mark.parametrize(("suffix", "read"), [(".tex", read_latex), (".md", read_markdown)])
@given(rows=ROWS)
@example(rows=[("__a__ b_c_ **d**", True, 1, 0.5), ("[x](y) <b>&lt;", False, -1, math.nan)])
@settings(max_examples=60)
def test_numbers_come_back_exactly_from_a_table_for_people_and_text_escaped(suffix, read, rows):
    with tempfile.TemporaryDirectory() as folder:
        names, read_rows = read(write_table(table(rows), f"{folder}/out{suffix}"))
    assert names == NAMES
    shown = [(escape(text, 10**6), *rest) for text, *rest in rows]
    assert [(text.strip(), *rest) for text, *rest in read_rows] == [
        (text.strip(), *rest) for text, *rest in plain(shown)
    ]


SPECIAL: dict[str, Any] = {
    "lr": np.array([0.1, 1e-5, 3.0, 1e22, 0.1 + 0.2]),
    "step": np.array([0, -1, 2**53 + 1, -(2**63), 2**63 - 1]),
    "mean": np.array([np.nan, np.inf, -np.inf, -0.5, 1.7976931348623157e308]),
    "nothing": np.full(5, np.nan),
    "is_best": np.array([True, False, True, True, False]),
    "tag": ["val/loss", "a,b", 'say "x"', "größe\nüber", "=1+1"],
}


@pytest.mark.parametrize(
    ("suffix", "read"),
    [
        (".csv", pd.read_csv),
        (".csv.gz", pd.read_csv),
        (".tsv.xz", lambda path: pd.read_csv(path, sep="\t")),
        (".json", lambda path: pd.read_json(path, precise_float=True)),
        (".json.bz2", lambda path: pd.read_json(path, precise_float=True)),
        (".jsonl", lambda path: pd.read_json(path, lines=True, precise_float=True)),
        (".xlsx", pd.read_excel),
        (".parquet", pd.read_parquet),
        (".feather", pd.read_feather),
    ],
)
def test_pandas_reads_the_same_numbers_and_types(tmp_path, suffix, read):
    frame = read(write_table(SPECIAL, tmp_path / f"out{suffix}"))
    assert list(frame) == list(SPECIAL)
    for name, values in SPECIAL.items():
        if name == "tag":
            assert frame[name].tolist() == values
        else:
            assert frame[name].dtype == values.dtype, name
            np.testing.assert_array_equal(frame[name], values, name)

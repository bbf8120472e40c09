"""docs/reference/sql.md lists every table and column, and its queries are valid."""

import re
from pathlib import Path

import pytest
from helpers.checkout import ROOT
from helpers.sql_logs import open_logdir

from runfold._tables.sql.schema import TABLES
from runfold.errors import BadQuery

TEXT = (ROOT / "docs" / "reference" / "sql.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)


def test_the_page_lists_every_column():
    listed = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", TEXT, re.MULTILINE)
    assert {table: columns.split(", ") for table, columns in listed} == {
        table: list(columns) for table, columns in TABLES.items()
    }


def test_the_page_has_queries():
    assert len(QUERIES) == 6


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_page_returns_rows(query: str, tmp_path: Path):
    assert len(open_logdir(tmp_path).sql(query)) > 0


def test_the_page_shows_the_message_of_a_wrong_query(tmp_path: Path):
    with pytest.raises(BadQuery) as raised:
        open_logdir(tmp_path).sql("select tga from scalars")
    assert f"```\n{raised.value}\n```" in TEXT

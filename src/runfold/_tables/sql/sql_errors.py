"""DuckDB's errors as Runfold's errors, with similar names and the location."""

from __future__ import annotations

import re

from runfold._humanize import did_you_mean, escape
from runfold._tables.sql.schema import TABLES
from runfold.errors import BadQuery, QueryStopped, RunfoldError

_KIND = re.compile(r"^([A-Z][A-Za-z ]* Error): ")
_LOCATION = re.compile(r"\n+LINE ([0-9]+): (.*)\n( *\^+)", re.DOTALL)
_NO_TABLE = re.compile(r"Table with name (.*) does not exist!", re.DOTALL)
_NO_COLUMN = re.compile(
    r'(?:Referenced column |have a column named )"(.*?)"(?: not found|$)', re.DOTALL | re.MULTILINE
)
_CANDIDATES = re.compile(r"Candidate bindings: (.*)", re.DOTALL)
_LOCKED = ("disabled by configuration", "disabled through configuration", "has been locked")
_ONLY_TABLES = "A query can read only the tables of the logdir, not files, the network or settings."
_LONGEST = 1000


def explain(error: Exception) -> RunfoldError | None:
    """Return the error to raise instead of a DuckDB error; None if the error is not DuckDB's."""
    import duckdb

    message = str(error)
    # Errors while rows are fetched arrive as Arrow exceptions with the same text.
    if not isinstance(error, duckdb.Error) and not _KIND.match(message):
        return None
    fact = _KIND.sub("", message)
    if message.startswith("Out of Memory Error"):
        return QueryStopped(
            "The query was stopped because it exceeded its memory limit. Select less data, or"
            " raise the limit (limit_memory in Python, --limit-memory in `runfold sql`)."
        )
    location = _LOCATION.search(fact)
    if location:
        fact = fact[: location.start()]
    hint = ""
    table, column = _NO_TABLE.search(fact), _NO_COLUMN.search(fact)
    if table:
        fact = f"There is no table '{escape(table[1])}'."
        hint = did_you_mean(table[1], TABLES) or f"Available: {', '.join(TABLES)}."
    elif column:
        similar = _CANDIDATES.search(fact)
        fact = f"There is no column '{escape(column[1])}' in the tables of the query."
        hint = did_you_mean(column[1], {name for table in TABLES.values() for name in table})
        if not hint and similar:
            hint = f"Similar names: {escape(similar[1].strip())}."
    elif any(word in fact for word in _LOCKED):
        hint = _ONLY_TABLES
    message = " ".join(filter(None, [_plain(fact), hint]))
    return BadQuery(f"{_line_number(location)}{message}{_line(location)}")


def _line_number(location: re.Match[str] | None) -> str:
    return f"Line {location[1]} of the query: " if location else ""


def _line(location: re.Match[str] | None) -> str:
    """Return the line of the query with the error underlined."""
    if location is None:
        return ""
    indent = len("LINE : ") + len(location[1])
    # DuckDB ignores tabs and other control characters when it positions the marks.
    line = "".join(filter(str.isprintable, location[2]))
    return f"\n  {line}\n  {location[3][indent:]}"


def _plain(fact: str) -> str:
    lines = (line.strip() for line in fact.split("\n"))
    plain = escape(" ".join(filter(None, lines)), _LONGEST)
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."

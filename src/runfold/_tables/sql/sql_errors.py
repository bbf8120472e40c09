"""What DuckDB complains of, in the words of our errors: the fact, the near names, the place."""

from __future__ import annotations

import re

from runfold._humanize import did_you_mean, escape
from runfold._tables.sql.schema import TABLES
from runfold.errors import BadQuery, QueryStopped, RunfoldError

_KIND = re.compile(r"^([A-Z][A-Za-z ]* Error): ")
_PLACE = re.compile(r"\n+LINE ([0-9]+): (.*)\n( *\^+)", re.DOTALL)
_NO_TABLE = re.compile(r"Table with name (.*) does not exist!", re.DOTALL)
_NO_COLUMN = re.compile(
    r'(?:Referenced column |have a column named )"(.*?)"(?: not found|$)', re.DOTALL | re.MULTILINE
)
_CANDIDATES = re.compile(r"Candidate bindings: (.*)", re.DOTALL)
_SHUT = ("disabled by configuration", "disabled through configuration", "has been locked")
_ONLY_TABLES = (
    "A query reads the tables of the logdir and nothing else: no file, network or setting."
)
_LONGEST = 1000


def explain(error: Exception) -> RunfoldError | None:
    """The error to raise for one of DuckDB's; None for one that is not DuckDB's."""
    import duckdb

    said = str(error)
    # What goes wrong while rows are fetched comes through Arrow, with the same text.
    if not isinstance(error, duckdb.Error) and not _KIND.match(said):
        return None
    fact = _KIND.sub("", said)
    if said.startswith("Out of Memory Error"):
        return QueryStopped(
            "The query was stopped: it needs more memory than its limit. Ask for less, or allow"
            " more: limit_memory in Python, --limit-memory of `runfold sql`."
        )
    place = _PLACE.search(fact)
    if place:
        fact = fact[: place.start()]
    hint = ""
    table, column = _NO_TABLE.search(fact), _NO_COLUMN.search(fact)
    if table:
        fact = f"There is no table '{escape(table[1])}'."
        hint = did_you_mean(table[1], TABLES) or f"There are {', '.join(TABLES)}."
    elif column:
        near = _CANDIDATES.search(fact)
        fact = f"There is no column '{escape(column[1])}' in the tables of the query."
        hint = did_you_mean(column[1], {name for table in TABLES.values() for name in table})
        if not hint and near:
            hint = f"Near ones: {escape(near[1].strip())}."
    elif any(word in fact for word in _SHUT):
        hint = _ONLY_TABLES
    shown = " ".join(filter(None, [_plain(fact), hint]))
    return BadQuery(f"{_where(place)}{shown}{_line(place)}")


def _where(place: re.Match[str] | None) -> str:
    return f"Line {place[1]} of the query: " if place else ""


def _line(place: re.Match[str] | None) -> str:
    """The line in question, and what in it, underlined."""
    if place is None:
        return ""
    indent = len("LINE : ") + len(place[1])
    # DuckDB gives no room to tabs and the like when it sets the marks.
    line = "".join(filter(str.isprintable, place[2]))
    return f"\n  {line}\n  {place[3][indent:]}"


def _plain(fact: str) -> str:
    lines = (line.strip() for line in fact.split("\n"))
    plain = escape(" ".join(filter(None, lines)), _LONGEST)
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."

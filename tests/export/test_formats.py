"""Every format is declared once, in its module, where every command finds it."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.checkout import ROOT
from helpers.logs import scalars, write
from helpers.recipes import Changed

from runfold._cli import main
from runfold._export.compression import COMPRESSIONS
from runfold._export.formats import FORMATS

# The module that a contributor adds for a format.
NEW_FORMAT = {
    "_export/formats/wiki.py": """
from runfold._export.cell_text import Spelling
from runfold._export.table_format import TableFormat


def spell(columns, options):
    yield "!" + "!!".join(column.name for column in columns) + "\\n"
    for rows in Spelling(text=str).rows(columns):
        for row in rows:
            yield "|" + "||".join(row) + "\\n"


FORMATS = (TableFormat(suffix=".wiki", spell=spell, is_rounded=True, is_for_spreadsheets=True),)
""",
}

COMMANDS = """
import contextlib, io
from runfold._cli import main

for words in (
    ["reduce", "log", "-r", "mean", "-o", "reduced.wiki"],
    ["table", "log", "-o", "table.wiki"],
    ["export", "log", "-o", "exported.wiki.gz"],
    ["export", "log", "-o", "out/", "--format", "wiki"],
    ["sql", "log", "select step, value from scalars order by step", "-o", "rows.wiki"],
):
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(words) == 0, words
for name in ("reduce", "compare", "table", "export", "sql"):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        main([name, "--help"])
    print(name, shown.getvalue().count(".wiki"))
main(["table", "log", "-o", "out.wikki"])
"""


@pytest.mark.parametrize("suffix", [*FORMATS, *COMPRESSIONS])
def test_documentation_names_every_suffix(suffix: str) -> None:
    assert f"{suffix}`" in (ROOT / "docs" / "guides" / "export.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", FORMATS)
def test_format_has_one_writer(suffix: str) -> None:
    table_format = FORMATS[suffix]
    assert table_format.suffix == suffix == suffix.lower()
    assert (
        sum(map(bool, (table_format.spell, table_format.write_sheets, table_format.write_arrow)))
        == 1
    )


@pytest.mark.parametrize("command", ["reduce", "compare", "table", "export", "sql"])
def test_help_lists_every_format(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    words = {word.strip(",;.()") for word in capsys.readouterr().out.split()}
    assert {suffix.strip(".") for suffix in (*FORMATS, *COMPRESSIONS)} <= words


def test_formats_are_listed_without_numpy() -> None:
    code = "import sys, runfold._export.formats; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_new_format_needs_one_file(tmp_path: Path) -> None:
    assert len(NEW_FORMAT) == 1
    package = Changed(tmp_path, NEW_FORMAT)
    write(tmp_path / "log", scalars("loss", (0, 0.5), (1, 0.25)))
    done = package.run("-c", COMMANDS)
    assert done.returncode == 0, done.stderr
    # The new format is in the lists of formats, rounded formats and spreadsheet formats.
    assert done.stdout.splitlines() == ["reduce 3", "compare 2", "table 2", "export 2", "sql 2"]
    assert "Did you mean '.wiki'" in done.stderr
    listed = done.stderr.partition("Formats: ")[2].partition(";")[0]
    assert sorted(listed.split(", ")) == sorted([*FORMATS, ".wiki"])
    assert (tmp_path / "reduced.wiki").read_text().startswith("!tag!!step!!")
    assert (tmp_path / "rows.wiki").read_text() == "!step!!value\n|0||0.5\n|1||0.25\n"
    assert sorted(path.name for path in tmp_path.rglob("*.wiki*")) == [
        *("exported.wiki.gz", "reduced.wiki", "rows.wiki", "scalars.wiki", "table.wiki"),
    ]

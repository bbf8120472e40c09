"""Every part of Runfold covers every registered kind; a failing test names the kind."""

import inspect
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from helpers.checkout import ROOT
from helpers.recipes import Changed
from helpers.writers import PIXELS
from helpers.writers import torch as write_all_kinds

import runfold as rf
from runfold._cli import main
from runfold._core.encoder import EventBuffer
from runfold._core.event import Form
from runfold._edit.edit_rules import STRIPPABLE, Rules
from runfold._events import value_encoding as values
from runfold._events.kinds import KINDS, PLUGIN_KINDS, SCALAR, TABLES, Kind, kind_of
from runfold._export import dump
from runfold._pack.pack_layout import SCALAR as PACKED_SCALAR
from runfold._tables.by_run.run_columns import COUNTED, FIXED
from runfold._tables.frames.decoded_values import ROWS
from runfold._tables.frames.frame_methods import Frames
from runfold._tables.sql.schema import TABLES as SQL_TABLES

EVERY = list(KINDS.values())
IDS = list(KINDS)
STORED = [kind for kind in EVERY if kind.is_in_event_files and kind.name != SCALAR]
every_kind = pytest.mark.parametrize("kind", EVERY, ids=IDS)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "run")
    with rf.SummaryWriter(folder / "boxes") as writer:
        writer.add_image_with_boxes("p", PIXELS, [[0, 0, 2, 2]], dataformats="HWC")
    return folder


def first_tag(logdir: Path, kind: Kind) -> tuple[str, str]:
    """Return the first run and tag of a kind, as arguments for `runfold show`."""
    for name, run in rf.open(logdir).items():
        if tags := run.tags.get(kind.name):
            return name, tags[0] or kind.name
    pytest.fail(f"the test's `logdir` has no value of kind {kind.name}")


@every_kind
def test_kind_has_its_table(kind: Kind, logdir: Path) -> None:
    method = getattr(Frames, kind.plural, None)
    assert method is not None, f"Frames has no method {kind.plural}"
    assert inspect.getdoc(method)
    runs = rf.open(logdir)
    table = getattr(runs, kind.plural)()
    assert len(table)
    expected = kind.columns or (kind.value_column,) * bool(kind.value_column)
    assert list(table.columns[len(table.columns) - len(expected) :]) == list(expected)
    for _, further in kind.tables:
        assert callable(getattr(runs, further))


@every_kind
def test_kind_is_shown_and_listed(
    kind: Kind, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, tag = first_tag(logdir, kind)
    assert main(["show", str(logdir), run, tag, "--kind", kind.name]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 1
    assert main(["show", str(logdir), run, tag, "--kind", kind.name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == kind.name
    assert main(["ls", "--tags", str(logdir)]) == 0
    listed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any(kind.name in words for words in listed)


@every_kind
def test_kind_is_exported(kind: Kind, logdir: Path, tmp_path: Path) -> None:
    done = rf.open(logdir).export(tmp_path / "out.jsonl", kind.name)
    assert done.rows[kind.name] == len((tmp_path / "out.jsonl").read_text().splitlines())
    assert dump.TABLES[kind.name] == kind.plural
    assert TABLES.items() <= dump.TABLES.items()


@every_kind
def test_table_of_runs_shows_or_counts_kind(kind: Kind, logdir: Path) -> None:
    overview = rf.open(logdir).table()
    if kind.has_own_column:
        assert kind.name not in COUNTED
    else:
        assert overview[COUNTED[kind.name]].sum()


@every_kind
def test_kind_in_event_files_can_be_stripped(kind: Kind) -> None:
    assert (kind.name in STRIPPABLE) == kind.is_in_event_files
    if kind.is_in_event_files:
        assert kind.name in Rules(strip=kind.name).strip


@pytest.mark.parametrize("kind", STORED, ids=[kind.name for kind in STORED])
def test_kind_has_a_decoder_of_summary_values(kind: Kind) -> None:
    assert kind.name in ROWS
    assert isinstance(kind.module, ModuleType)
    names = ("locate", "decode_value") if kind.is_in_events else ("locate", "decode")
    assert any(callable(getattr(kind.module, name, None)) for name in names)


@every_kind
def test_help_of_export_names_kind(kind: Kind, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--help"]) == 0
    assert kind.name in capsys.readouterr().out.replace(",", "").split()


@every_kind
def test_documentation_names_kind(kind: Kind) -> None:
    words = (
        (ROOT / "docs" / "guides" / "export.md")
        .read_text(encoding="utf-8")
        .replace(",", "")
        .split()
    )
    assert {kind.name, *dict(kind.tables)} <= set(words)


def test_query_tables_are_named_like_kinds() -> None:
    assert set(SQL_TABLES) - {"runs", "problems"} <= {kind.plural for kind in EVERY}


def test_names_and_tables_are_unique_and_plugins_have_one_kind() -> None:
    names = [*TABLES, *(kind.plural for kind in EVERY if kind.plural != kind.name)]
    assert len(set(names)) == len(names)
    assert not {kind.plural for kind in EVERY} & set(FIXED)
    plugins = [plugin for kind in EVERY for plugin in kind.plugins]
    assert len(set(plugins)) == len(plugins) == len(PLUGIN_KINDS)
    assert PACKED_SCALAR == SCALAR
    assert all(kind.follows in KINDS for kind in EVERY if kind.follows)


def test_form_determines_the_kind_before_the_plugin() -> None:
    assert kind_of(Form.SCALAR, "images") == "scalar"
    assert kind_of(Form.IMAGE, "scalars") == "image"
    assert kind_of(Form.TENSOR, "images") == "image"
    assert kind_of(Form.TENSOR, "scalars") == "tensor"  # more than one number
    assert kind_of(Form.TENSOR, "unknown") == "tensor"
    assert kind_of(Form.NOTHING, "hparams") == "hparams"


def test_restart_does_not_hide_values_that_describe_the_run(tmp_path: Path) -> None:
    layout = values.tensor("custom_scalars__config__", np.array(b"", object), "custom_scalars")
    buffer = EventBuffer()
    for step in (0, 1):
        buffer.value(layout, step, 1.0)
        buffer.value(values.text("note", "one"), step, 1.0)
    buffer.session_start(1, 2.0)
    (tmp_path / "events.out.tfevents.1").write_bytes(buffer.getvalue())
    runs = rf.open(tmp_path)
    assert runs.layouts()["step"].tolist() == [0, 1]
    assert runs.text()["step"].tolist() == [0]


# What a contributor adds for a new kind: its declaration, its module and its method.
NEW_KIND = {
    "_events/kinds/__init__.py": (
        '        Kind("boxes", "boxes",',
        '        Kind("spot", "spots", ("my_spots",), columns=("x", "rest")),\n',
    ),
    "_events/kinds/spot.py": """
from dataclasses import dataclass

import numpy as np

from runfold._events.kinds import stored_value as stored


@dataclass
class Spot:
    x: float
    rest: np.ndarray


def decode(value):
    array = stored.tensor_of(stored.parse(value), "a spot")
    return Spot(float(array[0]), array[1:])
""",
    "_tables/frames/frame_methods.py": (
        "    def embeddings(",
        "    def spots(self, tags=None, *, runs=None):\n"
        '        """Every spot."""\n'
        '        return self._frame("spot", tags, runs)\n\n',
    ),
}


def test_new_kind_takes_three_files(tmp_path: Path) -> None:
    assert len(NEW_KIND) <= 4
    package = Changed(tmp_path, NEW_KIND)
    buffer = EventBuffer()
    buffer.value(values.tensor("p", np.array([1.5, 2.0, 3.0]), "my_spots"), 7, 1.0)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "events.out.tfevents.1").write_bytes(buffer.getvalue())

    def run(*arguments: str) -> str:
        done = package.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    script = "import runfold as rf; runs = rf.open('log'); row, = runs.spots('p').to_numpy();"
    assert run("-c", f"{script} print(row[2], row[4], row[5].tolist())") == "7 1.5 [2.0, 3.0]\n"
    assert run("-c", f"{script} print(runs.tags, runs.table()['spots'].tolist())") == (
        "{'spot': ['p']} [1]\n"
    )
    shown = run("-m", "runfold", "show", "log", "p")
    assert "p in run .: spot, 1 value, step 7\n" in shown
    assert "x     1.5\nrest  float64 of shape (2,)\n" in shown
    assert run("-m", "runfold", "ls", "--tags", "log").split()[-4:] == ["p", "spot", "1", "7"]
    run("-m", "runfold", "export", "log", "-o", "out/", "--format", "jsonl")
    (row,) = map(json.loads, (tmp_path / "out" / "spots.jsonl").read_text().splitlines())
    assert (row["tag"], row["x"], row["rest"]) == ("p", 1.5, [2.0, 3.0])
    assert run("-m", "runfold", "check", "log") == ""
    run("-m", "runfold", "edit", "log", "--strip", "spot", "-o", "stripped")
    assert run("-c", "import runfold as rf; print(rf.open('stripped').tags)") == "{}\n"

"""What the server and the page share: every consumer covers all of it, and no copy differs."""

import json
import runpy
import subprocess
import sys
import typing

import msgspec
import pytest
from helpers.checkout import ROOT
from helpers.cli_runs import write_kinds
from helpers.logs import hparams, scalars, write
from helpers.serve_client import Client
from msgspec import inspect

from runfold._serve import page_vocabulary as words
from runfold._serve.app import gather_routes
from runfold._serve.http.endpoint import list_endpoints
from runfold._serve.http.request_fields import RequestFields, fields_of
from runfold._serve.report.page_view import FIELDS, read_view
from runfold._serve.report.view_requests import VISITS

gather_routes()
ENDPOINTS = list_endpoints()
GENERATOR = runpy.run_path(str(ROOT / "web" / "generate.py"))
FILES = GENERATOR["make_files"]()
APP = (ROOT / "web" / "src" / "app.tsx").read_text(encoding="utf-8")
# What a page may not import where it is built: everything but NumPy and the standard library.
LIST_IMPORTS = """
import sys
before = {*sys.modules, *sys.stdlib_module_names}
import runfold._serve.page_vocabulary
tops = {name.partition(".")[0] for name in sys.modules}
print(*sorted(tops - before - {"numpy", "runfold"}))
print(*(name for name in sys.modules if name.startswith("runfold._core")))
"""


def interface(name: str) -> str:
    """The lines between the braces of a generated interface."""
    _, found, rest = "\n".join(FILES.values()).partition(f"export interface {name} ")
    assert found, name
    return rest.partition("{\n")[2].partition("}\n")[0]


def fields_in_page(name: str) -> dict[str, str]:
    lines = interface(name).splitlines()
    return dict(line.strip().rstrip(";").split(": ", 1) for line in lines)


def test_every_tab_has_a_component_and_what_a_report_takes_of_it():
    views = APP.partition("const VIEWS")[2].partition("};")[0]
    assert [line.split(":")[0].strip() for line in views.splitlines()[1:]] == list(words.TABS)
    # A report has no TensorBoards, which need a server.
    assert [*VISITS, "boards"] == list(words.TABS)


def test_every_field_of_the_view_is_in_the_page_and_its_address():
    assert list(fields_in_page("View")) == list(FIELDS)
    defaults = FILES["vocabulary.ts"].partition("DEFAULTS: View = ")[2].partition(";\n")[0]
    assert list(json.loads(defaults)) == list(FIELDS)


@pytest.mark.parametrize("centre", words.CENTRES)
@pytest.mark.parametrize("band", words.BANDS)
def test_every_centre_and_band_is_folded_or_refused_as_the_page_is_told(tmp_path, centre, band):
    for seed in range(3):
        write(tmp_path / f"seed-{seed}", scalars("loss", (0, 1.0 * seed), (1, 2.0 * seed)))
    client = Client(tmp_path)
    if band in words.BANDS_AROUND[centre]:
        table = client.post("/api/fold", tags=["loss"], centre=centre, band=band)
        assert {"centre", "low", "high"} <= set(table.column_names)
        assert table.num_rows == 2
        read_view(f"centre={centre}&band={band}")
    else:
        status, error = client.refused("/api/fold", tags=["loss"], centre=centre, band=band)
        assert status == 400
        assert f"no band around the {centre}" in error


def type_in_page(kind: inspect.Type, name: str = "") -> str:
    """The TypeScript of what msgspec really takes, lists read-only."""
    literals = {frozenset(typing.get_args(of)): name for name, of in vars(words).items()}
    if isinstance(kind, inspect.UnionType):
        return " | ".join(map(type_in_page, kind.types))
    if isinstance(kind, inspect.LiteralType):
        return literals[frozenset(kind.values)]
    if isinstance(kind, inspect.VarTupleType):
        return f"readonly {type_in_page(kind.item_type)}[]"
    if isinstance(kind, inspect.TupleType):
        return f"readonly [{', '.join(map(type_in_page, kind.item_types))}]"
    if isinstance(kind, inspect.StructType):
        return kind.cls.__name__
    if isinstance(kind, inspect.IntType) and kind.ge == -(1 << 63):
        return "Step"
    plain = {
        inspect.StrType: "string",
        inspect.IntType: "number",
        inspect.FloatType: "number",
        inspect.BoolType: "boolean",
        inspect.NoneType: "null",
    }
    return plain[type(kind)]


def own_fields(request: type[RequestFields]) -> list[inspect.Field]:
    (base,) = request.__bases__
    above = {one.name for one in fields_of(base)}
    return [one for one in fields_of(request) if one.name not in above]


def spell(union: str) -> set[str]:
    return set(union.split(" | "))


@pytest.mark.parametrize(
    "request_type", list(dict.fromkeys(one.request for one in ENDPOINTS if one.request))
)
def test_every_request_is_the_same_in_the_page(request_type):
    expected = {
        f"{one.encode_name}{'' if one.required else '?'}": spell(type_in_page(one.type))
        for one in own_fields(request_type)
    }
    found = fields_in_page(request_type.__name__)
    assert {name: spell(of) for name, of in found.items()} == expected


def test_every_endpoint_is_in_the_page_with_what_it_takes():
    for one in ENDPOINTS:
        if one.path.startswith("/api/"):
            takes = "Record<string, never>" if one.request is None else one.request.__name__
            table = interface(f"{one.method.capitalize()}Requests")
            assert f'  "{one.path}": {takes};\n' in table


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    write_kinds(folder / "kinds")
    for seed in range(4):
        points = scalars("loss", (0, 1.0 * seed), (1, 0.5 * seed))
        write(folder / f"lr-{seed % 2}" / f"{seed}", hparams(lr=0.1 * (seed % 2)), points)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield Client(folder)


TAKEN = [
    ("GET /api/status", {}),
    ("GET /api/tags", {}),
    ("GET /api/marks", {}),
    ("GET /api/problems", {}),
    ("GET /api/views", {}),
    ("GET /api/audio", {"tag": "beep"}),
    ("GET /api/images", {"tag": "picture"}),
    ("GET /api/texts", {"tag": "note"}),
    ("GET /api/run", {"run": "kinds"}),
    ("GET /api/output", {"run": "kinds"}),
    ("GET /api/diff", {"a": "lr-0/0", "b": "lr-1/1"}),
    ("POST /api/where", {"condition": "lr > 0"}),
    ("POST /api/groups", {"by": "lr"}),
    ("POST /api/importance", {"tag": "loss"}),
    ("POST /api/compare", {"tags": ["loss"], "by": "lr"}),
]


@pytest.mark.parametrize(("address", "fields"), TAKEN, ids=lambda of: str(of))
def test_answer_is_of_the_type_that_the_page_is_told(client, address, fields):
    method, path = address.split()
    (described,) = [one for one in ENDPOINTS if (one.method, one.path) == (method, path)]
    declared = described.function.__globals__[described.function.__annotations__["return"]]
    answer = (client.get if method == "GET" else client.post)(path, **fields)
    msgspec.convert(answer, declared)
    assert set(answer) == set(declared.__annotations__)


def test_vocabulary_needs_nothing_that_the_build_of_the_page_does_not_have():
    done = subprocess.run(
        [sys.executable, "-c", LIST_IMPORTS], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []

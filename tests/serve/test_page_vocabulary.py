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

from runfold._serve import page_vocabulary as vocabulary
from runfold._serve.app import gather_routes
from runfold._serve.http.endpoint import Endpoint, list_endpoints
from runfold._serve.http.request_fields import RequestFields, fields_of
from runfold._serve.report.page_view import FIELDS, read_view
from runfold._serve.report.view_requests import RECORDERS

gather_routes()
ENDPOINTS = list_endpoints()
GENERATOR = runpy.run_path(str(ROOT / "web" / "generate.py"))
FILES = GENERATOR["make_files"]()
APP = (ROOT / "web" / "src" / "app.tsx").read_text(encoding="utf-8")
# Prints what the page build must not import: anything but NumPy and the standard library.
LIST_IMPORTS = """
import sys
before = {*sys.modules, *sys.stdlib_module_names}
import runfold._serve.page_vocabulary
tops = {name.partition(".")[0] for name in sys.modules}
print(*sorted(tops - before - {"numpy", "runfold"}))
print(*(name for name in sys.modules if name.startswith("runfold._core")))
"""


def interface(name: str) -> str:
    """Return the lines between the braces of a generated interface."""
    _, found, rest = "\n".join(FILES.values()).partition(f"export interface {name} ")
    assert found, name
    return rest.partition("{\n")[2].partition("}\n")[0]


def fields_in_page(name: str) -> dict[str, str]:
    lines = interface(name).splitlines()
    return dict(line.strip().rstrip(";").split(": ", 1) for line in lines)


def test_every_tab_has_a_component_and_a_recorder_for_reports():
    views = APP.partition("const VIEWS")[2].partition("};")[0]
    assert [line.split(":")[0].strip() for line in views.splitlines()[1:]] == list(vocabulary.TABS)
    # A report has no TensorBoards, which need a server.
    assert [*RECORDERS, "boards"] == list(vocabulary.TABS)


def test_every_view_field_is_in_the_page_and_its_url():
    assert list(fields_in_page("View")) == list(FIELDS)
    defaults = FILES["vocabulary.ts"].partition("DEFAULTS: View = ")[2].partition(";\n")[0]
    assert list(json.loads(defaults)) == list(FIELDS)


@pytest.mark.parametrize("center", vocabulary.CENTERS)
@pytest.mark.parametrize("band", vocabulary.BANDS)
def test_every_center_and_band_is_folded_or_refused_as_in_the_page(tmp_path, center, band):
    for seed in range(3):
        write(tmp_path / f"seed-{seed}", scalars("loss", (0, 1.0 * seed), (1, 2.0 * seed)))
    client = Client(tmp_path)
    if band in vocabulary.BANDS_AROUND[center]:
        table = client.post("/api/fold", tags=["loss"], center=center, band=band)
        assert {"center", "low", "high"} <= set(table.column_names)
        assert table.num_rows == 2
        read_view(f"center={center}&band={band}")
    else:
        status, error = client.refused("/api/fold", tags=["loss"], center=center, band=band)
        assert status == 400
        assert f", not with the {center}." in error


def type_in_page(kind: inspect.Type, name: str = "") -> str:
    """Return the TypeScript for what msgspec accepts, with read-only lists."""
    literals = {frozenset(typing.get_args(of)): name for name, of in vars(vocabulary).items()}
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
    above = {field.name for field in fields_of(base)}
    return [field for field in fields_of(request) if field.name not in above]


def spell(union: str) -> set[str]:
    return set(union.split(" | "))


@pytest.mark.parametrize(
    "request_type",
    list(dict.fromkeys(endpoint.request for endpoint in ENDPOINTS if endpoint.request)),
)
def test_every_request_is_the_same_in_the_page(request_type):
    expected = {
        f"{field.encode_name}{'' if field.required else '?'}": spell(type_in_page(field.type))
        for field in own_fields(request_type)
    }
    found = fields_in_page(request_type.__name__)
    assert {name: spell(of) for name, of in found.items()} == expected


def test_every_endpoint_is_in_the_page_with_its_request():
    for endpoint in ENDPOINTS:
        if endpoint.path.startswith("/api/"):
            request = (
                "Record<string, never>" if endpoint.request is None else endpoint.request.__name__
            )
            table = interface(f"{endpoint.method.capitalize()}Requests")
            assert f'  "{endpoint.path}": {request};\n' in table


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


REQUESTS = [
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
# These need a tracked run or a server that manages TensorBoards, and have their own tests.
TESTED_ELSEWHERE = {
    "GET /api/stop",
    "POST /api/stop",
    "GET /api/tensorboards",
    "POST /api/tensorboards",
    "POST /api/tensorboards/kill",
    "POST /api/tensorboards/link",
    "GET /api/tensorboards/log",
}


def response_type(endpoint: Endpoint) -> object:
    name = endpoint.function.__annotations__["return"]
    return endpoint.function.__globals__.get(name)


def test_every_response_with_fields_is_requested():
    typed = {
        f"{endpoint.method} {endpoint.path}"
        for endpoint in ENDPOINTS
        if endpoint.path.startswith("/api/") and typing.is_typeddict(response_type(endpoint))
    }
    assert {address for address, _ in REQUESTS} | TESTED_ELSEWHERE == typed


@pytest.mark.parametrize(("address", "fields"), REQUESTS, ids=lambda of: str(of))
def test_response_has_the_type_that_the_page_expects(client, address, fields):
    method, path = address.split()
    (described,) = [
        endpoint for endpoint in ENDPOINTS if (endpoint.method, endpoint.path) == (method, path)
    ]
    declared = response_type(described)
    response = (client.get if method == "GET" else client.post)(path, **fields)
    msgspec.convert(response, declared)
    assert set(response) == set(declared.__annotations__)


@pytest.mark.without_coverage
def test_vocabulary_imports_only_what_the_page_build_has():
    done = subprocess.run(
        [sys.executable, "-c", LIST_IMPORTS], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []

"""The description of the API, and that the API is as described, tried by schemathesis."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
import requests
import schemathesis
from cli_runs import write_kinds
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from logs import hparams, scalars, write
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks
from serving import HOST, open_client
from starlette.routing import Route

from runfold.serve.app import gather_routes
from runfold.serve.limits import STREAM
from runfold.serve.openapi import describe, schema_of
from runfold.serve.request import Limit, read_json


@dataclass(frozen=True)
class Inner:
    tag: str


@dataclass(frozen=True)
class Asked:
    names: Annotated[tuple[str, ...], Limit(1, 5)]
    x: Literal["step", "time"] | Inner = "step"
    width: Annotated[int, Limit(1, 4000)] | None = None
    range: tuple[float, float] | None = None


async def ask(request):
    """What is asked.

    And how.
    """
    await read_json(request, Asked)


def test_shape_is_described_as_a_schema():
    text = {"type": "string", "maxLength": 1 << 20}
    inner = {
        "type": "object",
        "properties": {"tag": text},
        "required": ["tag"],
        "additionalProperties": False,
    }
    number = {"type": "number"}
    pair = {"type": "array", "prefixItems": [number, number], "minItems": 2, "maxItems": 2}
    width = {"type": "integer", "minimum": 1, "maximum": 4000}
    assert schema_of(Asked) == {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": text, "minItems": 1, "maxItems": 5},
            "x": {"anyOf": [{"type": "string", "enum": ["step", "time"]}, inner]},
            "width": {"anyOf": [width, {"type": "null"}]},
            "range": {"anyOf": [pair, {"type": "null"}]},
        },
        "required": ["names"],
        "additionalProperties": False,
    }


def test_route_is_described_by_what_it_reads():
    (operation,) = describe([Route("/api/ask", ask, methods=["POST"])])["paths"][
        "/api/ask"
    ].values()
    assert operation["summary"] == "What is asked."
    content = operation["requestBody"]["content"]
    assert content == {"application/json": {"schema": schema_of(Asked)}}


def test_every_route_is_described_in_a_line():
    routes = [one for one in gather_routes() if isinstance(one, Route)]
    assert [one.path for one in routes if not one.endpoint.__doc__] == []


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # where saved views go
        yield from serve(folder)


def serve(folder):
    write_kinds(folder / "kinds")
    for seed in (1, 2):
        points = scalars("loss", (0, 1.0), (1, 0.5))
        write(folder / f"seed-{seed}", hparams(lr=0.1 * seed), points)
    with open_client(folder) as client:
        yield client


EXAMPLES = 15
CHECKS = [
    not_a_server_error,
    checks.content_type_conformance,
    checks.negative_data_rejection,
    checks.response_schema_conformance,
    checks.status_code_conformance,
]


def without_large_limits(document):
    """The same without limits that take a list of thousands to go beyond."""
    if isinstance(document, list):
        return [without_large_limits(one) for one in document]
    if not isinstance(document, dict):
        return document
    return {
        name: without_large_limits(value)
        for name, value in document.items()
        if not (name in ("maxItems", "maxLength") and value >= 100)
    }


# Logins have their own tests: all requests here have the token.
SCHEMA = schemathesis.openapi.from_dict(
    without_large_limits(describe(gather_routes())) | {"security": []}
)
OPERATIONS = [
    (path, method)
    for path, methods in SCHEMA.raw_schema["paths"].items()
    for method in methods
    if path != STREAM  # it would never end
]


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_api_is_as_described(path, method, mode, client):
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        phases=[Phase.generate],  # to make a failure small takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(SCHEMA[path][method].as_strategy(generation_mode=mode))
    def ask_as_described(case):
        wanted = requests.Request(**case.as_transport_kwargs(base_url=f"http://{HOST}"))
        sent = wanted.prepare()
        answer = client.request(sent.method, sent.url, content=sent.body, headers=sent.headers)
        case.validate_response(answer, checks=CHECKS)

    try:
        ask_as_described()
    except Unsatisfiable:  # what takes nothing takes nothing wrong
        assert mode is GenerationMode.NEGATIVE

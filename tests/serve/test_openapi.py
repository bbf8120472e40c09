"""The description of the API, and that the API is as described, tried by schemathesis."""

import sys
from typing import Annotated, Literal

import pytest
import requests
import schemathesis
from helpers.cli_runs import write_kinds
from helpers.logs import hparams, scalars, write
from helpers.serving import HOST, open_client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from msgspec import Meta
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks
from starlette.routing import Route

from runfold._serve.app import gather_routes
from runfold._serve.http.endpoint import Endpoint, list_endpoints
from runfold._serve.http.limits import STREAM
from runfold._serve.http.request_fields import Finite, RequestFields, Text
from runfold._serve.openapi import describe

gather_routes()
ENDPOINTS = list_endpoints()


class Inner(RequestFields):
    tag: Text


class AskedRequest(RequestFields):
    names: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=5)]
    x: Literal["step", "time"] | Inner = "step"
    width: Annotated[int, Meta(ge=1, le=4000)] | None = None
    range: tuple[Finite, Finite] | None = None


def describe_one(address, **said):
    """The operation of an endpoint that is in no table but this one, and the schemas."""

    async def ask(request, asked):
        """What is asked.

        And how.
        """

    method, path = address.split()
    made = Endpoint(method, path, AskedRequest, said.get("media_type"), ask, ask)
    document = describe([made])
    return document["paths"][path][method.lower()], document["components"]["schemas"]


def test_request_is_described_as_a_schema():
    _, schemas = describe_one("POST /api/ask")
    text = {"type": "string", "maxLength": 1 << 20}
    number = {
        "type": "number",
        "minimum": -sys.float_info.max,
        "maximum": sys.float_info.max,
    }
    pair = {
        "type": "array",
        "prefixItems": [number, number],
        "items": False,
        "minItems": 2,
        "maxItems": 2,
    }
    width = {"type": "integer", "minimum": 1, "maximum": 4000}
    axis = [{"enum": ["step", "time"]}, {"$ref": "#/components/schemas/Inner"}]
    assert schemas["Inner"] == {
        "title": "Inner",
        "type": "object",
        "properties": {"tag": text},
        "required": ["tag"],
        "additionalProperties": False,
    }
    assert schemas["AskedRequest"] == {
        "title": "AskedRequest",
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": text, "minItems": 1, "maxItems": 5},
            "x": {"anyOf": axis, "default": "step"},
            "width": {"anyOf": [width, {"type": "null"}], "default": None},
            "range": {"anyOf": [pair, {"type": "null"}], "default": None},
        },
        "required": ["names"],
        "additionalProperties": False,
    }


def test_body_and_answer_are_described_from_the_table():
    operation, _ = describe_one("POST /api/ask", media_type="application/json")
    assert operation["summary"] == "What is asked."
    content = operation["requestBody"]["content"]
    assert content == {
        "application/json": {"schema": {"$ref": "#/components/schemas/AskedRequest"}}
    }
    assert list(operation["responses"]["200"]["content"]) == ["application/json"]


def test_query_is_described_from_the_table():
    operation, schemas = describe_one("GET /api/ask")
    fields = schemas["AskedRequest"]["properties"]
    assert operation["parameters"] == [
        {"name": name, "in": "query", "required": name == "names", "schema": schema}
        for name, schema in fields.items()
    ]
    assert list(operation["responses"]["200"]["content"]) == ["*/*"]


def limits(schema):
    """Yield the schemas of text, numbers and lists in a schema."""
    if isinstance(schema, dict):
        if schema.get("type") in ("string", "integer", "number", "array"):
            yield schema
        for inner in schema.values():
            yield from limits(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from limits(inner)


def test_rule_28_every_field_of_every_request_is_limited():
    schemas = describe(ENDPOINTS)["components"]["schemas"]
    schemas.pop("Error")
    high = {"string": "maxLength", "array": "maxItems", "integer": "maximum", "number": "maximum"}
    found = list(limits(schemas))
    assert len(found) > 50
    assert [one for one in found if high[one["type"]] not in one] == []


def test_request_types_have_names_of_their_own():
    requests = {one.request for one in ENDPOINTS if one.request is not None}
    assert len({one.__name__ for one in requests}) == len(requests) > 15
    assert [one for one in requests if not one.__name__.endswith("Request")] == []


def test_every_route_is_described_in_a_line():
    assert [one.path for one in ENDPOINTS if not one.summary] == []
    routes = [one for one in gather_routes() if isinstance(one, Route)]
    described = {one.path for one in ENDPOINTS}
    others = [one for one in routes if one.path not in described]
    assert [one.path for one in others if not one.endpoint.__doc__] == []


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
    without_large_limits(describe(ENDPOINTS)) | {"security": []}
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

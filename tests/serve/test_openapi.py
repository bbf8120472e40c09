"""The OpenAPI description, and the API's conformance to it, checked by schemathesis."""

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


class ExampleRequest(RequestFields):
    names: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=5)]
    x: Literal["step", "time"] | Inner = "step"
    width: Annotated[int, Meta(ge=1, le=4000)] | None = None
    range: tuple[Finite, Finite] | None = None


def describe_example(address, **options):
    """Return the operation of an example endpoint outside the table, and the schemas."""

    async def handle(request, fields):
        """Return an example.

        More details.
        """

    method, path = address.split()
    described = Endpoint(method, path, ExampleRequest, options.get("media_type"), handle, handle)
    document = describe([described])
    return document["paths"][path][method.lower()], document["components"]["schemas"]


def test_request_is_described_as_a_schema():
    _, schemas = describe_example("POST /api/example")
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
    assert schemas["ExampleRequest"] == {
        "title": "ExampleRequest",
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


def test_body_and_response_are_described_from_the_table():
    operation, _ = describe_example("POST /api/example", media_type="application/json")
    assert operation["summary"] == "Return an example."
    content = operation["requestBody"]["content"]
    assert content == {
        "application/json": {"schema": {"$ref": "#/components/schemas/ExampleRequest"}}
    }
    assert list(operation["responses"]["200"]["content"]) == ["application/json"]


def test_query_is_described_from_the_table():
    operation, schemas = describe_example("GET /api/example")
    fields = schemas["ExampleRequest"]["properties"]
    assert operation["parameters"] == [
        {"name": name, "in": "query", "required": name == "names", "schema": schema}
        for name, schema in fields.items()
    ]
    assert list(operation["responses"]["200"]["content"]) == ["*/*"]


def limits(schema):
    """Yield the schemas of strings, numbers and lists in a schema."""
    if isinstance(schema, dict):
        if schema.get("type") in ("string", "integer", "number", "array"):
            yield schema
        for inner in schema.values():
            yield from limits(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from limits(inner)


def test_rule_28_every_request_field_has_a_limit():
    schemas = describe(ENDPOINTS)["components"]["schemas"]
    schemas.pop("Error")
    high = {"string": "maxLength", "array": "maxItems", "integer": "maximum", "number": "maximum"}
    schemas_with_limits = list(limits(schemas))
    assert len(schemas_with_limits) > 50
    assert [schema for schema in schemas_with_limits if high[schema["type"]] not in schema] == []


def test_request_types_have_unique_names():
    requests = {endpoint.request for endpoint in ENDPOINTS if endpoint.request is not None}
    assert len({request.__name__ for request in requests}) == len(requests) > 15
    assert [request for request in requests if not request.__name__.endswith("Request")] == []


def test_every_route_has_a_one_line_description():
    assert [endpoint.path for endpoint in ENDPOINTS if not endpoint.summary] == []
    routes = [route for route in gather_routes() if isinstance(route, Route)]
    described = {endpoint.path for endpoint in ENDPOINTS}
    others = [route for route in routes if route.path not in described]
    assert [route.path for route in others if not route.endpoint.__doc__] == []


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # where saved views are stored
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
    """Return a document without length limits of 100 or more, which only large inputs exceed."""
    if isinstance(document, list):
        return [without_large_limits(item) for item in document]
    if not isinstance(document, dict):
        return document
    return {
        name: without_large_limits(value)
        for name, value in document.items()
        if not (name in ("maxItems", "maxLength") and value >= 100)
    }


# Logins have their own tests. All requests here have the token.
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
        phases=[Phase.generate],  # shrinking a failure takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(SCHEMA[path][method].as_strategy(generation_mode=mode))
    def send_as_described(case):
        request = requests.Request(**case.as_transport_kwargs(base_url=f"http://{HOST}"))
        sent = request.prepare()
        response = client.request(sent.method, sent.url, content=sent.body, headers=sent.headers)
        case.validate_response(response, checks=CHECKS)

    try:
        send_as_described()
    except Unsatisfiable:  # without fields, no request is invalid
        assert mode is GenerationMode.NEGATIVE

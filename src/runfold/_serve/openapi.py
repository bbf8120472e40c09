"""The OpenAPI description of the API, generated from the endpoint table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

import runfold
from runfold._serve.http.endpoint import endpoint, list_endpoints
from runfold._serve.http.json_response import JsonResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from runfold._serve.http.endpoint import Endpoint

_ERRORS = {
    400: "The request is invalid; the message says why.",
    403: "Wrong host or origin, or not logged in.",
    404: "No such run, tag or value.",
    413: "The request body or the response is too large.",
    414: "The URL is too long.",
    415: "The body is not application/json.",
    429: "Too many concurrent requests.",
    500: "Internal error; the server's log has details under the response's id.",
    503: "The request took too long.",
}

_ERROR = {
    "type": "object",
    "properties": {
        "error": {"type": "string"},
        "id": {"type": "string"},
        "at": {"type": "integer"},
    },
    "required": ["error"],
}
_SCHEMAS = "#/components/schemas/"


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document for the endpoints under /api."""
    described = [item for item in endpoints if item.path.startswith("/api/")]
    requests = dict.fromkeys(item.request for item in described if item.request is not None)
    _, schemas = msgspec.json.schema_components(requests, ref_template=_SCHEMAS + "{name}")
    paths: dict[str, dict[str, Any]] = {}
    for item in described:
        paths.setdefault(item.path, {})[item.method.lower()] = _operation(item, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Runfold", "version": runfold.__version__},
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR, **schemas},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(item: Endpoint, schemas: Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {item.media_type or "*/*": {"schema": {}}}
    operation: dict[str, Any] = {
        "operationId": f"{item.method.lower()} {item.path}",
        "summary": item.summary,
        "responses": {"200": {"description": "Success.", "content": content}, **_errors()},
    }
    if item.request is None:
        return operation
    name = item.request.__name__
    if item.method == "GET":
        operation["parameters"] = _parameters(schemas[name])
    else:
        content = {"application/json": {"schema": {"$ref": _SCHEMAS + name}}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": name in schema["required"], "schema": field}
        for name, field in schema["properties"].items()
    ]


def _errors() -> dict[str, Any]:
    schema = {"$ref": f"{_SCHEMAS}Error"}
    return {
        str(status): {
            "description": meaning,
            "content": {"application/json": {"schema": schema}},
        }
        for status, meaning in _ERRORS.items()
    }


@endpoint("GET /api/openapi.json")
async def openapi(request: Request) -> Response:
    """Return this OpenAPI description."""
    return JsonResponse(describe(list_endpoints()))

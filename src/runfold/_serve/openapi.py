"""A description of the API in OpenAPI's terms, made from the table of endpoints."""

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
    400: "The request is not valid; the message says why.",
    403: "Host, origin or login are not right.",
    404: "No run, tag or value of that name.",
    413: "The body, or the answer to it, is too large.",
    414: "The URL is too long.",
    415: "The body is not application/json.",
    429: "Too many requests at once.",
    500: "Something went wrong; the server's log says more under the id.",
    503: "It took too long.",
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
    """The OpenAPI document of the endpoints below /api."""
    described = [one for one in endpoints if one.path.startswith("/api/")]
    requests = dict.fromkeys(one.request for one in described if one.request is not None)
    _, schemas = msgspec.json.schema_components(requests, ref_template=_SCHEMAS + "{name}")
    paths: dict[str, dict[str, Any]] = {}
    for one in described:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
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


def _operation(described: Endpoint, schemas: Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {described.media_type or "*/*": {"schema": {}}}
    operation: dict[str, Any] = {
        "operationId": f"{described.method.lower()} {described.path}",
        "summary": described.summary,
        "responses": {"200": {"description": "Success.", "content": content}, **_errors()},
    }
    if described.request is None:
        return operation
    name = described.request.__name__
    if described.method == "GET":
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
    """This description."""
    return JsonResponse(describe(list_endpoints()))

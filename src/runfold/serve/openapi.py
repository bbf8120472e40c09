"""A description of the API in OpenAPI's terms, taken from the routes and the shapes they read."""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from starlette.routing import Route

import runfold
from runfold.serve.answer import JsonResponse
from runfold.serve.request import LONGEST_LIST, LONGEST_TEXT, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

_INT64 = {"minimum": -(2**63), "maximum": 2**63 - 1}
_PLAIN: dict[object, dict[str, Any]] = {
    str: {"type": "string", "maxLength": LONGEST_TEXT},
    int: {"type": "integer", **_INT64},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
}

_KINDS = {
    "JsonResponse": "application/json",
    "ArrowResponse": "application/vnd.apache.arrow.stream",
}

_ERRORS = {
    400: "What was asked cannot be meant; the message says what.",
    403: "Host, origin or login are not right.",
    404: "No run, tag or value of that name.",
    413: "The body, or the answer to it, is too large.",
    414: "The address is too long.",
    415: "The body is not application/json.",
    429: "Too much is asked at once.",
    500: "Something went wrong; the server's log tells more under the id.",
    503: "It took too long.",
}


def describe(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """The OpenAPI document of all routes below /api."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if isinstance(route, Route) and route.path.startswith("/api/"):
            for method in sorted((route.methods or set()) - {"HEAD"}):
                paths.setdefault(route.path, {})[method.lower()] = _operation(route, method)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Runfold", "version": runfold.__version__},
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
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


def _operation(route: Route, method: str) -> dict[str, Any]:
    body, query = (shape_of(route.endpoint, reader) for reader in ("read_json", "read_query"))
    summary = (route.endpoint.__doc__ or "").partition("\n")[0]
    operation: dict[str, Any] = {
        "operationId": f"{method.lower()} {route.path}",
        "summary": summary,
        "responses": {"200": _success(route.endpoint), **_errors()},
    }
    if query is not None:
        operation["parameters"] = _parameters(query)
    if body is not None:
        content = {"application/json": {"schema": schema_of(body)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def shape_of(endpoint: Any, reader: str) -> Any:
    """The shape that an endpoint reads with `read_json` or `read_query`, or None.

    Its code names them one after the other, and nothing else needs to say it again.
    """
    names = endpoint.__code__.co_names
    if reader not in names:
        return None
    for name in names[names.index(reader) + 1 :]:
        named = endpoint.__globals__.get(name)
        if isinstance(named, type) and dataclasses.is_dataclass(named):
            return named
    raise TypeError(f"{endpoint.__qualname__} names no shape after {reader}")


def _success(endpoint: Any) -> dict[str, Any]:
    names = endpoint.__code__.co_names
    kinds = [kind for response, kind in _KINDS.items() if response in names]
    content: dict[str, Any] = {kind: {"schema": {}} for kind in kinds or ["*/*"]}
    return {"description": "What was asked for.", "content": content}


def _errors() -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {
        str(status): {
            "description": meaning,
            "content": {"application/json": {"schema": schema}},
        }
        for status, meaning in _ERRORS.items()
    }


def _parameters(shape: Any) -> list[dict[str, Any]]:
    described = schema_of(shape)
    return [
        {"name": name, "in": "query", "required": name in described["required"], "schema": schema}
        for name, schema in described["properties"].items()
    ]


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON schema of what a field of this type takes."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _limited(schema_of(inner[0]), inner[1])
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(one) for one in inner]}
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if origin is tuple and inner[1:] == (...,):
        return {"type": "array", "items": schema_of(inner[0]), "maxItems": LONGEST_LIST}
    if origin is tuple:
        count = len(inner)
        items = [schema_of(one) for one in inner]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
    if dataclasses.is_dataclass(hint):
        return _object(hint)
    return dict(_PLAIN[hint])


def _object(shape: Any) -> dict[str, Any]:
    required = [
        one.name
        for one in dataclasses.fields(shape)
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    ]
    return {
        "type": "object",
        "properties": {name: schema_of(hint) for name, hint in fields_of(shape).items()},
        "required": required,
        "additionalProperties": False,
    }


_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
}


def _limited(schema: dict[str, Any], limit: Any) -> dict[str, Any]:
    if "anyOf" in schema:
        return {"anyOf": [_limited(one, limit) for one in schema["anyOf"]]}
    low, high = _BOUNDS.get(schema["type"], ("", ""))
    return {**schema, low: limit.low, high: limit.high} if low else schema


async def openapi(request: Request) -> Response:
    """This description."""
    return JsonResponse(describe(request.app.routes))


ROUTES = [Route("/api/openapi.json", openapi)]

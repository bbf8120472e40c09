"""Requests for every route, with a text in each of their fields."""

import msgspec

from runfold._serve.app import gather_routes
from runfold._serve.http.endpoint import list_endpoints

gather_routes()
ENDPOINTS = {(one.method, one.path): one for one in list_endpoints()}


def fill(schema, text, schemas):
    """A value that the schema allows, with the text wherever one may stand."""
    for one in schema.get("anyOf", [schema]):
        if "$ref" in one:
            one = schemas[one["$ref"].rpartition("/")[2]]
        if "enum" in one:
            return one["enum"][0]
        if one["type"] == "string":
            return text
        if one["type"] == "array":
            items = one.get("prefixItems") or [one["items"]] * max(1, one.get("minItems", 0))
            return [fill(item, text, schemas) for item in items]
        if one["type"] == "object":
            return {name: fill(item, text, schemas) for name, item in one["properties"].items()}
    return 1 if schema.get("type") in ("integer", "number") else None


def filled_shapes(method, path, text):
    """What a route takes in body or query, each field alone beside those that it needs."""
    endpoint = ENDPOINTS.get((method, path))
    if endpoint is None or endpoint.request is None:
        return
    _, schemas = msgspec.json.schema_components([endpoint.request])
    schema = schemas[endpoint.request.__name__]
    needed = {name: schema["properties"][name] for name in schema["required"]}
    for name, field in schema["properties"].items():
        fields = {**needed, name: field}
        content = {key: fill(of, text, schemas) for key, of in fields.items()}
        yield {"params" if method == "GET" else "json": content}

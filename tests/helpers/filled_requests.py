"""Requests for every route, with a given text in each of their fields."""

import msgspec

from runfold._serve.app import gather_routes
from runfold._serve.http.endpoint import list_endpoints

gather_routes()
ENDPOINTS = {(endpoint.method, endpoint.path): endpoint for endpoint in list_endpoints()}


def fill(schema, text, schemas):
    """Return a value that the schema allows, with the text wherever a string is allowed."""
    for choice in schema.get("anyOf", [schema]):
        if "$ref" in choice:
            choice = schemas[choice["$ref"].rpartition("/")[2]]
        if "enum" in choice:
            return choice["enum"][0]
        if choice["type"] == "string":
            return text
        if choice["type"] == "array":
            items = choice.get("prefixItems") or [choice["items"]] * max(
                1, choice.get("minItems", 0)
            )
            return [fill(item, text, schemas) for item in items]
        if choice["type"] == "object":
            return {name: fill(item, text, schemas) for name, item in choice["properties"].items()}
    return 1 if schema.get("type") in ("integer", "number") else None


def filled_shapes(method, path, text):
    """Yield the body or query of a route, with each field in turn next to the required ones."""
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

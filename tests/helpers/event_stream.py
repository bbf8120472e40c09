"""The events in a stream that the server sends."""

import json


def parse(lines):
    """Return the events in a stream as (name, data)."""
    name = ""
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)

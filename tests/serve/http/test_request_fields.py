"""Request fields: valid ones are accepted, and others are rejected with the field's name."""

import asyncio
import json
from typing import Annotated, Literal
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from starlette.requests import Request

from runfold._serve.http.error_responses import BadRequest
from runfold._serve.http.request_fields import (
    Finite,
    Names,
    RequestFields,
    Text,
    read_json,
    read_query,
)


class Axis(RequestFields):
    tag: Text


class Curves(RequestFields):
    tags: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=3)]
    runs: Names | None = None
    x: Literal["step", "wall_time"] | Axis = "step"
    width: Annotated[int, Meta(ge=1, le=4000)] | None = None
    range: tuple[Finite, Finite] | None = None
    smooth: Finite = 0.0
    is_log: bool = False


def parse_body(body: str | bytes, shape: type = Curves):
    data = body.encode() if isinstance(body, str) else body

    async def receive():
        return {"type": "http.request", "body": data, "more_body": False}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    return asyncio.run(read_json(request, shape))


def parse_query(query: str, shape: type = Curves):
    scope = {"type": "http", "method": "GET", "headers": [], "query_string": query.encode()}
    return read_query(Request(scope), shape)


def test_body_is_parsed():
    body = {"tags": ["loss"], "x": {"tag": "samples"}, "width": 10.0, "range": [0, 2.5]}
    assert parse_body(json.dumps(body)) == Curves(
        ("loss",), x=Axis("samples"), width=10, range=(0, 2.5)
    )
    assert parse_body('{"tags": ["a"], "runs": null, "x": "step"}') == Curves(("a",))


def test_query_is_parsed():
    query = "tags=a&tags=b%2Fc&runs=1&width=7&smooth=0.5&is_log=true&x=wall_time"
    assert parse_query(query) == Curves(("a", "b/c"), ("1",), "wall_time", 7, None, 0.5, True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"tags": ["a"], "widht": 3}', "No field 'widht'. Did you mean 'width'?"),
        ("{}", "'tags' is missing."),
        ('{"tags": "a"}', "'tags' must be a list, not \"a\"."),
        ('{"tags": [3]}', "'tags[0]' must be a string, not 3."),
        ('{"tags": []}', "'tags' has 0 values; 1 to 3 are allowed."),
        ('{"tags": ["a"], "width": 5000}', "'width' must be between 1 and 4000, not 5000."),
        ('{"tags": ["a"], "width": 1.5}', "'width' must be an integer, not 1.5."),
        ('{"tags": ["a"], "width": true}', "'width' must be an integer, not true."),
        ('{"tags": ["a"], "range": [1]}', "'range' must be a list of 2 values, not 1."),
        ('{"tags": ["a"], "range": [0, 1e999]}', "'range[1]' must be a number, not Infinity."),
        ('{"tags": ["a"], "smooth": null}', "'smooth' must be a number, not null."),
        ('{"tags": ["a"], "smooth": NaN}', "The body is not valid JSON: NaN is not a JSON number."),
        ('{"tags": ["a"], "x": {"tag": 1}}', "'x.tag' must be a string, not 1."),
        (
            '{"tags": ["a"], "x": "stp"}',
            "x must be one of 'step', 'wall_time', not 'stp'. Did you mean 'step'?",
        ),
        ("[1]", "The body must be an object, not [1]."),
        ("{", "The body is not valid JSON: Expecting property name enclosed in double quotes"),
        (b"\xff{}", "The body is not valid JSON: "),
        ("[" * 100_000, "The body is nested too deeply."),
        ('{"tags": ["a"], "width": 99999999999999999999}', "'width' does not fit into 64 bits."),
    ],
)
def test_invalid_body_is_refused_with_the_field(body, message):
    with pytest.raises(BadRequest) as refused:
        parse_body(body)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("tags=a&width=1&width=2", "'width' may appear only once."),
        ("tags=a&width=x", "'width' must be an integer, not \"x\"."),
        ("tags=a&is_log=yes", "'is_log' must be true or false, not \"yes\"."),
        ("tags=a&smooth=nan", "'smooth' must be a number, not NaN."),
        ("tag=a", "No field 'tag'. Did you mean 'tags'?"),
    ],
)
def test_invalid_query_is_refused_with_the_field(query, message):
    with pytest.raises(BadRequest) as refused:
        parse_query(query)
    assert str(refused.value) == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["tags", "runs", "x", "width", "range", "smooth", "is_log"])


@given(st.dictionaries(names, json_values))
def test_any_json_is_accepted_or_refused(body):
    try:
        parsed = parse_body(json.dumps(body))
    except BadRequest as refusal:
        assert str(refusal).endswith((".", "?"))
    else:
        assert set(body) <= set(Curves.__struct_fields__)
        assert 1 <= len(parsed.tags) <= 3


@given(st.lists(st.tuples(names, st.text())))
def test_any_query_is_accepted_or_refused(items):
    try:
        parse_query(urlencode(items, errors="surrogatepass"))
    except BadRequest as refusal:
        assert str(refusal).endswith((".", "?"))

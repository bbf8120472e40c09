"""Requests read into shapes: what fits is taken, and all else is refused by its field."""

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


def take(body: str | bytes, shape: type = Curves):
    data = body.encode() if isinstance(body, str) else body

    async def receive():
        return {"type": "http.request", "body": data, "more_body": False}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    return asyncio.run(read_json(request, shape))


def ask(query: str, shape: type = Curves):
    scope = {"type": "http", "method": "GET", "headers": [], "query_string": query.encode()}
    return read_query(Request(scope), shape)


def test_body_becomes_a_shape():
    body = {"tags": ["loss"], "x": {"tag": "samples"}, "width": 10.0, "range": [0, 2.5]}
    assert take(json.dumps(body)) == Curves(("loss",), x=Axis("samples"), width=10, range=(0, 2.5))
    assert take('{"tags": ["a"], "runs": null, "x": "step"}') == Curves(("a",))


def test_query_becomes_a_shape():
    query = "tags=a&tags=b%2Fc&runs=1&width=7&smooth=0.5&is_log=true&x=wall_time"
    assert ask(query) == Curves(("a", "b/c"), ("1",), "wall_time", 7, None, 0.5, True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"tags": ["a"], "widht": 3}', "No field 'widht'. Did you mean 'width'?"),
        ("{}", "'tags' is missing."),
        ('{"tags": "a"}', "'tags' is a list, not \"a\"."),
        ('{"tags": [3]}', "'tags[0]' is a text, not 3."),
        ('{"tags": []}', "'tags' has 0 values; from 1 to 3 is allowed."),
        ('{"tags": ["a"], "width": 5000}', "'width' is 5000; from 1 to 4000 is allowed."),
        ('{"tags": ["a"], "width": 1.5}', "'width' is a whole number, not 1.5."),
        ('{"tags": ["a"], "width": true}', "'width' is a whole number, not true."),
        ('{"tags": ["a"], "range": [1]}', "'range' is a list of 2 values, not 1."),
        ('{"tags": ["a"], "range": [0, 1e999]}', "'range[1]' is a number, not Infinity."),
        ('{"tags": ["a"], "smooth": null}', "'smooth' is a number, not null."),
        ('{"tags": ["a"], "smooth": NaN}', "The body is no JSON: NaN is no number in JSON."),
        ('{"tags": ["a"], "x": {"tag": 1}}', "'x.tag' is a text, not 1."),
        (
            '{"tags": ["a"], "x": "stp"}',
            "x is one of 'step', 'wall_time', not 'stp'. Did you mean 'step'?",
        ),
        ("[1]", "The body is an object, not [1]."),
        ("{", "The body is no JSON: Expecting property name enclosed in double quotes"),
        (b"\xff{}", "The body is no JSON: "),
        ("[" * 100_000, "The body is nested too deeply."),
        ('{"tags": ["a"], "width": 99999999999999999999}', "'width' is beyond 64 bits."),
    ],
)
def test_wrong_body_is_refused_by_its_field(body, message):
    with pytest.raises(BadRequest) as refused:
        take(body)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("tags=a&width=1&width=2", "'width' may be given once."),
        ("tags=a&width=x", "'width' is a whole number, not \"x\"."),
        ("tags=a&is_log=yes", "'is_log' is true or false, not \"yes\"."),
        ("tags=a&smooth=nan", "'smooth' is a number, not NaN."),
        ("tag=a", "No field 'tag'. Did you mean 'tags'?"),
    ],
)
def test_wrong_query_is_refused_by_its_field(query, message):
    with pytest.raises(BadRequest) as refused:
        ask(query)
    assert str(refused.value) == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["tags", "runs", "x", "width", "range", "smooth", "is_log"])


@given(st.dictionaries(names, json_values))
def test_any_json_is_taken_or_refused(body):
    try:
        taken = take(json.dumps(body))
    except BadRequest as refusal:
        assert str(refusal).endswith((".", "?"))
    else:
        assert set(body) <= set(Curves.__struct_fields__)
        assert 1 <= len(taken.tags) <= 3


@given(st.lists(st.tuples(names, st.text())))
def test_any_query_is_taken_or_refused(items):
    try:
        ask(urlencode(items, errors="surrogatepass"))
    except BadRequest as refusal:
        assert str(refusal).endswith((".", "?"))

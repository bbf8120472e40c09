"""What a request says, read into a frozen msgspec struct: every field checked, none unknown.

    class CurvesRequest(RequestFields):
        tags: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=1000)]
        runs: Names | None = None
        x: Literal["step", "wall_time"] | TagAxis = "step"   # or {"tag": ...}
        width: Annotated[int, Meta(ge=1, le=4000)] | None = None
        range: tuple[Finite, Finite] | None = None

    asked = await read_json(request, CurvesRequest)

A field without a default is required. In a query, a tuple field is repeatable, and
numbers and `true` and `false` are read from text. msgspec decides what fits and says
where something does not; the message is made here, from the type and the value there.
"""

from __future__ import annotations

import json
import math
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta, inspect

from runfold._humanize import did_you_mean, escape, not_one_of
from runfold._serve.http.error_responses import BadRequest

if TYPE_CHECKING:
    from starlette.requests import Request

# Every run of a large logdir may be named.
LONGEST_LIST = 20_000
# A tag may be long, but nobody's is longer than what a writer could have meant.
LONGEST_TEXT = 1 << 20
_INT64 = 1 << 63

Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Names = Annotated[tuple[Text, ...], Meta(max_length=LONGEST_LIST)]
Step = Annotated[int, Meta(ge=-_INT64, le=_INT64 - 1)]
Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]

# The type of JSON values that each type of field takes, and what a message calls it.
_NOUNS: dict[type[inspect.Type], tuple[type | tuple[type, ...], str]] = {
    inspect.StrType: (str, "a text"),
    inspect.LiteralType: (str, "a text"),
    inspect.IntType: (int, "a whole number"),
    inspect.FloatType: ((int, float), "a number"),
    inspect.BoolType: (bool, "true or false"),
    inspect.VarTupleType: (list, "a list"),
    inspect.TupleType: (list, "a list"),
    inspect.StructType: (dict, "an object"),
}
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


@dataclass_transform(frozen_default=True)
class RequestFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a request's body or query, or of an object in one."""


Fields = TypeVar("Fields", bound=RequestFields)


async def read_json(request: Request, shape: type[Fields]) -> Fields:
    """The body of a request. Raises BadRequest with the field that is wrong."""
    body = await request.body()
    try:
        content = json.loads(body, parse_constant=_refuse_constant, parse_float=_read_number)
    except RecursionError:
        raise BadRequest("The body is nested too deeply.") from None
    except ValueError as error:
        raise BadRequest(f"The body is no JSON: {escape(str(error))}.") from None
    return _convert(content, shape)


def read_query(request: Request, shape: type[Fields]) -> Fields:
    """The query of a request's URL. Raises BadRequest with the field that is wrong."""
    given: dict[str, list[str]] = {}
    for name, text in request.query_params.multi_items():
        given.setdefault(name, []).append(text)
    types = {field.encode_name: _choices(field.type) for field in fields_of(shape)}
    content: dict[str, Any] = {}
    for name, texts in given.items():
        choices = types.get(name, [])
        lists = [one for one in choices if isinstance(one, inspect.VarTupleType)]
        if lists:
            content[name] = [_read_text(text, _choices(lists[0].item_type)) for text in texts]
        elif len(texts) > 1:
            raise BadRequest(f"'{escape(name)}' may be given once.")
        else:
            content[name] = _read_text(texts[0], choices)
    return _convert(content, shape)


@cache
def fields_of(shape: type[Any]) -> tuple[inspect.Field, ...]:
    """The fields of a request type, with their types as msgspec describes them."""
    described = inspect.type_info(shape)
    assert isinstance(described, inspect.StructType)
    return described.fields


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON")


def _read_number(text: str) -> float:
    """A number with a point or an exponent; 10.0 is whole, as in a page all numbers are floats."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _INT64 else number


def _read_text(text: str, choices: list[inspect.Type]) -> Any:
    """A value of a query: a number or a truth where the field is one, otherwise the text."""
    kinds = {type(one) for one in choices}
    if inspect.BoolType in kinds and text in ("true", "false"):
        return text == "true"
    for kind, read in ((inspect.IntType, int), (inspect.FloatType, float)):
        if kind in kinds and inspect.StrType not in kinds:
            try:
                return read(text)
            except ValueError:
                continue
    return text


def _convert(content: Any, shape: type[Fields]) -> Fields:
    try:
        return msgspec.convert(content, shape)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, BadRequest):  # by the struct's own check
            raise error.__cause__ from None
        path = str(error).partition(" - at `$")[2]
        raise BadRequest(_explain(content, inspect.type_info(shape), path)) from None


def _explain(value: Any, expected: inspect.Type, path: str) -> str:
    """What is wrong with the value at a path such as `.x.tag` or `.tags[0]`."""
    place = ""
    for name, number in _STEP.findall(path):
        found = _fitting(value, expected)
        if isinstance(found, inspect.StructType):
            value, place = value[name], f"{place}.{name}" if place else name
            expected = next(one.type for one in found.fields if one.encode_name == name)
        else:
            assert isinstance(found, inspect.VarTupleType | inspect.TupleType)
            if isinstance(found, inspect.VarTupleType):
                expected = found.item_type
            else:
                expected = found.item_types[int(number)]
            value, place = value[int(number)], f"{place}[{number}]"
    return _refusal(value, _fitting(value, expected), place)


def _choices(expected: inspect.Type) -> list[inspect.Type]:
    """The types that a field may have, without null."""
    found = expected.types if isinstance(expected, inspect.UnionType) else (expected,)
    return [one for one in found if not isinstance(one, inspect.NoneType)]


def _fitting(value: Any, expected: inspect.Type) -> inspect.Type:
    """The one of several types that takes such values, so that a message is about it."""
    choices = _choices(expected)
    return next((one for one in choices if _is_such(value, one)), choices[0])


def _is_such(value: Any, expected: inspect.Type) -> bool:
    kind, _ = _NOUNS[type(expected)]
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _refusal(value: Any, expected: inspect.Type, place: str) -> str:
    name = f"'{place}'" if place else "The body"
    if isinstance(expected, inspect.LiteralType):
        return not_one_of(place, value, [str(one) for one in expected.values])
    is_finite = not isinstance(value, float) or math.isfinite(value)
    if not (_is_such(value, expected) and is_finite):
        return f"{name} is {_NOUNS[type(expected)][1]}, not {_describe(value)}."
    if isinstance(expected, inspect.StructType):
        return _refuse_object(value, expected, place)
    if isinstance(expected, inspect.TupleType):
        return f"{name} is a list of {len(expected.item_types)} values, not {len(value)}."
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        return f"{name} is beyond 64 bits."
    return _refuse_size(value, expected, name)


def _refuse_object(value: dict[str, Any], expected: inspect.StructType, place: str) -> str:
    known = [field.encode_name for field in expected.fields]
    for name in value:
        if name not in known:
            return f"No field '{escape(name)}'. {did_you_mean(name, known)}".rstrip()
    missing = [one.encode_name for one in expected.fields if one.required]
    name = next(one for one in missing if one not in value)
    return f"'{place}.{name}' is missing." if place else f"'{name}' is missing."


def _refuse_size(value: Any, expected: Any, name: str) -> str:
    if isinstance(value, int | float):
        return f"{name} is {value:g}; from {expected.ge:g} to {expected.le:g} is allowed."
    unit = "characters" if isinstance(value, str) else "values"
    low, high = expected.min_length or 0, expected.max_length
    if high in (LONGEST_TEXT, LONGEST_LIST):
        return f"{name} has {len(value):,} {unit}; {high:,} are allowed."
    return f"{name} has {len(value)} {unit}; from {low} to {high} is allowed."


def _describe(value: Any) -> str:
    return escape(json.dumps(value, ensure_ascii=False), 60)

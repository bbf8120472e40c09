"""The fields of a request, validated as a frozen msgspec struct that allows no unknown fields.

    class CurvesRequest(RequestFields):
        tags: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=1000)]
        runs: Names | None = None
        x: Literal["step", "wall_time"] | TagAxis = "step"   # or {"tag": ...}
        width: Annotated[int, Meta(ge=1, le=4000)] | None = None
        range: tuple[Finite, Finite] | None = None

    fields = await read_json(request, CurvesRequest)

A field without a default is required. In a query, a tuple field is repeatable, and
numbers, `true` and `false` are parsed from text. msgspec validates and reports the path
of an error; the message is written here, from the type and the value at that path.
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

# Enough to name every run in a large logdir.
LONGEST_LIST = 20_000
# Tags can be long, but no real tag is longer than this.
LONGEST_TEXT = 1 << 20
_INT64 = 1 << 63

Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Names = Annotated[tuple[Text, ...], Meta(max_length=LONGEST_LIST)]
Step = Annotated[int, Meta(ge=-_INT64, le=_INT64 - 1)]
Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]

# For each field type, the type of its JSON values and its name in messages.
_NOUNS: dict[type[inspect.Type], tuple[type | tuple[type, ...], str]] = {
    inspect.StrType: (str, "a string"),
    inspect.LiteralType: (str, "a string"),
    inspect.IntType: (int, "an integer"),
    inspect.FloatType: ((int, float), "a number"),
    inspect.BoolType: (bool, "true or false"),
    inspect.VarTupleType: (list, "a list"),
    inspect.TupleType: (list, "a list"),
    inspect.StructType: (dict, "an object"),
}
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


@dataclass_transform(frozen_default=True)
class RequestFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a request's body or query, or of an object inside a body."""


Fields = TypeVar("Fields", bound=RequestFields)


async def read_json(request: Request, shape: type[Fields]) -> Fields:
    """Return the fields in a request's body. Raises BadRequest, naming any invalid field."""
    body = await request.body()
    try:
        content = json.loads(body, parse_constant=_reject_constant, parse_float=_read_number)
    except RecursionError:
        raise BadRequest("The body is nested too deeply.") from None
    except ValueError as error:
        raise BadRequest(f"The body is not valid JSON: {escape(str(error))}.") from None
    return _convert(content, shape)


def read_query(request: Request, shape: type[Fields]) -> Fields:
    """Return the fields in a request's query. Raises BadRequest, naming any invalid field."""
    given: dict[str, list[str]] = {}
    for name, text in request.query_params.multi_items():
        given.setdefault(name, []).append(text)
    types = {field.encode_name: _choices(field.type) for field in fields_of(shape)}
    content: dict[str, Any] = {}
    for name, texts in given.items():
        choices = types.get(name, [])
        lists = [choice for choice in choices if isinstance(choice, inspect.VarTupleType)]
        if lists:
            content[name] = [_read_text(text, _choices(lists[0].item_type)) for text in texts]
        elif len(texts) > 1:
            raise BadRequest(f"'{escape(name)}' may appear only once.")
        else:
            content[name] = _read_text(texts[0], choices)
    return _convert(content, shape)


@cache
def fields_of(shape: type[Any]) -> tuple[inspect.Field, ...]:
    """Return the fields of a request type, as msgspec describes them."""
    described = inspect.type_info(shape)
    assert isinstance(described, inspect.StructType)
    return described.fields


def _reject_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _read_number(text: str) -> float:
    """Parse a number with a point or exponent. 10.0 becomes an int: JavaScript has only floats."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _INT64 else number


def _read_text(text: str, choices: list[inspect.Type]) -> Any:
    """Parse a query value: a number or boolean if the field has that type, otherwise the text."""
    kinds = {type(choice) for choice in choices}
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
        if isinstance(error.__cause__, BadRequest):  # raised by the struct's own check
            raise error.__cause__ from None
        path = str(error).partition(" - at `$")[2]
        raise BadRequest(_explain(content, inspect.type_info(shape), path)) from None


def _explain(value: Any, expected: inspect.Type, path: str) -> str:
    """Return what is wrong with the value at a path such as `.x.tag` or `.tags[0]`."""
    path_so_far = ""
    for name, number in _STEP.findall(path):
        candidate = _fitting(value, expected)
        if isinstance(candidate, inspect.StructType):
            value, path_so_far = value[name], f"{path_so_far}.{name}" if path_so_far else name
            expected = next(field.type for field in candidate.fields if field.encode_name == name)
        else:
            assert isinstance(candidate, inspect.VarTupleType | inspect.TupleType)
            if isinstance(candidate, inspect.VarTupleType):
                expected = candidate.item_type
            else:
                expected = candidate.item_types[int(number)]
            value, path_so_far = value[int(number)], f"{path_so_far}[{number}]"
    return _refusal(value, _fitting(value, expected), path_so_far)


def _choices(expected: inspect.Type) -> list[inspect.Type]:
    """Return the types that a field can have, without null."""
    types = expected.types if isinstance(expected, inspect.UnionType) else (expected,)
    return [choice for choice in types if not isinstance(choice, inspect.NoneType)]


def _fitting(value: Any, expected: inspect.Type) -> inspect.Type:
    """Return the type in a union that matches the value best, for the error message."""
    choices = _choices(expected)
    return next((choice for choice in choices if _matches(value, choice)), choices[0])


def _matches(value: Any, expected: inspect.Type) -> bool:
    kind, _ = _NOUNS[type(expected)]
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _refusal(value: Any, expected: inspect.Type, path: str) -> str:
    name = f"'{path}'" if path else "The body"
    if isinstance(expected, inspect.LiteralType):
        return not_one_of(path, value, [str(choice) for choice in expected.values])
    is_finite = not isinstance(value, float) or math.isfinite(value)
    if not (_matches(value, expected) and is_finite):
        return f"{name} must be {_NOUNS[type(expected)][1]}, not {_describe(value)}."
    if isinstance(expected, inspect.StructType):
        return _refuse_object(value, expected, path)
    if isinstance(expected, inspect.TupleType):
        return f"{name} must be a list of {len(expected.item_types)} values, not {len(value)}."
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        return f"{name} does not fit into 64 bits."
    return _refuse_size(value, expected, name)


def _refuse_object(value: dict[str, Any], expected: inspect.StructType, path: str) -> str:
    known = [field.encode_name for field in expected.fields]
    for name in value:
        if name not in known:
            return f"No field '{escape(name)}'. {did_you_mean(name, known)}".rstrip()
    missing = [field.encode_name for field in expected.fields if field.required]
    name = next(field for field in missing if field not in value)
    return f"'{path}.{name}' is missing." if path else f"'{name}' is missing."


def _refuse_size(value: Any, expected: Any, name: str) -> str:
    if isinstance(value, int | float):
        return f"{name} must be between {expected.ge:g} and {expected.le:g}, not {value:g}."
    unit = "characters" if isinstance(value, str) else "values"
    low, high = expected.min_length or 0, expected.max_length
    if high in (LONGEST_TEXT, LONGEST_LIST):
        return f"{name} has {len(value):,} {unit}; at most {high:,} are allowed."
    return f"{name} has {len(value)} {unit}; {low} to {high} are allowed."


def _describe(value: Any) -> str:
    return escape(json.dumps(value, ensure_ascii=False), 60)

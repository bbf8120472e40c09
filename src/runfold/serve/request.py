"""What a request says, read into a small frozen dataclass: every field checked, none unknown.

    @dataclass(frozen=True)
    class Curves:
        tags: Annotated[tuple[str, ...], Limit(1, 500)]      # how many there may be
        runs: tuple[str, ...] | None = None
        x: Literal["step", "wall_time"] | TagAxis = "step"   # or {"tag": ...}
        width: Annotated[int, Limit(1, 4000)] | None = None  # how large it may be
        range: tuple[float, float] | None = None

    asked = await read_json(request, Curves)

A field without a default must be given. In a query, a field that is a tuple may be
given several times, and numbers and `true` and `false` are read from text.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)
from typing import get_type_hints as hints_of

from runfold.serve.errors import BadRequest
from runfold.text import did_you_mean, escape, not_one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

Shape = TypeVar("Shape")

# Unless a Limit says otherwise: every run of a large logdir may be named.
LONGEST_LIST = 20_000
# A tag may be long, but nobody's is longer than what a writer could have meant.
LONGEST_TEXT = 1 << 20
_INT64 = 1 << 63

_NOUNS: dict[object, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """The smallest and largest value of a number, or length of a text or list."""

    low: float
    high: float


async def read_json(request: Request, shape: type[Shape]) -> Shape:
    """The body of a request. Raises BadRequest with the field that is wrong."""
    body = await request.body()
    try:
        content = json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise BadRequest("The body is nested too deeply.") from None
    except ValueError as error:
        raise BadRequest(f"The body is no JSON: {escape(str(error))}.") from None
    return _take_shape(content, shape, "")


def read_query(request: Request, shape: type[Shape]) -> Shape:
    """The query of a request's address. Raises BadRequest with the field that is wrong."""
    given: dict[str, list[str]] = {}
    for name, text in request.query_params.multi_items():
        given.setdefault(name, []).append(text)
    content: dict[str, Any] = {}
    hints = fields_of(shape)
    for name, texts in given.items():
        hint = hints.get(name)
        if hint is not None and _is_list(hint):
            content[name] = [_read_text(text, _item_of(hint)) for text in texts]
        elif len(texts) > 1:
            raise BadRequest(f"'{escape(name)}' may be given once.")
        else:
            content[name] = texts[0] if hint is None else _read_text(texts[0], hint)
    return _take_shape(content, shape, "")


def fields_of(shape: type[Any]) -> Mapping[str, Any]:
    """The type of each field of a shape, by name."""
    return hints_of(shape, include_extras=True)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON")


def _take_shape(content: Any, shape: type[Shape], place: str) -> Shape:
    if not isinstance(content, dict):
        raise BadRequest(f"{place or 'The body'} is an object, not {_describe(content)}.")
    hints = fields_of(shape)
    for name in content:
        if name not in hints:
            hint = did_you_mean(name, hints)
            raise BadRequest(f"No field '{escape(name)}'. {hint}".rstrip())
    for one in dataclasses.fields(shape):  # type: ignore[arg-type]
        has_default = (
            one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING
        )
        if one.name not in content and not has_default:
            raise BadRequest(f"'{_below(place, one.name)}' is missing.")
    return shape(
        **{name: _take(value, hints[name], _below(place, name)) for name, value in content.items()}
    )


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _take(value: Any, hint: Any, place: str) -> Any:
    """The value as the type says, or BadRequest."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, limit = get_args(hint)[:2]
        taken = _take(value, inner, place)
        _check_limit(taken, limit, place)
        return taken
    if origin in (Union, types.UnionType):
        return _take_one_of(value, get_args(hint), place)
    if origin is Literal:
        if not isinstance(value, str) or value not in get_args(hint):
            raise BadRequest(not_one_of(place, value, get_args(hint)))
        return value
    if origin is tuple:
        return _take_list(value, get_args(hint), place)
    if dataclasses.is_dataclass(hint):
        return _take_shape(value, cast("type[Any]", hint), place)
    return _take_plain(value, hint, place)


def _take_one_of(value: Any, choices: tuple[Any, ...], place: str) -> Any:
    if value is None:
        if type(None) in choices:
            return None
        raise BadRequest(f"'{place}' may not be null.")
    fitting = [one for one in choices if _could_be(value, one)]
    if not fitting:
        fitting = [one for one in choices if one is not type(None)]
    refusals = []
    for one in fitting:
        try:
            return _take(value, one, place)
        except BadRequest as error:
            refusals.append(error)
    raise refusals[0]


def _could_be(value: Any, hint: Any) -> bool:
    """Whether the value is of the right sort, so that its refusal tells what is wrong."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _could_be(value, get_args(hint)[0])
    if origin is tuple:
        return isinstance(value, list)
    if origin is Literal:
        return isinstance(value, str)
    if dataclasses.is_dataclass(hint):
        return isinstance(value, dict)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is hint


def _take_list(value: Any, items: tuple[Any, ...], place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise BadRequest(f"'{place}' is a list, not {_describe(value)}.")
    if items[1:] == (...,):
        if len(value) > LONGEST_LIST:
            raise BadRequest(f"'{place}' has {len(value):,} values; {LONGEST_LIST:,} are allowed.")
        return tuple(_take(one, items[0], f"{place}[{n}]") for n, one in enumerate(value))
    if len(value) != len(items):
        raise BadRequest(f"'{place}' is a list of {len(items)} values, not {len(value)}.")
    return tuple(
        _take(one, item, f"{place}[{n}]")
        for n, (one, item) in enumerate(zip(value, items, strict=True))
    )


def _take_plain(value: Any, hint: Any, place: str) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if hint is float and is_number and _is_finite(value):
        return float(value)
    if hint is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # a page knows no other numbers
    if hint is not float and type(value) is hint:
        if hint is int and not -_INT64 <= value < _INT64:
            raise BadRequest(f"'{place}' is beyond 64 bits.")
        if hint is str and len(value) > LONGEST_TEXT:
            raise BadRequest(
                f"'{place}' has {len(value):,} characters; {LONGEST_TEXT:,} are allowed."
            )
        return value
    raise BadRequest(f"'{place}' is {_NOUNS[hint]}, not {_describe(value)}.")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _check_limit(value: Any, limit: Limit, place: str) -> None:
    is_counted = isinstance(value, str | tuple)
    size = len(value) if is_counted else value
    if not limit.low <= size <= limit.high:
        what = f"'{place}' has {size} " + ("characters" if isinstance(value, str) else "values")
        fact = what if is_counted else f"'{place}' is {size:g}"
        raise BadRequest(f"{fact}; from {limit.low:g} to {limit.high:g} is allowed.")


def _describe(value: Any) -> str:
    return escape(json.dumps(value, ensure_ascii=False), 60)


def _is_list(hint: Any) -> bool:
    return any(get_origin(one) is tuple for one in _choices(hint))


def _item_of(hint: Any) -> Any:
    return next(get_args(one)[0] for one in _choices(hint) if get_origin(one) is tuple)


def _choices(hint: Any) -> list[Any]:
    """The types that a field may have, without limits and None."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _choices(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return [inner for one in get_args(hint) for inner in _choices(one)]
    return [hint]


def _read_text(text: str, hint: Any) -> Any:
    """A value of a query: a number or a truth where the field is one, otherwise the text."""
    choices = _choices(hint)
    if str in choices:
        return text
    if bool in choices and text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        if kind in choices:
            try:
                return kind(text)
            except ValueError:
                continue
    return text

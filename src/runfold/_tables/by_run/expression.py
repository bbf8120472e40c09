"""The parser for conditions on runs, such as `lr < 0.1 and last['val/loss'] < 0.3`.

    or_expression   and_expression ("or" and_expression)*
    and_expression  not_expression ("and" not_expression)*
    not_expression  "not" not_expression | comparison
    comparison      sum (("<" | "<=" | ">" | ">=" | "==" | "!=" | word) sum)*
    sum             product (("+" | "-") product)*
    product         signed (("*" | "/" | "//" | "%") signed)*
    signed          ("-" | "+") signed | atom ["**" signed]
    atom            number | string | None | True | False | name | `any name`
                    | lookup "[" string ["," step] "]" | "(" or_expression ")" | list

A word is `in`, `like`, `not in` or `not like`; a lookup is a word such as `last`.

The tree contains only these nodes, and Python never evaluates the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from runfold._humanize import cell_width, did_you_mean, escape
from runfold.errors import BadExpression

if TYPE_CHECKING:
    from collections.abc import Callable

# Nobody types a longer or more deeply nested condition than this.
LONGEST = 20_000
_DEEPEST = 30
_LONGEST_NUMBER = 300

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?!\w)
    |(?P<name>[^\W\d]\w*(?:\.\w+)*)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<sign><=|>=|==|!=|\*\*|//|[<>+\-*/%()\[\],])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_CONSTANTS = {"None": None, "True": True, "False": False}
_WORDS = ("and", "or", "not", "in", "like")
_HINTS = {
    "=": "Use == for equality.",
    "!": "Use `not`, or != for inequality.",
    "&": "Use `and`.",
    "|": "Use `or`.",
    "'": "The closing quote is missing.",
    '"': "The closing quote is missing.",
    "`": "The closing backquote is missing.",
    "is": "Use == None or != None.",
    "and": "Use `and`.",
    "or": "Use `or`.",
}
# Constants as SQL and JSON spell them.
CONSTANT_HINTS = {"true": "True", "false": "False", "none": "None", "null": "None"}


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string, True, False or None."""

    at: int
    value: object


@dataclass(frozen=True, slots=True)
class Several:
    """A list of expressions."""

    at: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """A name; in backquotes it is always an hparam."""

    at: int
    name: str
    is_quoted: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    """A value of a tag: `last['val/loss']`, `at['val/loss', 100]`."""

    at: int
    word: str
    name: str
    step: int | None


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands joined by operators of the same precedence: `a < b <= c`, `a - b + c`."""

    at: int
    rank: str
    operands: tuple[Node, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prefix:
    """`not` or a sign before an operand."""

    at: int
    operator: str
    operand: Node


Node = Literal | Several | Name | Lookup | Chain | Prefix


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse(text: str, lookups: tuple[str, ...]) -> Node:
    """Parse a condition into a tree; `lookups` are the words allowed before a bracket.

    Raises BadExpression if it is invalid; the message marks the error.
    """
    if not isinstance(text, str):
        raise TypeError(f"Expected a condition (str), got {escape(repr(text))}.")
    return _Parser(text, lookups).parse()


def refuse(text: str, at: int, message: str) -> NoReturn:
    """Raise BadExpression with the error marked below the condition."""
    # As much context as fits on a line.
    before, after = escape(text[max(0, at - 40) : at], 1000), escape(text[at : at + 30], 1000)
    before = "…" + before if at > 40 else before
    after = after + "…" if len(text) > at + 30 else after
    raise BadExpression(f"{message}\n  {before}{after}\n  {' ' * cell_width(before)}^", at)


class _Parser:
    def __init__(self, text: str, lookups: tuple[str, ...]) -> None:
        self._text = text
        self._lookups = lookups
        self._depth = 0
        if len(text) > LONGEST:
            raise BadExpression(
                f"The condition has {len(text):,} characters; the limit is {LONGEST:,}."
            )
        self._tokens = [*self._split(), _Token("end", "", len(text))]
        self._next = 0

    def _split(self) -> list[_Token]:
        found, at = [], 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                self._refuse_character(at)
            if match.lastgroup != "space":
                found.append(_Token(str(match.lastgroup), match[0], at))
            at = match.end()
        return found

    def _refuse_character(self, at: int) -> NoReturn:
        character = self._text[at]
        what = "this number" if character.isdigit() else f"'{escape(character)}'"
        hint = _HINTS.get(
            character, "Put a name with special characters in backquotes, as in `2-odd name`."
        )
        refuse(self._text, at, f"Cannot parse {what}. {hint}")

    def parse(self) -> Node:
        if self._peek().kind == "end":
            raise BadExpression("The condition is empty. Write one such as: lr < 0.1")
        node = self._or()
        token = self._peek()
        if token.kind != "end":
            hint = ""
            if token.kind == "name":
                hint = _HINTS.get(token.text.lower()) or did_you_mean(token.text, _WORDS)
                hint = hint or "An operator such as `and` is missing."
            self._refuse(f"Unexpected '{escape(token.text)}'. {hint}".rstrip())
        return node

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _accept(self, *texts: str) -> str | None:
        """Consume the next token and return it if it is one of these words or signs."""
        token = self._peek()
        if token.kind in ("name", "sign") and token.text in texts:
            self._next += 1
            return token.text
        return None

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._refuse(f"Expected '{text}'.")

    def _refuse(self, message: str) -> NoReturn:
        refuse(self._text, self._peek().at, message)

    def _or(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse("The condition is nested too deeply.")
        node = self._chain("or", self._and, "or")
        self._depth -= 1
        return node

    def _and(self) -> Node:
        return self._chain("and", self._not, "and")

    def _not(self) -> Node:
        at = self._peek().at
        count = 0
        while self._accept("not"):
            count += 1
        node = self._comparison()
        # Pairs of `not` cancel out, but one pair must remain to convert the value to a bool.
        for _ in range(count if count < 2 else 2 + count % 2):
            node = Prefix(at, "not", node)
        return node

    def _comparison(self) -> Node:
        at = self._peek().at
        operands, operators = [self._sum()], []
        while operator := self._comparator():
            operators.append(operator)
            operands.append(self._sum())
        return Chain(at, "compare", tuple(operands), tuple(operators)) if operators else operands[0]

    def _comparator(self) -> str | None:
        following = self._tokens[self._next + 1 : self._next + 2]
        if self._peek().text == "not" and following and following[0].text in ("in", "like"):
            self._next += 1
            return f"not {self._take().text}"
        return self._accept("<", "<=", ">", ">=", "==", "!=", "in", "like")

    def _sum(self) -> Node:
        return self._chain("number", self._product, "+", "-")

    def _product(self) -> Node:
        return self._chain("number", self._signed, "*", "/", "//", "%")

    def _chain(self, rank: str, operand: Callable[[], Node], *signs: str) -> Node:
        at = self._peek().at
        operands, operators = [operand()], []
        while operator := self._accept(*signs):
            operators.append(operator)
            operands.append(operand())
        return Chain(at, rank, tuple(operands), tuple(operators)) if operators else operands[0]

    def _signed(self) -> Node:
        at = self._peek().at
        is_negative, has_sign = False, False
        while sign := self._accept("-", "+"):
            has_sign, is_negative = True, is_negative != (sign == "-")
        node = self._atom()
        if self._accept("**"):
            self._depth += 1
            if self._depth > _DEEPEST:
                self._refuse("The condition is nested too deeply.")
            node = Chain(at, "number", (node, self._signed()), ("**",))
            self._depth -= 1
        return Prefix(at, "-" if is_negative else "+", node) if has_sign else node

    def _atom(self) -> Node:
        token = self._peek()
        if token.kind == "number":
            return Literal(token.at, self._number(self._take().text))
        if token.kind == "string":
            return Literal(token.at, _unquote(self._take().text))
        if token.kind == "quoted":
            return Name(token.at, self._take().text[1:-1].replace("``", "`"), is_quoted=True)
        if token.kind == "name" and token.text not in _WORDS:
            return self._named()
        if self._accept("("):
            node = self._or()
            if self._peek().text == "," and self._peek().kind == "sign":
                return self._several(token.at, [node], ")")
            self._expect(")")
            return node
        if self._accept("["):
            empty = self._accept("]")
            return Several(token.at, ()) if empty else self._several(token.at, [self._or()], "]")
        if token.kind == "end":
            self._refuse("The condition is incomplete.")
        self._refuse(f"Unexpected '{escape(token.text)}'.")

    def _number(self, text: str) -> float:
        if len(text) > _LONGEST_NUMBER:
            self._next -= 1
            self._refuse(f"A number can have at most {_LONGEST_NUMBER} digits.")
        return int(text) if text.isdecimal() else float(text)

    def _several(self, at: int, items: list[Node], end: str) -> Node:
        while self._accept(","):
            if self._peek().text == end:
                break
            items.append(self._or())
        self._expect(end)
        return Several(at, tuple(items))

    def _named(self) -> Node:
        token = self._take()
        if token.text in _CONSTANTS:
            return Literal(token.at, _CONSTANTS[token.text])
        bracket = self._peek().text if self._peek().kind == "sign" else ""
        if bracket not in ("[", "("):
            return Name(token.at, token.text, is_quoted=False)
        if token.text not in self._lookups:
            self._next -= 1
            known = ", ".join(self._lookups)
            hint = did_you_mean(token.text, self._lookups) or f"Available: {known}."
            self._refuse(f"'{escape(token.text)}' cannot be followed by a bracket. {hint}")
        self._take()
        name = self._peek()
        if name.kind not in ("string", "quoted"):
            self._refuse(f"Expected a quoted name, as in {token.text}['val/loss'].")
        self._take()
        text = _unquote(name.text) if name.kind == "string" else name.text[1:-1].replace("``", "`")
        step = self._step(token.text) if token.text == "at" else None
        self._expect("]" if bracket == "[" else ")")
        return Lookup(name.at, token.text, text, step)

    def _step(self, word: str) -> int:
        if not self._accept(","):
            self._refuse(f"Expected a step, as in {word}['val/loss', 100].")
        sign = -1 if self._accept("-") else 1
        token = self._peek()
        if token.kind == "number":
            number = self._number(self._take().text)
            if abs(number) < 2**63 and int(number) == number:
                return sign * int(number)
            self._next -= 1
        self._refuse("A step must be a whole number.")


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), text[1:-1], flags=re.S)

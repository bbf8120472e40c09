"""Conditions are parsed into a tree; errors show their location."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold._tables.by_run.expression import (
    LONGEST,
    Chain,
    Literal,
    Lookup,
    Name,
    Prefix,
    Several,
    parse,
)
from runfold.errors import BadExpression

LOOKUPS = ("last", "at", "has")
QUOTE = "Put a name with special characters in backquotes, as in `2-odd name`."


def tree(text):
    """Return a tree as nested tuples, without positions."""
    return _plain(parse(text, LOOKUPS))


def _plain(node):
    match node:
        case Literal(_, value):
            return value
        case Name(_, name, is_quoted):
            return f"`{name}`" if is_quoted else f"<{name}>"
        case Lookup(_, word, name, step):
            return (word, name) if step is None else (word, name, step)
        case Several(_, items):
            return [_plain(item) for item in items]
        case Prefix(_, operator, operand):
            return (operator, _plain(operand))
        case Chain(_, _, operands, operators):
            first, *rest = map(_plain, operands)
            return (first, *(part for pair in zip(operators, rest, strict=True) for part in pair))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr < 0.1", ("<lr>", "<", 0.1)),
        ("a and b or not c", (("<a>", "and", "<b>"), "or", ("not", "<c>"))),
        ("a or b and c or d", ("<a>", "or", ("<b>", "and", "<c>"), "or", "<d>")),
        ("1 < x <= 2e3", (1, "<", "<x>", "<=", 2000.0)),
        ("not a == b", ("not", ("<a>", "==", "<b>"))),
        ("1 + 2 * -x ** 2", (1, "+", (2, "*", ("-", ("<x>", "**", 2))))),
        ("a - b - c", ("<a>", "-", "<b>", "-", "<c>")),
        ("(a - b) % 2 // 3", (("<a>", "-", "<b>"), "%", 2, "//", 3)),
        ("x in (1, 'two', None,)", ("<x>", "in", [1, "two", None])),
        ("x not in [True, False]", ("<x>", "not in", [True, False])),
        ("x in []", ("<x>", "in", [])),
        ("run not like 'lr-*'", ("<run>", "not like", "lr-*")),
        ("optim.lr == `odd ``name``/2`", ("<optim.lr>", "==", "`odd `name`/2`")),
        ("layers.0.width > 3", ("<layers.0.width>", ">", 3)),
        ("last['val/loss'] < .5", (("last", "val/loss"), "<", 0.5)),
        ('at["a\\"b", -1e3] > at(`c`, 5)', (("at", 'a"b', -1000), ">", ("at", "c", 5))),
        ("has('x') == --1", (("has", "x"), "==", ("+", 1))),
        ("größe == 'Ä\\n\\q'", ("<größe>", "==", "Ä\n\\q")),
        ("last", "<last>"),
    ],
)
def test_tree(text, expected):
    assert tree(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr = 0.1", "Cannot parse '='. Use == for equality.\n  lr = 0.1\n     ^"),
        ("a & b", "Cannot parse '&'. Use `and`.\n  a & b\n    ^"),
        ("a == 'x", "Cannot parse '''. The closing quote is missing.\n  a == 'x\n       ^"),
        ("'损失' = 1", "Cannot parse '='. Use == for equality.\n  '损失' = 1\n         ^"),
        ("lr <", "The condition is incomplete.\n  lr <\n      ^"),
        ("(a or b", "Expected ')'.\n  (a or b\n         ^"),
        ("a b", "Unexpected 'b'. An operator such as `and` is missing.\n  a b\n    ^"),
        ("a adn b", "Unexpected 'adn'. Did you mean 'and'?\n  a adn b\n    ^"),
        ("a is None", "Unexpected 'is'. Use == None or != None.\n  a is None\n    ^"),
        ("a AND b", "Unexpected 'AND'. Use `and`.\n  a AND b\n    ^"),
        ("and b", "Unexpected 'and'.\n  and b\n  ^"),
        (
            "lst['x'] < 1",
            "'lst' cannot be followed by a bracket. Did you mean 'last'?\n  lst['x'] < 1\n  ^",
        ),
        ("last[x]", "Expected a quoted name, as in last['val/loss'].\n  last[x]\n       ^"),
        ("at['x'] > 1", "Expected a step, as in at['val/loss', 100].\n  at['x'] > 1\n        ^"),
        ("at['x', .5] > 1", "A step must be a whole number.\n  at['x', .5] > 1\n          ^"),
        (
            "x < 10k",
            f"Cannot parse this number. {QUOTE}\n  x < 10k\n      ^",
        ),
        ("a\x1b[2J", f"Cannot parse '\\x1b'. {QUOTE}\n  a\\x1b[2J\n   ^"),
        ("", "The condition is empty. Write one such as: lr < 0.1"),
        (" \n", "The condition is empty. Write one such as: lr < 0.1"),
    ],
)
def test_errors_are_marked_in_the_message(text, message):
    with pytest.raises(BadExpression) as caught:
        parse(text, LOOKUPS)
    assert str(caught.value) == message


def test_long_condition_is_shown_around_the_error():
    text = " and ".join(f"name_{number} > 1" for number in range(99)) + " and ?" + " " * 99
    with pytest.raises(BadExpression) as caught:
        parse(text, LOOKUPS)
    _, shown, mark = str(caught.value).split("\n")
    assert len(shown) < 80
    assert shown[mark.index("^")] == "?"


@pytest.mark.parametrize(
    "text", ["(" * 5000, "[" * 5000, "2**" * 5000 + "2", "(1+" * 40 + "1" + ")" * 40]
)
def test_deeply_nested_condition_is_rejected(text):
    with pytest.raises(BadExpression, match="nested too deep"):
        parse(text, LOOKUPS)


def test_overlong_condition_is_rejected():
    with pytest.raises(BadExpression, match="characters"):
        parse("1 " * LONGEST, LOOKUPS)
    with pytest.raises(BadExpression, match="digits"):
        parse("x < " + "9" * 5000, LOOKUPS)
    with pytest.raises(TypeError, match=r"Expected a condition \(str\), got"):
        parse(1, LOOKUPS)


def test_long_flat_conditions_are_accepted():
    parse("+".join("1" * 5000), LOOKUPS)
    parse("not " * 4000 + "x", LOOKUPS)
    parse("-" * 9000 + "x", LOOKUPS)


WORDS = """lr last['x'] at('x',1) and or not in like ( ) [ ] , < >= == != + - ** // 1 0.5 'a' "
    `b` ` None ."""
PIECES = st.sampled_from(WORDS.split())


@given(st.lists(PIECES | st.text(max_size=3), max_size=30).map(" ".join) | st.text())
def test_no_text_raises_anything_but_bad_expression(text):
    try:
        parse(text, LOOKUPS)
    except BadExpression as error:
        assert all(line.isprintable() for line in str(error).split("\n"))

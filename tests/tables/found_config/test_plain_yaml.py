"""YAML as plain data: the output of frameworks, PyYAML as the oracle, and hostile input."""

import math
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from runfold._tables.found_config import plain_yaml
from runfold._tables.found_config.plain_yaml import parse_yaml
from runfold._tables.found_config.simple_yaml import parse_simple, resolve

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, width=32)
    # PyYAML writes the text 1e3 without quotes; here, it is a number.
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).filter(
        lambda text: not isinstance(resolve(text), float)
    )
)
KEYS = st.text("abcXYZ_09-.", min_size=1, max_size=8).filter(lambda key: key[0].isalpha())
NESTED = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=6,
)


@given(NESTED)
def test_reads_what_pyyaml_dumps(nested):
    text = yaml.safe_dump(nested, sort_keys=False)
    assert parse_yaml(text) == nested
    assert repr(parse_yaml(text)) == repr(plain_yaml._parse_any(text))


LINES = """\
a: 1
b:
c: x y # note
d: 'q # r'
e: "x: y"
f: [1, a b, -2]
g: []
h: cuda:0
i: a:
j: -
k: !!python/tuple
l: !!python/object:a.B
m: !!python/name:x.y ''
n: $x{y} (1, 2)
o: <a 'b'>
p: *q
q: &r s
r: |
s: {a: 1}
t: 'it''s'
u: "a\\nb"
v: [1,,2]
w: [- 1]
yes: no
x/y.z-1: ~
- 1
-
- a=b
- - c
- 'd'
- e: 1
# note

1: 2
---
?  x""".splitlines()


@given(st.lists(st.builds(str.__add__, st.sampled_from(["", "", "  "]), st.sampled_from(LINES))))
def test_the_quick_parser_agrees_with_the_general_one(lines):
    text = "\n".join(lines)
    quick = parse_simple(text)
    if quick is not None:
        assert repr(quick) == repr(plain_yaml._parse_any(text))


VALUES = """\
1e-3
'a: b'
"x"
yes # note
# note
- 1
-
a: b
a:
[1, 2]
[]
{a: 1}
!!python/tuple
!!python/name:x.y ''
*q
&r s
|
x y
x@    - y
x@      y
x@    y
x@  y: z
é
"""


@pytest.mark.parametrize("key", ["a", "b.c", "_d", "yes", "null", "- e", "'f'", "x y", "1", "g: h"])
def test_both_parsers_agree_on_an_ordered_dict(key):
    for value in VALUES.split("\n"):
        items = {"lr": "0.1", key: value.replace("@", "\n"), "z": "1"}
        pairs = [f"- - {name}\n    - {item}\n" for name, item in items.items()]
        text = "!!python/object/apply:collections.OrderedDict\n- " + "  ".join(pairs)
        quick = parse_simple(text)
        if quick is not None:
            assert repr(quick) == repr(plain_yaml._parse_any(text))


@pytest.mark.parametrize(
    "text",
    [
        "# note\nlr: 0.1\n\noptim:\n  betas:\n  - 0.9\n  - 0.99\n  name: 'adam'  # note\nx: [1, 2]",
        "- lr=0.1\n- +model=small",
        "sizes: !!python/tuple\n- 4\n- 1\nact: !!python/name:torch.nn.ReLU ''\n",
        yaml.dump(OrderedDict(lr="lin_0.1", n_envs=8, kwargs="dict(a=[1])", env=None, log="")),
    ],
)
def test_common_files_need_no_general_parser(text):
    assert parse_simple(text) == plain_yaml._parse_any(text) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.001", 0.001),
        ("1e-3", 0.001),
        ("1.0e-05", 1e-05),
        ("128", 128),
        ("1_000", 1000),
        ("1__0_", 10),
        ("-7", -7),
        ("yes", True),
        ("Off", False),
        ("~", None),
        (".inf", math.inf),
        ("adam", "adam"),
        ("2026-01-31", "2026-01-31"),
        ("0123", "0123"),
        ("None", "None"),
        ("9" * 500, "9" * 500),
    ],
)
def test_numbers_and_words_have_their_types(text, value):
    assert repr(resolve(text)) == repr(value)
    assert repr(parse_yaml(f"x: {text}")) == repr({"x": value})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "x: !!python/name:torch.nn.modules.activation.ReLU ''",
            "torch.nn.modules.activation.ReLU",
        ),
        ("x: !!python/tuple\n- 4\n- 1", [4, 1]),
        ("x: !!python/object:argparse.Namespace\n  lr: 0.1", {"lr": 0.1}),
        ("x: !!python/object/apply:pathlib.PosixPath\n- data\n- train", "data/train"),
        ("x: !!python/object/apply:collections.OrderedDict\n- - - a\n    - 1", {"a": 1}),
        ("x: !!python/object/apply:collections.OrderedDict []", {}),
        ("x: !!python/object/apply:my.Color\n- 2", 2),
        ("x: !!python/object/apply:os.system\n- touch hacked", "touch hacked"),
        ("x: !!set {a, b}", ["a", "b"]),
        ("x: !!str 12", "12"),
        ("x: !!binary aGVsbG8=", None),
        ("x: '1'", "1"),
        ("x: &a {y: 1}\nz: *a", {"y": 1}),
        ("x: !custom {y: 1}", {"y": 1}),
    ],
)
def test_tags_become_plain_data(text, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_yaml(text)["x"] == value
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "number",
    [
        *(np.dtype(form).type(1) for form in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
        *(np.float16(0.5), np.float32(-0.5), np.float64(0.1), np.float64("inf"), np.bool_(True)),
    ],
    ids=lambda number: number.dtype.name,
)
def test_numpy_numbers_are_numbers(number):
    """Lightning saves hyperparameters unchanged, for example from `np.logspace`."""
    text = yaml.dump({"x": number, "y": [number]})
    assert repr(parse_yaml(text)) == repr({"x": number.item(), "y": [number.item()]})


@pytest.mark.parametrize(
    "arguments",
    [
        "[{args: [U3]}, !!binary aGVsbG8=]",
        "[{args: [f8]}, !!binary aGVsbG8=]",
        "[{args: [f8]}, '!']",
        "[{args: [f8]}, [1]]",
        "[{args: [[f8]]}, !!binary aGVsbG8=]",
        "[{args: []}, a]",
        "[a, b]",
    ],
)
def test_other_numpy_scalars_are_left_out(arguments):
    text = f"x: !!python/object/apply:numpy._core.multiarray.scalar {arguments}"
    assert parse_yaml(text) == {"x": None}


def test_merge_keys_add_missing_entries():
    text = "base: &base {lr: 1, name: a}\nrun:\n  name: b\n  <<: *base\n  lr: 2"
    assert parse_yaml(text)["run"] == {"name": "b", "lr": 2}


def test_keys_are_text_and_the_last_of_equal_keys_is_used():
    assert parse_yaml("1: a\ntrue: b\n[x, y]: c") == {"1": "a", "true": "b", "['x', 'y']": "c"}
    assert parse_yaml("a: 1\na: 2") == parse_yaml("a: 1\n'a': 2") == {"a": 2}


def test_only_the_first_document_is_read():
    assert parse_yaml("a: 1\n---\na: 2") == {"a": 1}
    assert parse_yaml("") is None


NINE = ",".join(["*{}"] * 9)
LAUGHS = "a: &a [x]\n" + "".join(
    f"{new}: &{new} [{NINE.replace('{}', old)}]\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{new}: &{new} {{<<: [{NINE.replace('{}', old)}]}}\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(LAUGHS, "more than 50,000 values", id="laughs"),
        pytest.param(MERGES, "more than 50,000 values", id="merges"),
        pytest.param("[" + "1," * 60_000 + "]", "more than 50,000 values", id="long"),
        pytest.param("a: &a [*a]", "nested more than 30 levels deep", id="itself"),
        pytest.param("a: *b", "undefined alias", id="alias"),
        pytest.param("a: [1", "line 2", id="torn"),
        pytest.param("\ta: 1", "line 1", id="tab"),
        pytest.param("a\0b: 1", "not YAML", id="nul"),
    ],
)
def test_bad_text_raises_a_value_error(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_yaml(text)


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? "])
@pytest.mark.parametrize("library", ["CSafeLoader", "SafeLoader"])
def test_deep_nesting_does_not_crash_the_process(opening, library):
    program = (
        "import yaml; from runfold._tables.found_config.plain_yaml import parse_yaml\n"
        f"yaml.CSafeLoader = yaml.{library}\n"
        f"try: parse_yaml({opening!r} * 200_000)\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "nested more than 30 levels deep\n"), done.stderr


def test_both_parsers_have_the_same_limit():
    texts = ["".join(f"{' ' * depth}a:\n" for depth in range(last)) for last in (27, 28, 29)]
    least, most, over = (text + " " * number + "a: 1" for number, text in enumerate(texts, 27))
    for text in (least, most):
        assert parse_simple(text) == plain_yaml._parse_any(text) is not None
    with pytest.raises(ValueError, match="nested"):
        parse_yaml(over)

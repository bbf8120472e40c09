"""Parts of a run's story: read back unchanged, and readable on TensorBoard's page."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugin_util import markdown_to_safe_html

from runfold._story.story_parts import (
    CODE,
    COMMAND,
    CONFIG,
    OUTPUT,
    STATUS,
    decode_story,
    encode_story,
)

TRACEBACK = "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: '```' <b>\n"

texts = st.text(st.characters(codec="utf-8")) | st.text('`\n\\"[],a1 \t')
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
trees = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner))


def stored(part, value):
    """Return the text of a part, as stored in the event file."""
    return Summary.Value.FromString(encode_story(part, value)).tensor.string_val[0].decode()


def blocks(text):
    """Return the code blocks that TensorBoard's page shows for text."""
    page = markdown_to_safe_html(text)
    return [html.unescape(block) for block in re.findall(r"<code[^>]*>(.*?)</code>", page, re.S)]


@given(trees)
def test_a_part_is_read_back_unchanged(value):
    assert decode_story(stored(CONFIG, value)) == value


@given(texts)
def test_plain_text_is_read_back_unchanged(text):
    assert decode_story(stored(OUTPUT, text)) == text


def test_multi_line_text_is_shown_line_by_line():
    status = {"state": "failed", "traceback": TRACEBACK, "exit": 1}
    shown = stored(STATUS, status)
    assert decode_story(shown) == status
    assert blocks(shown) == [
        '{\n "state": "failed",\n "exit": 1\n}\n',
        "traceback",
        TRACEBACK + "\n",
    ]


def test_a_short_list_is_shown_on_one_line():
    command = {"argv": ["train.py", "--lr", "0.1"], "sizes": [1, 2.5, None], "empty": []}
    assert blocks(stored(COMMAND, command)) == [
        '{\n "argv": ["train.py", "--lr", "0.1"],\n "sizes": [1, 2.5, null],\n "empty": []\n}\n'
    ]


def test_text_inside_json_is_read():
    assert decode_story('```json\n{"script_text": "a\\nb"}\n```') == {"script_text": "a\nb"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "```json\n{}\n``` ",
        "```json\n{}\n```\n\n`a`\n\n",
        "```json\n{}\n```\n\n`a`\n\n```\nx\n",
        "```json\n[]\n```\n\n`a`\n\n```\nx\n```",
        '```json\n{}\n```\n\n`"`\n\n```\nx\n```',
    ],
)
def test_text_that_is_not_a_part_raises(text):
    with pytest.raises(ValueError, match=r"expected a code block|Extra data"):
        decode_story(text)


def test_a_name_can_contain_anything():
    code = {'a`b\n\\"__c__': "1\n2", "é": "\n"}
    assert decode_story(stored(CODE, code)) == code

"""Text, arguments and settings without secrets, found by name, by look, or because known.

What is hidden becomes `***`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from runfold._log.masking.command_secrets import find_password_arguments, mask_commands
from runfold._log.masking.paired_secrets import mask_paired
from runfold._log.masking.secret_names import (
    CERTAINLY,
    LIKELY,
    MASK,
    is_drawn,
    is_random,
    is_secret,
    known,
    rank_name,
)
from runfold._log.masking.token_forms import (
    AWS_PAIR,
    BEARER,
    KEY_BEGIN,
    KEY_END,
    KEY_LINE,
    KEY_TAIL,
    ODBC,
    PRIVATE_KEY,
    SIGNATURE,
    TOKENS,
)

# Greedy, for a password may hold an `@`. A user alone may be a token, but with SSH it is a name.
_USER_INFO = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,20}://)([^\s/?#\"'<>`]{1,500})@")
# `name=value`, `"name": "value"`, `Name: value`, `name: str = "value"`, `env["name"] = "value"`,
# `**Name:** value`. In `Basic aHVudGVyMjE=` the sign belongs to the value, not to a type.
_NAME = re.compile(
    r"(?<![\w.])([^\W\d][\w.-]{0,100}+)(?:\\?[\"'`]|\*\*)?\]?[ \t]*+"
    r"(?::[ \t]*[A-Za-z_][\w.\[\]| ]{0,40}(?: =(?= )|=(?=[bBrRuUfF]{0,2}[\"'\[({]))"
    r"|:=|=>|->|→|%3[AaDd]|[:=：])(?![:=])(?:\*\*(?!\*))?[ \t]*+"
)
# Before a value: a scheme of HTTP, a tag or an anchor of YAML.
_SCHEME = re.compile(r"(?:(?:Basic|Bearer|Token|Digest) +|!!\w+[ \t]+|&\w+[ \t]+)", re.IGNORECASE)
# A call that wraps the value, `SecretStr("x")`, and what it stands in for, `getenv("X") or "x"`.
_WRAPPER = re.compile(
    r"(?:(?:\w{1,20}\.)?(?:Secret\w{0,20}|Sensitive\w{0,20}|[Ff]ield|str|bytes)"
    r"\(\s{0,9}(?:default\s{0,3}=\s{0,3})?"
    r"|[\w.]{1,80}(?:\([^()\n]{0,200}\)|\[[^\[\]\n]{0,200}\])?"
    r"[ \t]{1,9}(?:or|\|\||\?\?)[ \t]{1,9})"
    r"(?=[bBrRuUfF]{0,2}[\"'])"
)
# With the letters of Python before it: `b"..."`, `rb"..."`.
_QUOTED = re.compile(r"[bBrRuUfF]{0,2}(\"\"\"|'''|\\?[\"'])((?:(?!\1)(?:\\.|[^\n]))*+)(\1?)")
# The next part of a text: `"a" + "b"`.
_JOIN = re.compile(r"[ \t]*+(?:\+[ \t]*+(?:\\?\n[ \t]*+)?|\\\n[ \t]*+)?(?=[bBrRuUfF]{0,2}[\"'])")
# A list of values; and a mapping, whose values follow a colon.
_OPENING = re.compile(r"[\[(][\[(\s]*+")
_COMMA = re.compile(r"\s*+,\s*+")
_MAPPING = re.compile(r"\{([^{}]{0,2000})\}?")
_COLON = re.compile(r"[\w\"'.-][ \t]*+:[ \t]*+")
# The same in YAML: indented lines, each an item or a pair.
_YAML_ITEM = r"\n(?:[ \t]++(?:-[ \t]++)?|-[ \t]++)"
_YAML = re.compile(rf"[ \t]*+(?:[|>][-+\d]{{0,2}})?[ \t]*+((?:{_YAML_ITEM}[^\n]{{1,500}}){{1,50}})")
_YAML_VALUE = re.compile(rf"{_YAML_ITEM}(?:[\w\"'.-]++:[ \t]++)?")
# `the password is hunter2`.
_SENTENCE = re.compile(
    r"(?i)\b(password|passphrase|passcode|api[ _-]?key|secret(?: key)?|(?:access|auth|api) token)"
    r"((?: for [\w.@-]{1,40}:|(?: for [\w.@-]{1,40})?[ \t]+(?:is|was)(?: now)?:?)[ \t]+[\"'`]?)"
    r"([^\s\"'`,]{6,200})"
)
# Up to a space, or to the sign before the next pair.
_BARE = re.compile(r"(?:[^\s\"'&;,})\]]|[;,})\]](?![\s\"'&;,})\]]|\Z|[\w.-]{1,50}[:=]))++")
# Of a bare value, this much is looked at before it is known to be one to hide.
_LONGEST_LOOK = 200
_PROGRAM = (".py", ".pyx", ".pxd", ".pyi", ".pxi", ".ipynb", ".c", ".cc", ".cpp", ".cu", ".h")
# What a source takes from elsewhere is no secret: `${PASSWORD}`, `!vault |`; nor is what follows
# the quote at the end of `f("password: ", x)`.
_NO_LITERAL = tuple("${<%!(|>,)]} ")
# A whole text in a line of a program, and how much of a line is looked at.
_LITERAL = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|#.*")
_LONGEST_LINE = 1000
_SHORT = re.compile(r"-[A-Za-z]=?")
_HARMLESS = ("", MASK, "true", "false", "none", "null")


def mask_arguments(argv: Sequence[str]) -> list[str]:
    """A command line with every secret in it as `***`: `--api-key X`, `--api-key=X`, `db.pwd=X`.

    A short option says nothing of its value: that of `-t X`, `-tX` or `-t=X` is hidden
    where it looks as if it was drawn.
    """
    masked: list[str] = []
    secret_name = ""
    hides_all = is_unnamed = False
    passwords = find_password_arguments(list(map(str, argv)))
    for place, argument in enumerate(map(str, argv)):
        if place in passwords:
            masked.append(passwords[place])
            secret_name = ""
            continue
        short = _SHORT.match(argument)
        is_flag = argument.startswith("--") or (short is not None and short[0] == argument)
        if secret_name and not is_flag:
            masked.append(_hide(argument) if is_secret(secret_name, argument) else argument)
            secret_name = secret_name if hides_all else ""
            continue
        head = short[0] if short else ""
        value = argument.removeprefix(head)
        is_hidden = (short or is_unnamed) and is_drawn(value)
        argument = head + (MASK if is_hidden else _mask_looks(value))
        is_unnamed = short is not None and is_flag
        name, sign, value = argument.partition("=")
        secret_name, hides_all = "", False
        if sign and re.fullmatch(r"[-+~]*[A-Za-z_][\w.@/:-]*", name):
            shown = _hide(value) if is_secret(name, value) else mask_text(value)
            masked.append(f"{name}={shown}")
            continue
        masked.append(mask_text(argument))
        if is_flag or argument.startswith("-"):
            secret_name = argument if rank_name(argument) >= LIKELY else ""
            hides_all = argument.endswith("s")  # `--api-keys A B C`
    return masked


def mask_mapping(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """The mapping as a dict, nested ones and lists too, with every secret in it as `***`.

    Truth values and None stay: `use_auth_token=True` tells nothing. Below a name
    such as `credentials` everything is hidden.
    """
    return {mask_text(str(name)): _mask_named(str(name), value) for name, value in mapping.items()}


def mask_text(text: str) -> str:
    """The text with `***` for what looks like a secret or stands beside the name of one.

    A URL loses its user and password, and the tokens among its parameters.
    """
    return _mask_pairs(_mask_looks(text), lambda name, value, _: is_secret(name, value))


def mask_output(text: str) -> str:
    """What a script wrote, with `***` for secrets; only where a name leaves no doubt.

    `token: 50256` and `pass: 3` are what a script works on.
    """
    return _mask_pairs(
        _mask_looks(text),
        lambda name, value, _: (
            is_secret(name, value) and (rank_name(name) == CERTAINLY or is_random(value))
        ),
    )


def mask_source(text: str, path: str = "") -> str:
    """Source text with `***` for the secrets that were written into it; it has as many lines.

    Programs must continue to work, so only quoted texts and parts of them are hidden
    there, and a private key is left in place: see `holds_private_key`.
    """
    is_program = path.lower().endswith(_PROGRAM)

    def is_hidden(name: str, value: str, is_quoted: bool) -> bool:
        if (is_program and not is_quoted) or value.startswith(_NO_LITERAL):
            return False
        rank = rank_name(name)
        return rank == CERTAINLY or (rank > 0 and is_random(value))

    return _mask_pairs(mask_commands(_mask_tokens(text)), is_hidden)


def holds_private_key(text: str) -> bool:
    """Whether a private key in PEM form is in a text."""
    return PRIVATE_KEY.search(text) is not None


class PrivateKeyFilter:
    """Hides private keys in text that arrives in pieces, such as a key printed line by line."""

    def __init__(self) -> None:
        self._is_inside = False

    def hide(self, text: str) -> str:
        """Return whole lines without the lines of a key that began in an earlier piece."""
        if self._is_inside:
            text = self._skip_rest(text)
        begins = list(KEY_BEGIN.finditer(text))
        if begins and not KEY_END.search(text, begins[-1].end()):
            # What follows in this piece may be output again; the lines of a key are known.
            start = begins[-1].start()
            self._is_inside = True
            text = text[:start] + MASK + "\n" + self._skip_rest(text[begins[-1].end() :])
        return text

    def _skip_rest(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        for number, line in enumerate(lines):
            end = KEY_END.search(line)
            if end or not (KEY_LINE.fullmatch(line.strip()) or KEY_TAIL.search(line)):
                self._is_inside = False
                return (line[end.end() :] if end else line) + "".join(lines[number + 1 :])
        return ""


def _mask_named(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if rank_name(name) == CERTAINLY:
            return {str(key): _mask_named(name, below) for key, below in value.items()}
        return mask_mapping(value)
    if isinstance(value, list | tuple):
        if rank_name(name) < LIKELY and all(isinstance(item, str) for item in value):
            return _mask_texts(value)
        return [_mask_named(name, item) for item in value]
    if is_secret(name, value):
        return _hide(value)
    return mask_text(value) if isinstance(value, str) else value


def _mask_texts(texts: Sequence[str]) -> list[str]:
    """A list of texts without secrets: it may be a command line, or a key and its secret."""
    masked = mask_arguments(texts)
    for place, pair in enumerate(pairwise(texts), 1):
        if AWS_PAIR.fullmatch(" ".join(pair)):
            masked[place] = MASK
    return masked


def _hide(value: object) -> str:
    return str(value) if str(value).lower() in _HARMLESS else MASK


def _mask_looks(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = PRIVATE_KEY.sub(MASK, text)
    return _SENTENCE.sub(_mask_sentence, mask_commands(_mask_tokens(text)))


def _mask_tokens(text: str) -> str:
    text = known.hide(text)
    if "://" in text:
        text = _USER_INFO.sub(_mask_user, text)
    for form in (AWS_PAIR, SIGNATURE, ODBC):
        text = form.sub(rf"\g<1>{MASK}", text)
    text = mask_paired(text)
    return BEARER.sub(rf"\g<1>{MASK}", TOKENS.sub(MASK, text))


def _mask_sentence(found: re.Match[str]) -> str:
    """Hide what a sentence names as a password, unless it is a word: `password is required`."""
    value = found[3].rstrip(".!?)")
    if not any(not char.isalpha() for char in value):
        return found[0]
    return f"{found[1]}{found[2]}{MASK}{found[3][len(value) :]}"


def _mask_user(found: re.Match[str]) -> str:
    scheme, user = found[1], found[2]
    is_name = "ssh" in scheme.lower() and ":" not in user
    return found[0] if is_name or user.startswith(("{", "$")) else f"{scheme}{MASK}@"


def _mask_pairs(text: str, is_hidden: Callable[[str, str, bool], bool]) -> str:
    parts: list[str] = []
    kept = start = 0
    while found := _NAME.search(text, start):
        # The value may be a pair itself: `env=API_KEY=X`, `https://host?token=X`. What looks
        # like its type may be a name: `$env:DB_PASSWORD = "X"`.
        start = found.end(1)
        if not rank_name(found[1]):
            continue
        start = found.end()
        for begin, end, value, is_quoted in _list_values(text, start):
            if is_hidden(found[1], value, is_quoted or _is_in_literal(text, begin)):
                if len(value) == _LONGEST_LOOK and not is_quoted:
                    end = _BARE.match(text, begin).end()  # type: ignore[union-attr]  # it did before
                parts += (text[kept:begin], _hide(value))
                kept = start = end
    return "".join((*parts, text[kept:]))


def _is_in_literal(text: str, at: int) -> bool:
    """Whether a place is inside a text of its line: `connect("host=h password=hunter2")`."""
    line = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1 or max(0, at - _LONGEST_LINE)
    return re.search(r"[\"']", _LITERAL.sub("", text[line:at])) is not None


def _list_values(text: str, start: int) -> Iterator[tuple[int, int, str, bool]]:
    """Yield what follows a name: one value, or those of a list: `["a", b"b"]`.

    Each has its begin, its end, its text, and whether it is quoted at both ends.
    """
    if block := _MAPPING.match(text, start) or _YAML.match(text, start):
        pattern = _COLON if block[0].startswith("{") else _YAML_VALUE
        for found in pattern.finditer(text, block.start(1), block.end(1)):
            yield from _list_values_at(text, found.end(), is_list=False)
        return
    if wrapper := _WRAPPER.match(text, start):
        start = wrapper.end()
    opening = _OPENING.match(text, start)
    yield from _list_values_at(text, opening.end() if opening else start, bool(opening))


def _list_values_at(text: str, begin: int, is_list: bool) -> Iterator[tuple[int, int, str, bool]]:
    while True:
        quoted = _QUOTED.match(text, begin)
        if quoted:
            yield quoted.start(2), quoted.end(2), quoted[2], bool(quoted[3])
            end = quoted.end()
            more = _JOIN.match(text, end)
            if more and quoted[3]:
                begin = more.end()
                continue
        else:
            scheme = _SCHEME.match(text, begin)
            begin = scheme.end() if scheme else begin
            bare = _BARE.match(text, begin, begin + _LONGEST_LOOK)
            if not bare:
                return
            yield bare.start(), bare.end(), bare[0], False
            end = bare.end()
        comma = _COMMA.match(text, end) if is_list else None
        if not comma:
            return
        begin = comma.end()

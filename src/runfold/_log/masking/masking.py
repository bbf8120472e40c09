"""Masks secrets in text, arguments and settings.

Secrets are recognized by name, by form, or because they are known. They become `***`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from runfold._log.masking.command_secrets import find_password_arguments, mask_commands
from runfold._log.masking.paired_secrets import mask_paired
from runfold._log.masking.secret_names import (
    CERTAIN,
    LIKELY,
    MASK,
    is_random,
    is_secret,
    is_surely_random,
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

# Greedy, because a password can contain `@`. A lone user name can be a token, except in SSH.
_USER_INFO = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,20}://)([^\s/?#\"'<>`]{1,500})@")
# `name=value`, `"name": "value"`, `Name: value`, `name: str = "value"`, `env["name"] = "value"`,
# `**Name:** value`. In `Basic aHVudGVyMjE=` the `=` belongs to the value, not to a type.
_NAME = re.compile(
    r"(?<![\w.])([^\W\d][\w.-]{0,100}+)(?:\\?[\"'`]|\*\*)?\]?[ \t]*+"
    r"(?::[ \t]*[A-Za-z_][\w.\[\]| ]{0,40}(?: =(?= )|=(?=[bBrRuUfF]{0,2}[\"'\[({]))"
    r"|:=|=>|->|→|%3[AaDd]|[:=：])(?![:=])(?:\*\*(?!\*))?[ \t]*+"
)
# Before a value: an HTTP scheme, or a YAML tag or anchor.
_SCHEME = re.compile(r"(?:(?:Basic|Bearer|Token|Digest) +|!!\w+[ \t]+|&\w+[ \t]+)", re.IGNORECASE)
# A call that wraps the value, `SecretStr("x")`, or a default value, `getenv("X") or "x"`.
_WRAPPER = re.compile(
    r"(?:(?:\w{1,20}\.)?(?:Secret\w{0,20}|Sensitive\w{0,20}|[Ff]ield|str|bytes)"
    r"\(\s{0,9}(?:default\s{0,3}=\s{0,3})?"
    r"|[\w.]{1,80}(?:\([^()\n]{0,200}\)|\[[^\[\]\n]{0,200}\])?"
    r"[ \t]{1,9}(?:or|\|\||\?\?)[ \t]{1,9})"
    r"(?=[bBrRuUfF]{0,2}[\"'])"
)
# A quoted string, with Python's string prefixes: `b"..."`, `rb"..."`.
_QUOTED = re.compile(r"[bBrRuUfF]{0,2}(\"\"\"|'''|\\?[\"'])((?:(?!\1)(?:\\.|[^\n]))*+)(\1?)")
# The next part of a string: `"a" + "b"`.
_JOIN = re.compile(r"[ \t]*+(?:\+[ \t]*+(?:\\?\n[ \t]*+)?|\\\n[ \t]*+)?(?=[bBrRuUfF]{0,2}[\"'])")
# A list of values, and a mapping, where values follow a colon.
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
# A bare value, up to a space or to the separator before the next pair.
_BARE = re.compile(r"(?:[^\s\"'&;,})\]]|[;,})\]](?![\s\"'&;,})\]]|\Z|[\w.-]{1,50}[:=]))++")
# Characters of a bare value to check before deciding whether to hide it.
_LONGEST_LOOK = 200
_PROGRAM = (".py", ".pyx", ".pxd", ".pyi", ".pxi", ".ipynb", ".c", ".cc", ".cpp", ".cu", ".h")
# A reference is not a secret: `${PASSWORD}`, `!vault |`. Neither is the text after the closing
# quote in `f("password: ", x)`.
_NO_LITERAL = tuple("${<%!(|>,)]} ")
# A complete string or a comment in a line of code, and how many characters of a line to check.
_LITERAL = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|#.*")
_LONGEST_LINE = 1000
_SHORT = re.compile(r"-[A-Za-z]=?")
# A path or a word. Tokens are the only secrets with this form.
_PATH = re.compile(r"[\w./+-]*", re.ASCII)
_HARMLESS = ("", MASK, "true", "false", "none", "null")


def mask_arguments(argv: Sequence[str]) -> list[str]:
    """Return a command line with secrets masked: `--api-key X`, `--api-key=X`, `db.pwd=X`.

    A short option does not describe its value, so the value of `-t X`, `-tX` or `-t=X`
    is masked if it looks random.
    """
    masked: list[str] = []
    secret_name = ""
    hides_all = is_unnamed = False
    passwords = find_password_arguments(list(map(str, argv)))
    for position, argument in enumerate(map(str, argv)):
        if position in passwords:
            masked.append(passwords[position])
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
        is_hidden = (short or is_unnamed) and is_surely_random(value)
        argument = head + (MASK if is_hidden else _mask_forms(value))
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
    """Return the mapping as a dict with secrets masked, including in nested mappings and lists.

    Booleans and None are kept: `use_auth_token=True` reveals nothing. Everything nested
    under a name such as `credentials` is masked.
    """
    return {mask_text(str(name)): _mask_named(str(name), value) for name, value in mapping.items()}


def mask_text(text: str) -> str:
    """Return the text with secrets masked, whether recognized by form or by name.

    In URLs, the user name, the password and tokens in parameters are masked.
    """
    if not known.values and _PATH.fullmatch(text):
        return TOKENS.sub(MASK, text)
    return _mask_pairs(_mask_forms(text), lambda name, value, _: is_secret(name, value))


def mask_output(text: str) -> str:
    """Return console output with secrets masked.

    After an ambiguous name, only random values are masked: `token: 50256` and `pass: 3` are
    ordinary output.
    """
    return _mask_pairs(
        _mask_forms(text),
        lambda name, value, _: (
            is_secret(name, value) and (rank_name(name) == CERTAIN or is_random(value))
        ),
    )


def mask_source(text: str, path: str = "") -> str:
    """Return source code with secrets masked and the number of lines unchanged.

    In programs, only strings and parts of strings are masked, so that the programs still work.
    Private keys are not masked: see `contains_private_key`.
    """
    is_program = path.lower().endswith(_PROGRAM)

    def is_hidden(name: str, value: str, is_quoted: bool) -> bool:
        if (is_program and not is_quoted) or value.startswith(_NO_LITERAL):
            return False
        rank = rank_name(name)
        return rank == CERTAIN or (rank > 0 and is_random(value))

    return _mask_pairs(mask_commands(_mask_tokens(text)), is_hidden)


def contains_private_key(text: str) -> bool:
    """Whether a text contains a private key in PEM format."""
    return PRIVATE_KEY.search(text) is not None


class PrivateKeyFilter:
    """Hides private keys in text that arrives in pieces, such as a key printed line by line."""

    def __init__(self) -> None:
        self._is_inside = False

    def hide(self, text: str) -> str:
        """Return the text without private keys, including keys that began in an earlier piece."""
        if self._is_inside:
            text = self._skip_rest(text)
        begins = list(KEY_BEGIN.finditer(text))
        if begins and not KEY_END.search(text, begins[-1].end()):
            # Lines after the key may be ordinary output; the form of key lines is known.
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
        if rank_name(name) == CERTAIN:
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
    """Mask a list of strings, which may be a command line, or an AWS key and its secret."""
    masked = mask_arguments(texts)
    for position, pair in enumerate(pairwise(texts), 1):
        if AWS_PAIR.fullmatch(" ".join(pair)):
            masked[position] = MASK
    return masked


def _hide(value: object) -> str:
    return str(value) if str(value).lower() in _HARMLESS else MASK


def _mask_forms(text: str) -> str:
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


def _mask_sentence(match: re.Match[str]) -> str:
    """Hide a password in a sentence, unless it is a word: `password is required`."""
    value = match[3].rstrip(".!?)")
    if not any(not char.isalpha() for char in value):
        return match[0]
    return f"{match[1]}{match[2]}{MASK}{match[3][len(value) :]}"


def _mask_user(match: re.Match[str]) -> str:
    scheme, user = match[1], match[2]
    is_name = "ssh" in scheme.lower() and ":" not in user
    return match[0] if is_name or user.startswith(("{", "$")) else f"{scheme}{MASK}@"


def _mask_pairs(text: str, is_hidden: Callable[[str, str, bool], bool]) -> str:
    parts: list[str] = []
    kept = start = 0
    while match := _NAME.search(text, start):
        # The value can be a pair itself: `env=API_KEY=X`, `https://host?token=X`. An apparent
        # type can be a name: `$env:DB_PASSWORD = "X"`.
        start = match.end(1)
        if not rank_name(match[1]):
            continue
        start = match.end()
        for begin, end, value, is_quoted in _list_values(text, start):
            if is_hidden(match[1], value, is_quoted or _is_in_literal(text, begin)):
                if len(value) == _LONGEST_LOOK and not is_quoted:
                    end = _BARE.match(text, begin).end()  # type: ignore[union-attr]  # it matched before
                parts += (text[kept:begin], _hide(value))
                kept = start = end
    return "".join((*parts, text[kept:]))


def _is_in_literal(text: str, at: int) -> bool:
    """Whether a position is inside a string: `connect("host=h password=hunter2")`."""
    line = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1 or max(0, at - _LONGEST_LINE)
    return re.search(r"[\"']", _LITERAL.sub("", text[line:at])) is not None


def _list_values(text: str, start: int) -> Iterator[tuple[int, int, str, bool]]:
    """Yield the value after a name, or the values in a list: `["a", b"b"]`.

    Yields start, end, text, and whether the value is quoted at both ends.
    """
    if block := _MAPPING.match(text, start) or _YAML.match(text, start):
        pattern = _COLON if block[0].startswith("{") else _YAML_VALUE
        for match in pattern.finditer(text, block.start(1), block.end(1)):
            yield from _list_values_at(text, match.end(), is_list=False)
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

"""Text, arguments and settings without secrets, found by name, by look, or because known.

What is hidden becomes `***`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runfold.log.secrets import (
    CERTAINLY,
    LIKELY,
    MASK,
    is_drawn,
    is_random,
    is_secret,
    known,
    rank_name,
)

_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{16,}"
    r"|sk-(?=[\w-]{0,80}\d)(?:[\w-]{40,}|[\w-]{0,60}?[A-Za-z0-9]{16,}[\w-]*)"
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}|xox[abeprs]-[\w-]{10,}"
    r"|eyJ[\w+/=-]{12,}(?:\.[\w=-]+)*|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|dop_v1_[a-f0-9]{32,}"
    r"|wandb_v1_\w{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|\d{8,10}:AA[\w-]{30,}|dapi[a-f0-9]{32}"
    r"|r8_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|nvapi-[\w-]{20,}"
    r"|(?<=hooks\.slack\.com/services/)[\w/-]{8,}"
    r"|(?<=discord\.com/api/webhooks/)[\w/-]{8,}"
    r")"
)
_BEARER = re.compile(r"\b(Bearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
# Greedy, for a password may hold an `@`. A user alone may be a token, but with SSH it is a name.
_USER_INFO = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,20}://)([^\s/?#\"'<>`]{1,500})@")
# `name=value`, `"name": "value"`, `Name: value`, `name: str = "value"`, `env["name"] = "value"`.
_NAME = re.compile(
    r"(?<![\w.])([A-Za-z_][\w.-]{0,100}+)(?:\\?[\"'])?\]?[ \t]*+"
    r"(?::[ \t]*[A-Za-z_][\w.\[\]| ]{0,40}=|:=|[:=])(?![:=])[ \t]*+"
)
_SCHEME = re.compile(r"(?:Basic|Bearer|Token|Digest) +", re.IGNORECASE)
_QUOTED = re.compile(r"(\\?[\"'])((?:(?!\1)(?:\\.|[^\n]))*+)(\1?)")
# Up to a space, or to the sign before the next pair.
_BARE = re.compile(r"(?:[^\s\"'&;,})\]]|[;,})\]](?![\s\"'&;,})\]]|\Z|[\w.-]{1,50}[:=]))++")
# Of a bare value, this much is looked at before it is known to be one to hide.
_LONGEST_LOOK = 200
_PROGRAM = (".py", ".pyx", ".pxd", ".pyi", ".pxi", ".ipynb", ".c", ".cc", ".cpp", ".cu", ".h")
# What a source takes from elsewhere is no secret: `${PASSWORD}`, `!vault |`; nor is what follows
# the quote at the end of `f("password: ", x)`.
_NO_LITERAL = tuple("${<%!(|>,)]} ")
_SHORT = re.compile(r"-[A-Za-z]=?")
_HARMLESS = ("", MASK, "true", "false", "none", "null")


def mask_arguments(argv: Sequence[str]) -> list[str]:
    """A command line with every secret in it as `***`: `--api-key X`, `--api-key=X`, `db.pwd=X`.

    A short option says nothing of its value: that of `-t X`, `-tX` or `-t=X` is hidden
    where it looks as if it was drawn.
    """
    masked: list[str] = []
    hides_next = hides_all = is_unnamed = False
    for argument in map(str, argv):
        short = _SHORT.match(argument)
        is_flag = argument.startswith("--") or (short is not None and short[0] == argument)
        if (hides_next or hides_all) and not is_flag:
            masked.append(_hide(argument))
            hides_next = False
            continue
        head = short[0] if short else ""
        value = argument.removeprefix(head)
        is_hidden = (short or is_unnamed) and is_drawn(value)
        argument = head + (MASK if is_hidden else _mask_looks(value))
        is_unnamed = short is not None and is_flag
        name, sign, value = argument.partition("=")
        hides_next = hides_all = False
        if sign and re.fullmatch(r"[-+~]*[A-Za-z_][\w.@/:-]*", name):
            shown = _hide(value) if is_secret(name, value) else mask_text(value)
            masked.append(f"{name}={shown}")
            continue
        masked.append(mask_text(argument))
        if is_flag or argument.startswith("-"):
            hides_next = rank_name(argument) >= LIKELY
            hides_all = hides_next and argument.endswith("s")  # `--api-keys A B C`
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

    Programs must go on to work, so there only quoted texts are hidden, and a
    private key is left in place: see `holds_private_key`.
    """
    is_program = path.lower().endswith(_PROGRAM)

    def is_hidden(name: str, value: str, is_quoted: bool) -> bool:
        if (is_program and not is_quoted) or value.startswith(_NO_LITERAL):
            return False
        rank = rank_name(name)
        return rank == CERTAINLY or (rank > 0 and is_random(value))

    return _mask_pairs(_mask_tokens(text), is_hidden)


def holds_private_key(text: str) -> bool:
    """Whether a private key in PEM form is in a text."""
    return _PRIVATE_KEY.search(text) is not None


def _mask_named(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if rank_name(name) == CERTAINLY:
            return {str(key): _mask_named(name, below) for key, below in value.items()}
        return mask_mapping(value)
    if isinstance(value, list | tuple):
        return [_mask_named(name, item) for item in value]
    if is_secret(name, value):
        return _hide(value)
    return mask_text(value) if isinstance(value, str) else value


def _hide(value: object) -> str:
    return str(value) if str(value).lower() in _HARMLESS else MASK


def _mask_looks(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(MASK, text)
    return _mask_tokens(text)


def _mask_tokens(text: str) -> str:
    text = known.hide(text)
    if "://" in text:
        text = _USER_INFO.sub(_mask_user, text)
    return _BEARER.sub(rf"\g<1>{MASK}", _TOKENS.sub(MASK, text))


def _mask_user(found: re.Match[str]) -> str:
    scheme, user = found[1], found[2]
    is_name = "ssh" in scheme.lower() and ":" not in user
    return found[0] if is_name or user.startswith(("{", "$")) else f"{scheme}{MASK}@"


def _mask_pairs(text: str, is_hidden: Callable[[str, str, bool], bool]) -> str:
    parts: list[str] = []
    kept = start = 0
    while found := _NAME.search(text, start):
        # The value may be a pair itself: `env=API_KEY=X`, `https://host?token=X`.
        start = found.end()
        if not rank_name(found[1]):
            continue
        quoted = _QUOTED.match(text, start)
        if quoted:
            begin, end, value = quoted.start(2), quoted.end(2), quoted[2]
        else:
            scheme = _SCHEME.match(text, start)
            begin = scheme.end() if scheme else start
            bare = _BARE.match(text, begin, begin + _LONGEST_LOOK)
            if not bare:
                continue
            end, value = bare.end(), bare[0]
        if is_hidden(found[1], value, quoted is not None and bool(quoted[3])):
            if not quoted and len(value) == _LONGEST_LOOK:
                end = _BARE.match(text, begin).end()  # type: ignore[union-attr]  # it did before
            parts += (text[kept:begin], _hide(value))
            kept = start = end
    return "".join((*parts, text[kept:]))

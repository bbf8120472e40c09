"""What must not be logged: passwords, keys and tokens, found by their name or by their look.

A name is read by its words (`apiKey`, `API-KEY` and `api.key` are `api key`), so
that `tokenizer`, `monkey` and `max_tokens` are let be. What is hidden becomes `***`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

MASK = "***"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CERTAIN = _words(
    "password passwords passwd passphrase passcode pwd secret secrets credential credentials "
    "creds apikey apikeys authorization bearer jwt"
)
_CERTAIN_ENDS = (
    *("password", "passwd", "passphrase", "secret", "apikey"),
    *("accesskey", "secretkey", "privatekey", "authtoken", "accesstoken", "apitoken"),
)
_VENDORS = _words(
    "wandb openai anthropic azure aws gcp google github gitlab gh hf huggingface comet neptune "
    "mlflow clearml cohere mistral groq gemini replicate slack discord telegram stripe sentry "
    "kaggle databricks docker npm pypi sendgrid twilio langchain langsmith pinecone"
)
# With one of these before it, a key opens something: `access_key`, not `sort_key`.
_OPENERS = _VENDORS | _words(
    "api access secret private auth encryption decryption signing ssh account license licence "
    "master subscription service app storage client deploy session shared rsa gpg pgp"
)
_TOKEN_OPENERS = _VENDORS | _words(
    "api access auth bearer refresh secret private bot session id oauth csrf deploy"
)
# Language models count and name their tokens: `pad_token`, `max_token`.
_SYMBOLS = _words(
    "pad eos bos sos cls mask unk sep max min num n per special class image img video audio text "
    "vision start end begin stop next first last new prompt dist distill distillation register "
    "summary query decoder encoder init initial forced blank space empty dummy null additional "
    "extra word subword char byte input output target source src tgt lang language trigger "
    "placeholder think single any every each by"
)
_LOGINS = _words(
    "db database user mysql smtp postgres pg redis mongo ftp admin root proxy http login email mail"
)
# Beside these a name still means the same: `GITHUB_TOKEN_PROD`, `TOKEN_2`.
_TRAILERS = _words(
    "value str string prod production dev test staging read write ro rw header old backup b64 "
    "base64"
)
# About a secret, and none itself: `private_key_path`, `password_length`.
_ABOUT = _words(
    "path file filename dir folder length len size dim dims type count name policy enabled "
    "required ttl expiry timeout url uri endpoint"
)
_WEAK = _words("key keys token tokens auth pass pw signature sig cookie cookies pat dsn webhook")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_SEGMENT = re.compile(r"[./:]|__")
_WORKING_DIRECTORIES = ("PWD", "OLDPWD")
_RANDOM = re.compile(r"(?=(?:[^\d]*\d){3})(?=(?:[^A-Za-z]*[A-Za-z]){3})[\w+=~-]{16,}")

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
_HARMLESS = ("", MASK, "true", "false", "none", "null")


def mask_arguments(argv: Sequence[str]) -> list[str]:
    """A command line with every secret in it as `***`: `--api-key X`, `--api-key=X`, `db.pwd=X`."""
    masked: list[str] = []
    hides_next = hides_all = False
    for argument in map(str, argv):
        is_flag = argument.startswith("--") or bool(re.fullmatch(r"-[A-Za-z]", argument))
        if (hides_next or hides_all) and not is_flag:
            masked.append(_hide(argument))
            hides_next = False
            continue
        argument = _mask_looks(argument)
        name, sign, value = argument.partition("=")
        hides_next = hides_all = False
        if sign and re.fullmatch(r"[-+~]*[A-Za-z_][\w.@/:-]*", name):
            shown = _hide(value) if is_secret(name, value) else mask_text(value)
            masked.append(f"{name}={shown}")
            continue
        masked.append(mask_text(argument))
        if is_flag or argument.startswith("-"):
            hides_next = _rank(argument) >= _LIKELY
            hides_all = hides_next and argument.endswith("s")  # `--api-keys A B C`
    return masked


def mask_mapping(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """The mapping as a dict, nested ones and lists too, with every secret in it as `***`.

    Truth values and None stay: `use_auth_token=True` tells nothing. Below a name
    such as `credentials` everything is hidden.
    """
    return {mask_text(str(name)): _mask_named(str(name), value) for name, value in mapping.items()}


def mask_url(url: str) -> str:
    """The URL with `***` for its user and password, and for the tokens among its parameters."""
    return mask_text(url)


def mask_text(text: str) -> str:
    """The text with `***` for what looks like a secret or stands beside the name of one."""
    return _mask_pairs(_mask_looks(text), lambda name, value, _: is_secret(name, value))


def mask_output(text: str) -> str:
    """What a script wrote, with `***` for secrets; only where a name leaves no doubt.

    `token: 50256` and `pass: 3` are what a script works on.
    """
    return _mask_pairs(
        _mask_looks(text),
        lambda name, value, _: (
            is_secret(name, value)
            and (_rank(name) == _CERTAINLY or _RANDOM.fullmatch(value) is not None)
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
        rank = _rank(name)
        return rank == _CERTAINLY or (rank > 0 and _RANDOM.fullmatch(value) is not None)

    return _mask_pairs(_mask_tokens(text), is_hidden)


def holds_private_key(text: str) -> bool:
    """Whether a private key in PEM form is in a text."""
    return _PRIVATE_KEY.search(text) is not None


def is_secret(name: str, value: object) -> bool:
    """Whether a value is to be hidden because of its name."""
    if value is None or isinstance(value, bool):
        return False
    rank = _rank(name)
    if rank == _CERTAINLY:
        return True
    if not isinstance(value, str) or not rank:
        return False
    return rank == _LIKELY or _RANDOM.fullmatch(value) is not None


_PERHAPS, _LIKELY, _CERTAINLY = 1, 2, 3


@lru_cache(maxsize=4096)
def _rank(name: str) -> int:
    """How surely a name is that of a secret: 0 is not at all."""
    name = name.strip("-+~ \"'\\")
    if name in _WORKING_DIRECTORIES or len(name) > 200:
        return 0
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and words[-1] in _TRAILERS:
        words.pop()
    if not words:
        return 0
    rank = max(
        _rank_word(word, before, is_last=place == len(words) - 1, name=name)
        for place, (word, before) in enumerate(zip(words, ["", *words], strict=False))
    )
    return min(rank, _PERHAPS) if words[-1] in _ABOUT else rank


def _rank_word(word: str, before: str, *, is_last: bool, name: str) -> int:
    if word in _CERTAIN or word.endswith(_CERTAIN_ENDS):
        return _CERTAINLY
    if word in ("key", "keys") and before in _OPENERS:
        return _CERTAINLY
    if word == "token" and before in _TOKEN_OPENERS:
        return _CERTAINLY
    if word not in _WEAK:
        return 0
    if not is_last:
        return _PERHAPS
    if word == "token":
        return _PERHAPS if before in _SYMBOLS else _LIKELY
    if word == "key":
        is_alone = _SEGMENT.split(name)[-1].lower() == "key"
        return _LIKELY if is_alone or re.fullmatch(r"[A-Z0-9]+(_[A-Z0-9]+)*", name) else _PERHAPS
    if word == "pass":
        # A variable such as REDIS_PASS; `first_pass` is a setting.
        return _LIKELY if not before or before in _LOGINS or name.isupper() else _PERHAPS
    return _LIKELY if word in ("auth", "pw", "cookie", "cookies") else _PERHAPS


def _mask_named(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if _rank(name) == _CERTAINLY:
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
        if not _rank(found[1]):
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

"""Names of passwords, keys and tokens, and values known to be secret.

Names are split into words (`apiKey`, `API-KEY` and `api.key` are all `api key`), so
that `tokenizer`, `monkey` and `max_tokens` do not match.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

MASK = "***"
POSSIBLE, LIKELY, CERTAIN = 1, 2, 3


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CERTAIN = _words(
    "password passwords passwd passphrase passcode pwd secret secrets credential credentials "
    "creds apikey apikeys authorization bearer jwt requirepass storepass keypass "
    # The same word in other languages.
    "passwort kennwort contraseña contrasena senha motdepasse wachtwoord lösenord "
    "losenord hasło haslo heslo jelszó jelszo salasana пароль 密码 密碼 パスワード 비밀번호"
)
_CERTAIN_ENDS = (
    *("password", "passwd", "passphrase", "secret", "apikey", "passwort", "kennwort"),
    *("accesskey", "secretkey", "privatekey", "authtoken", "accesstoken", "apitoken"),
)
_VENDORS = _words(
    "wandb openai anthropic azure aws gcp google github gitlab gh hf huggingface comet neptune "
    "mlflow clearml cohere mistral groq gemini replicate slack discord telegram stripe sentry "
    "kaggle databricks docker npm pypi sendgrid twilio langchain langsmith pinecone"
)
# A key after one of these words is a secret: `access_key`, not `sort_key`.
_OPENERS = _VENDORS | _words(
    "api access secret private auth encryption decryption signing ssh account license licence "
    "master subscription service app storage client deploy session shared rsa gpg pgp"
)
_TOKEN_OPENERS = _VENDORS | _words(
    "api access auth bearer refresh secret private bot session id oauth csrf deploy"
)
# Names of language model tokens and their counts: `pad_token`, `max_token`.
_SYMBOLS = _words(
    "pad eos bos sos cls mask unk sep max min num n per special class image img video audio text "
    "vision start end begin stop next first last new prompt dist distill distillation register "
    "summary query decoder encoder init initial forced blank space empty dummy null additional "
    "extra word subword char byte input output target source src tgt lang language trigger "
    "placeholder think single any every each by"
)
_LOGINS = _words(
    "db database user mysql smtp postgres pg redis mongo ftp admin root proxy http login email "
    "mail ssh sudo become ldap vpn vnc wifi"
)
# Suffixes that do not change a name's meaning: `GITHUB_TOKEN_PROD`, `TOKEN_2`.
_TRAILERS = _words(
    "value str string prod production dev test staging read write ro rw header old backup b64 "
    "base64"
)
# Properties of a secret, not the secret itself: `private_key_path`, `password_length`.
_ABOUT = _words(
    "path file filename dir folder length len size dim dims type count name policy enabled "
    "required ttl expiry timeout url uri endpoint env variable rounds column field prompt hint"
)
_WEAK = _words("key keys token tokens auth pass pw signature sig cookie cookies pat dsn webhook")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_SEGMENT = re.compile(r"[./:]|__")
_WORKING_DIRECTORIES = ("PWD", "OLDPWD")
_RANDOM = re.compile(r"(?=(?:[^\d]*\d){3})(?=(?:[^A-Za-z]*[A-Za-z]){3})[\w+=~-]{16,}")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_ALPHANUMERIC = re.compile(r"[A-Za-z\d]+")
_SHORTEST = 8
_MOST_KNOWN = 100
# `postgres` and `PASSWORD` are also common words.
_PLAIN_WORD = re.compile(r"[a-z]{1,15}|[A-Z][a-z]{1,14}|[A-Z]{1,15}")


# One-word names that are also used for settings, and typical values of those settings.
_NUMBER = r"\d{1,5}(?:\.\d{1,9})?"
_SETTINGS = {
    "key": re.compile(rf"[a-z]{{1,12}}(?:[_/][a-z]{{1,12}}){{0,3}}|{_NUMBER}"),
    "token": re.compile(_NUMBER),
    "pass": re.compile(_NUMBER),
}


class KnownSecrets:
    """Values that appeared under a secret's name; they are hidden wherever else they occur."""

    def __init__(self) -> None:
        self.values: tuple[str, ...] = ()

    def learn(self, named: Mapping[str, Any]) -> None:
        """Remember the secrets in a mapping, including nested mappings and lists.

        Short values and plain words are ignored, because hiding them could mask half
        of a log. Paths are also ignored, and so are ordinary values of names such as
        `key`, for example `val/loss`.
        """
        new = set(_find_secrets(named)).difference(self.values)
        if new:
            # Longest first, because a secret can be part of another.
            values = sorted((*self.values, *new), key=len, reverse=True)
            self.values = tuple(values[:_MOST_KNOWN])

    def hide(self, text: str) -> str:
        """Return the text with known secrets replaced by `***`."""
        for value in self.values:
            text = text.replace(value, MASK)
        return text


# Shared by all runs in the process: a secret in one run is also a secret in the next.
known = KnownSecrets()


def is_secret(name: str, value: object) -> bool:
    """Whether a value must be hidden because of its name."""
    if value is None or isinstance(value, bool):
        return False
    rank = rank_name(name)
    if rank == CERTAIN:
        return True
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str) or not rank:
        return False
    return is_random(value) if rank < LIKELY else not _is_setting(name, value)


def _is_setting(name: str, value: str) -> bool:
    """Whether a one-word name has the value of a setting: `key: loss`, `pass: 3`."""
    form = _SETTINGS.get(name.strip("-+~ \"'\\").rpartition("/")[2])
    return form is not None and form.fullmatch(value) is not None


def is_random(value: str) -> bool:
    """Whether a value may be random: one long word of letters and digits."""
    return _RANDOM.fullmatch(value) is not None


def is_surely_random(value: str) -> bool:
    """Whether a value looks random enough to be a secret: letters and digits must also alternate.

    `resnet50_imagenet_2024` consists of words and numbers, but a commit hash is random.
    """
    parts = _PART.findall(value)
    longest = max(map(len, _ALPHANUMERIC.findall(value)), default=0)
    return is_random(value) and longest >= 16 and 3 * len(parts) > len(value)


@lru_cache(maxsize=4096)
def rank_name(name: str) -> int:
    """Return how certain it is that a name belongs to a secret; 0 if it does not."""
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
    return min(rank, POSSIBLE) if words[-1] in _ABOUT else rank


def _rank_word(word: str, before: str, *, is_last: bool, name: str) -> int:
    if word in _CERTAIN or word.endswith(_CERTAIN_ENDS):
        return CERTAIN
    if word == "passe" and before == "de":  # mot_de_passe
        return CERTAIN
    if word in ("key", "keys") and before in _OPENERS:
        return CERTAIN
    if word == "token" and before in _TOKEN_OPENERS:
        return CERTAIN
    if word not in _WEAK:
        return 0
    if not is_last:
        return POSSIBLE
    if word == "token":
        return POSSIBLE if before in _SYMBOLS else LIKELY
    if word == "key":
        is_alone = _SEGMENT.split(name)[-1].lower() == "key"
        return LIKELY if is_alone or re.fullmatch(r"[A-Z0-9]+(_[A-Z0-9]+)*", name) else POSSIBLE
    if word == "pass":
        # A variable such as REDIS_PASS; `first_pass` is a setting.
        return LIKELY if not before or before in _LOGINS or name.isupper() else POSSIBLE
    return LIKELY if word in ("auth", "pw", "cookie", "cookies") else POSSIBLE


def _find_secrets(named: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in named.items():
        name = above or str(key)
        items = value if isinstance(value, list | tuple) else [value]
        for item in items:
            if isinstance(item, Mapping):
                # Everything nested under a name such as `credentials` is secret.
                yield from _find_secrets(item, name if rank_name(name) == CERTAIN else "")
            if isinstance(item, bytes):
                item = item.decode("utf-8", "replace")
            if isinstance(item, str) and _is_recognizable(name, item):
                yield item.strip()


def _is_recognizable(name: str, value: str) -> bool:
    """Whether a value's name makes it a secret, and the value is unlikely to occur by chance."""
    value = value.strip()
    if len(value) < _SHORTEST or "\n" in value or MASK in value or not is_secret(name, value):
        return False
    if rank_name(name) == CERTAIN:
        is_path = os.path.isabs(value) and os.path.exists(value)
        return not (is_path or _PLAIN_WORD.fullmatch(value))
    return is_random(value) or ("/" not in value and any(map(str.isdigit, value)))

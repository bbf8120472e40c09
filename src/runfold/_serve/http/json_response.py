"""JSON for the page: names may be invalid Unicode, and non-finite numbers become strings."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from starlette.responses import Response

from runfold._humanize import utf8

# A browser cannot represent all integers beyond this: it would show 2^53 + 1 as 2^53.
_MOST = 2**53 - 1
_MAY_BE_MORE = re.compile(rb"[:,\[]-?\d{16,}[,\]}]")


class JsonResponse(Response):
    """A JSON response, encoded with `encode_json`."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes of the body."""
        return encode_json(content)


def encode_json(content: Any) -> bytes:
    """Return JSON in UTF-8.

    NaN and infinity become the strings "NaN", "Infinity" and "-Infinity". Integers
    beyond 2^53 - 1 become strings of digits. A name that is not valid Unicode, such as
    a folder name, is escaped.
    """
    try:
        encoded = _dump(content)
    except (ValueError, UnicodeEncodeError):
        return _dump(_spell(content))
    return _dump(_spell(content)) if _MAY_BE_MORE.search(encoded) else encoded


def _dump(content: Any) -> bytes:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


def _spell(content: Any) -> Any:
    if isinstance(content, float) and not math.isfinite(content):
        return "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    if isinstance(content, int) and abs(content) > _MOST:
        return str(content)
    if isinstance(content, str):
        return utf8(content)
    if isinstance(content, dict):
        return {utf8(str(key)): _spell(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_spell(value) for value in content]
    return content

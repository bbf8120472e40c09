"""JSON as the page gets it: any name can be sent, and numbers that JSON lacks are words."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.responses import Response

from runfold.text import utf8


class JsonResponse(Response):
    """A JSON answer in UTF-8.

    NaN and infinity become the strings "NaN", "Infinity" and "-Infinity"; a
    name that is no Unicode, as a folder's may be, is shown with escapes.
    """

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the body."""
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return text.encode()
        except (ValueError, UnicodeEncodeError):
            return self.render(_spell(content))


def _spell(content: Any) -> Any:
    if isinstance(content, float) and not math.isfinite(content):
        return "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    if isinstance(content, str):
        return utf8(content)
    if isinstance(content, dict):
        return {utf8(str(key)): _spell(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_spell(value) for value in content]
    return content

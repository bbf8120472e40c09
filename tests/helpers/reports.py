"""The content of a report, read back from its file."""

import base64
import gzip
import io
import json
import re
from typing import Any

import pyarrow as pa


class Held:
    """The responses in a report's HTML."""

    def __init__(self, html: str) -> None:
        (text,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', html)
        self.document: dict[str, Any] = json.loads(text)
        self.answers = {tuple(json.loads(key)[:2]): rest for key, *rest in self.document["answers"]}
        self.keys = [json.loads(key) for key, *_ in self.document["answers"]]

    def bytes(self, method: str, path: str) -> bytes:
        _, _, is_packed, text = self.answers[method, path]
        data = base64.b64decode(text)
        return gzip.decompress(data) if is_packed else data

    def json(self, method: str, path: str) -> Any:
        return json.loads(self.bytes(method, path))

    def table(self, method: str, path: str) -> pa.Table:
        return pa.ipc.open_stream(io.BytesIO(self.bytes(method, path))).read_all()

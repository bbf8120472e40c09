"""The tags of packed runs, with the face of `core.tags.Tags`."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from runfold.pack.index import raw_bytes

if TYPE_CHECKING:
    from runfold.pack.index import StoredTags


class PackedTags:
    """The tags of a run, as `core.tags.Tags` gives them."""

    def __init__(self, stored: StoredTags) -> None:
        self._raw = [raw_bytes(name) for name in stored.names]
        self._stored = stored

    def __len__(self) -> int:
        return len(self._raw)

    def names(self, start: int = 0) -> list[str]:
        """The tags as text."""
        return [raw.decode("utf-8", "backslashreplace") for raw in self._raw[start:]]

    def raw_name(self, number: int) -> bytes:
        """The bytes of one tag."""
        return self._raw[number]

    def metadata(self, number: int) -> bytes | None:
        """The tag's serialised SummaryMetadata."""
        stored = self._stored.metadata[number]
        return None if stored is None else base64.b64decode(stored)

    def plugin(self, number: int) -> int:
        """The number of the plugin that the tag's metadata names."""
        return self._stored.plugins[number] if number >= 0 else 0

    def plugins(self) -> list[str]:
        """The names of the plugins by number."""
        return self._stored.plugin_names

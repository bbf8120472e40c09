"""The tags of packed runs, with the interface of `_core.tag_table.Tags`."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from runfold._pack.pack_index import raw_bytes

if TYPE_CHECKING:
    from runfold._pack.pack_index import StoredTags


class PackedTags:
    """The tags of a run, with the interface of `_core.tag_table.Tags`."""

    def __init__(self, stored: StoredTags) -> None:
        self._stored = stored

    def __len__(self) -> int:
        return len(self._stored.names)

    def names(self, start: int = 0) -> list[str]:
        """Return the tags as text."""
        # Most strings are shared with the index, because a pack can have a million tags.
        return [
            name if name.isascii() else raw_bytes(name).decode("utf-8", "backslashreplace")
            for name in self._stored.names[start:]
        ]

    def raw_name(self, number: int) -> bytes:
        """Return the bytes of one tag."""
        return raw_bytes(self._stored.names[number])

    def metadata(self, number: int) -> bytes | None:
        """Return the tag's serialized SummaryMetadata."""
        stored = self._stored.metadata[number]
        return None if stored is None else base64.b64decode(stored)

    def plugin(self, number: int) -> int:
        """Return the number of the plugin in the tag's metadata."""
        return self._stored.plugins[number] if number >= 0 else 0

    def plugins(self) -> list[str]:
        """Return the names of the plugins by number."""
        return self._stored.plugin_names

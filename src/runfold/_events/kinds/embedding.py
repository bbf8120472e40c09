"""Embeddings: the projector's configuration in a run's folder, and the files it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from runfold._files import read_small

# Code that only looks for runs needs the configuration's file name but not NumPy.
if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

_Part = TypeVar("_Part")
_NOT_NAMED = "the projector configuration does not name a file for this part of the embedding"

MOST_CONFIG_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Embedding:
    """One embedding as configured; paths are relative to the configuration's folder, or empty."""

    name: str
    tensor_path: str
    tensor_shape: tuple[int, ...]
    metadata_path: str
    bookmarks_path: str
    sprite_path: str
    sprite_size: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of an embedding's files; None for a file that is not named or was not read."""

    tensor: np.ndarray | None
    metadata: dict[str, np.ndarray] | None
    sprite: bytes | None


class StoredEmbedding:
    """An embedding of a run.

    Its content is either read from files on request or stored in the object. Two
    embeddings are equal if their configurations and the contents of their files are
    equal.
    """

    __slots__ = ("_embedding", "_source")

    def __init__(self, source: Path | Content, embedding: Embedding) -> None:
        self._source = source
        self._embedding = embedding

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the configuration."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._embedding, name)

    def __repr__(self) -> str:
        return f"<Embedding {self._embedding.name!r}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredEmbedding):
            return NotImplemented
        return self._embedding == other._embedding and _is_same(self.content(), other.content())

    def __hash__(self) -> int:
        return hash(self._embedding)

    @property
    def config(self) -> Embedding:
        """The configuration."""
        return self._embedding

    def content(self, lost: dict[str, None] | None = None) -> Content:
        """Return the content of the files; add the reason for each unreadable file to `lost`."""

        def read(path: str, load: Callable[[], Any]) -> Any:
            if not path:
                return None
            try:
                return load()
            except ValueError as error:
                if lost is not None:
                    lost[str(error)] = None
                return None

        if isinstance(self._source, Content):
            return self._source
        return Content(
            read(self.tensor_path, self.tensor),
            read(self.metadata_path, self.metadata),
            read(self.sprite_path, self.sprite),
        )

    def tensor(self) -> np.ndarray:
        """The embedded points as float32, (points, dimensions)."""
        if isinstance(self._source, Content):
            return _saved(self._source.tensor, self.tensor_path)
        return load_tensor(self._source, self._embedding)

    def metadata(self) -> dict[str, np.ndarray]:
        """The points' labels, one array of str per column."""
        if isinstance(self._source, Content):
            return _saved(self._source.metadata, self.metadata_path)
        return load_metadata(self._source, self._embedding)

    def sprite(self) -> bytes:
        """The encoded image with every point's thumbnail."""
        if isinstance(self._source, Content):
            return _saved(self._source.sprite, self.sprite_path)
        return load_sprite(self._source, self._embedding)


def _saved(part: _Part | None, path: str) -> _Part:
    if part is None:
        named = f"{path!r} could not be read when the table was saved"
        raise ValueError(named if path else _NOT_NAMED)
    return part


def _is_same(first: Content, second: Content) -> bool:
    import numpy as np

    if first.sprite != second.sprite:
        return False
    if first.tensor is None or second.tensor is None:
        if first.tensor is not second.tensor:
            return False
    elif not np.array_equal(first.tensor, second.tensor, equal_nan=True):
        return False
    if first.metadata is None or second.metadata is None:
        return first.metadata is second.metadata
    return list(first.metadata) == list(second.metadata) and all(
        map(np.array_equal, first.metadata.values(), second.metadata.values())
    )


def read_config(path: str) -> list[StoredEmbedding]:
    """Return the embeddings named in a configuration file, or raise ValueError."""
    file = Path(path)
    return parse_stored(read_config_bytes(file.parent, file.name), file.parent)


def read_config_bytes(folder: Path, path: str) -> bytes:
    """Return the bytes of a configuration below a folder, or raise ValueError."""
    try:
        return read_small(str(confine(folder, path)), MOST_CONFIG_BYTES)
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read: {error.strerror}") from None


def parse_stored(data: bytes, folder: Path) -> list[StoredEmbedding]:
    """Return the embeddings of a configuration whose files are below a folder."""
    embeddings = parse_config("\n".join(_lines(data)))
    return [StoredEmbedding(folder, embedding) for embedding in embeddings]


def parse_config(text: str) -> list[Embedding]:
    """Return the embeddings in a projector_config.pbtxt. Raises ValueError for other text."""
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    try:
        config = text_format.Parse(text, ProjectorConfig(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeError, RecursionError) as error:
        raise ValueError(f"the projector configuration cannot be parsed: {error}") from None
    return [
        Embedding(
            info.tensor_name or Path(info.tensor_path).name,
            info.tensor_path,
            tuple(info.tensor_shape),
            info.metadata_path,
            info.bookmarks_path,
            info.sprite.image_path,
            tuple(info.sprite.single_image_dim),
        )
        for info in config.embeddings
    ]


def confine(folder: Path, path: str) -> Path:
    """Return the path of a configured file. Raises ValueError if it is outside the folder.

    A log can come from anyone, so its configuration must not give access to other
    files on this machine, either through `..` or through a symbolic link.
    """
    root = folder.resolve()
    try:
        file = (root / path).resolve()
    except (OSError, RuntimeError) as error:
        raise ValueError(f"the path {path!r} cannot be resolved: {error}") from None
    if not file.is_relative_to(root):
        raise ValueError(f"the path {path!r} is outside the run's folder")
    return file


def load_tensor(folder: Path, embedding: Embedding) -> np.ndarray:
    """Return the embedded points as float32 of shape (points, dimensions)."""
    import numpy as np

    raw = _read(folder, embedding.tensor_path)
    if embedding.tensor_path.endswith(".bytes"):
        return _parse_binary(raw, embedding.tensor_shape)
    lines = [line for line in _lines(raw) if line]
    rows = [line.split("\t") for line in lines]
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"the rows of {embedding.tensor_path!r} differ in length")
    try:
        return np.array(rows, dtype=np.float32).reshape(len(rows), -1 if rows else 0)
    except ValueError:
        raise ValueError(f"{embedding.tensor_path!r} contains text that is not a number") from None


def load_metadata(folder: Path, embedding: Embedding) -> dict[str, np.ndarray]:
    """Return the points' labels, one object array of str per column.

    A file with one column has no header, as the projector requires; the column is
    named "label". In other files the first line names the columns.
    """
    import numpy as np

    lines = _lines(_read(folder, embedding.metadata_path))
    rows = [line.split("\t") for line in lines]
    width = len(rows[0]) if rows else 1
    names = ["label"] if width == 1 else rows.pop(0)
    if any(len(row) != width for row in rows) or len(set(names)) != width:
        raise ValueError(
            f"{embedding.metadata_path!r} is not a table: "
            "rows differ in length or column names repeat"
        )
    columns = np.empty((width, len(rows)), dtype=object)
    for index, row in enumerate(rows):
        columns[:, index] = row
    return dict(zip(names, columns, strict=True))


def load_sprite(folder: Path, embedding: Embedding) -> bytes:
    """Return the encoded image with every point's thumbnail."""
    return _read(folder, embedding.sprite_path)


def _parse_binary(raw: bytes, shape: tuple[int, ...]) -> np.ndarray:
    import numpy as np

    if len(shape) != 2 or shape[0] * shape[1] * 4 != len(raw):
        raise ValueError(f"the shape {shape} does not fit {len(raw)} bytes of float32")
    return np.frombuffer(raw, "<f4").reshape(shape)


def _read(folder: Path, path: str) -> bytes:
    if not path:
        raise ValueError(_NOT_NAMED)
    file = confine(folder, path)
    try:
        if not file.is_file():  # opening a named pipe would block
            raise ValueError(f"there is no file {path!r} in the run's folder")
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read: {error.strerror}") from None


def _lines(raw: bytes) -> list[str]:
    """Split at newlines only, because a label can contain other line separators."""
    lines = raw.decode("utf-8", "backslashreplace").replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines

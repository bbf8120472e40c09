"""Embeddings: the projector's configuration in a run's folder, and the files it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from runfold._files import read_small

# Whoever only looks for runs needs the name of the configuration, and no NumPy.
if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

_Part = TypeVar("_Part")
_NOT_NAMED = "the projector configuration names no such file"

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
    """One embedding of a run.

    Its files are read from a folder on request, or it holds their content itself.
    Two are equal if both their configurations and the content of their files are.
    """

    __slots__ = ("_embedding", "_source")

    def __init__(self, source: Path | Content, embedding: Embedding) -> None:
        self._source = source
        self._embedding = embedding

    def __getattr__(self, name: str) -> Any:
        """What the configuration says."""
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
        """Return what the files hold. The reasons why one cannot be read are added to `lost`."""

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
        """The encoded image that shows every point's picture."""
        if isinstance(self._source, Content):
            return _saved(self._source.sprite, self.sprite_path)
        return load_sprite(self._source, self._embedding)


def _saved(part: _Part | None, path: str) -> _Part:
    if part is None:
        named = f"{path!r} could not be read when the table was saved"
        raise ValueError(named if path else _NOT_NAMED)
    return part


def _is_same(one: Content, other: Content) -> bool:
    import numpy as np

    if one.sprite != other.sprite:
        return False
    if one.tensor is None or other.tensor is None:
        if one.tensor is not other.tensor:
            return False
    elif not np.array_equal(one.tensor, other.tensor, equal_nan=True):
        return False
    if one.metadata is None or other.metadata is None:
        return one.metadata is other.metadata
    return list(one.metadata) == list(other.metadata) and all(
        map(np.array_equal, one.metadata.values(), other.metadata.values())
    )


def read_config(path: str) -> list[StoredEmbedding]:
    """Give the embeddings that a configuration file names, or raise ValueError."""
    file = Path(path)
    return parse_stored(read_config_bytes(file.parent, file.name), file.parent)


def read_config_bytes(folder: Path, path: str) -> bytes:
    """Give the bytes of a configuration below a folder, or raise ValueError."""
    try:
        return read_small(str(confine(folder, path)), MOST_CONFIG_BYTES)
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read: {error.strerror}") from None


def parse_stored(data: bytes, folder: Path) -> list[StoredEmbedding]:
    """Give the embeddings of a configuration whose files are below a folder."""
    embeddings = parse_config("\n".join(_lines(data)))
    return [StoredEmbedding(folder, one) for one in embeddings]


def parse_config(text: str) -> list[Embedding]:
    """Give the embeddings of a projector_config.pbtxt, or raise ValueError for other text."""
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    try:
        config = text_format.Parse(text, ProjectorConfig(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeError, RecursionError) as error:
        raise ValueError(f"the projector configuration does not parse: {error}") from None
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
    """Give the file that a configuration names, or raise ValueError if it lies outside the folder.

    A log may come from anyone: its configuration must not be a way to read
    other files of this machine, neither by `..` nor by a symbolic link.
    """
    root = folder.resolve()
    try:
        file = (root / path).resolve()
    except (OSError, RuntimeError) as error:
        raise ValueError(f"the path {path!r} cannot be resolved: {error}") from None
    if not file.is_relative_to(root):
        raise ValueError(f"the path {path!r} leads out of the run's folder")
    return file


def load_tensor(folder: Path, embedding: Embedding) -> np.ndarray:
    """Give the embedded points as float32, (points, dimensions)."""
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
        raise ValueError(f"{embedding.tensor_path!r} holds more than numbers") from None


def load_metadata(folder: Path, embedding: Embedding) -> dict[str, np.ndarray]:
    """Give the points' labels, one object array of str a column.

    A file of one column has no header, by the projector's rule; its column is
    called "label". In others the first line names the columns.
    """
    import numpy as np

    lines = _lines(_read(folder, embedding.metadata_path))
    rows = [line.split("\t") for line in lines]
    width = len(rows[0]) if rows else 1
    names = ["label"] if width == 1 else rows.pop(0)
    if any(len(row) != width for row in rows) or len(set(names)) != width:
        raise ValueError(f"{embedding.metadata_path!r} is not a table: its rows or names clash")
    columns = np.empty((width, len(rows)), dtype=object)
    for index, row in enumerate(rows):
        columns[:, index] = row
    return dict(zip(names, columns, strict=True))


def load_sprite(folder: Path, embedding: Embedding) -> bytes:
    """Give the encoded image that shows every point's picture."""
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
        if not file.is_file():  # a pipe of that name would block for ever
            raise ValueError(f"there is no file {path!r} in the run's folder")
        return file.read_bytes()
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read: {error.strerror}") from None


def _lines(raw: bytes) -> list[str]:
    """Split at newlines only: a label may hold other line separators."""
    lines = raw.decode("utf-8", "backslashreplace").replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines

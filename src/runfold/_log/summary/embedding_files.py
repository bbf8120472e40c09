"""Embedding files for TensorBoard's projector, in a run's folder."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import PROJECTOR_CONFIG
from runfold._events.kinds.embedding import MOST_CONFIG_BYTES
from runfold._files import make_folder, read_small, replace_small
from runfold._humanize import escape
from runfold._log.writer.convert import as_real, refuse
from runfold._warnings import warn_caller
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

TENSOR_NAME, METADATA_NAME, SPRITE_NAME = "tensors.tsv", "metadata.tsv", "sprite.png"

# TensorBoard does not show sprites that are wider or taller than this.
_LARGEST_SPRITE = 8192
# Characters that would end a cell or a line in the table.
_BREAKS = str.maketrans("\t\n\r", "   ")
_SEPARATORS = str.maketrans({"%": "%25", "/": "%2f", "\\": "%5c"})


def write_files(
    folder: str,
    tag: str,
    step: int | str,
    mat: Any,
    metadata: Any = None,
    header: Sequence[str] | None = None,
    label_img: Any = None,
) -> None:
    """Write the files of an embedding, and add them to the run's projector configuration.

    The configuration is written last, so that it refers only to existing files. Entries from other
    writers are kept. Raises OSError if a file cannot be written, and CannotLog, before anything is
    written, for invalid input or an unreadable configuration.
    """
    padded = str(step).zfill(5)
    name, subdir = f"{tag}:{padded}", str(PurePosixPath(_as_folder(padded), _as_folder(tag)))
    points = _as_points(mat, tag)
    files = {TENSOR_NAME: _table(points)}
    config, path = _read_config(folder, tag), f"{subdir}/{TENSOR_NAME}"
    kept = [info for info in config.embeddings if info.tensor_path != path]
    del config.embeddings[:]
    config.embeddings.extend(kept)
    info = config.embeddings.add(tensor_name=name, tensor_path=path)
    if metadata is not None:
        info.metadata_path = f"{subdir}/{METADATA_NAME}"
        files[METADATA_NAME] = _labels(metadata, header, len(points), tag)
    if label_img is not None:
        images = _as_pictures(label_img, len(points), tag)
        info.sprite.image_path = f"{subdir}/{SPRITE_NAME}"
        info.sprite.single_image_dim.extend([images.shape[2], images.shape[1]])
        files[SPRITE_NAME] = _sprite(images, tag)
    with make_folder(folder, subdir) as target:
        for file_name, content in files.items():
            replace_small(file_name, content, dir_fd=target)
    from google.protobuf import text_format

    data = text_format.MessageToString(config).encode()
    with make_folder(folder, "") as run:
        replace_small(PROJECTOR_CONFIG, data, dir_fd=run)


def _as_folder(tag: str) -> str:
    """Return the folder name for a tag, escaped as in torch; `.` and `..` are escaped too."""
    if "\0" in tag:
        raise CannotLog(refuse(tag, "tag", tag, "a folder name cannot contain NUL"))
    folder = tag.translate(_SEPARATORS)
    return folder.replace(".", "%2e") if folder in (".", "..") else folder


def _as_points(mat: Any, tag: str) -> NDArray[Any]:
    points = as_real(mat, tag, "mat")
    if points.ndim != 2:
        reason = f"expected shape (points, dimensions), got {_describe(points)}"
        raise CannotLog(refuse(tag, "mat", mat, reason))
    return points.astype(np.uint8) if points.dtype.kind == "b" else points


def _table(points: NDArray[Any]) -> bytes:
    return "".join("\t".join(map(str, row)) + "\n" for row in points.tolist()).encode()


def _labels(metadata: Any, header: Sequence[str] | None, count: int, tag: str) -> bytes:
    """Return one line per point, with a header line if there are several columns.

    As in torch, only the first row is checked against the number of column names.
    """
    listed = metadata.tolist() if hasattr(metadata, "tolist") else metadata
    if not isinstance(listed, Iterable):
        raise CannotLog(refuse(tag, "metadata", metadata, "expected a list of labels"))
    rows = list(listed)
    if len(rows) != count:
        reason = f"it has {len(rows)} labels for {count} points"
        raise CannotLog(refuse(tag, "metadata", metadata, reason))
    if not header:
        table = [[row] for row in rows]
    else:
        names = list(header)
        table = [list(row) if isinstance(row, Iterable) else [row] for row in rows]
        if table and len(table[0]) != len(names):
            reason = f"it names {len(names)} columns, but metadata has {len(table[0])}"
            raise CannotLog(refuse(tag, "metadata_header", header, reason))
        if len(names) > 1:  # with one column, the projector would show the header as a label
            table.insert(0, names)
    lines = ("\t".join(map(_cell, row)) for row in table)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def _cell(label: Any) -> str:
    """Return a label on one line; a zero-dimensional tensor becomes a number."""
    if getattr(label, "shape", None) == ():
        label = label.item()
    return str(label).translate(_BREAKS)


def _as_pictures(label_img: Any, count: int, tag: str) -> NDArray[np.uint8]:
    """Return RGB images with shape (points, height, width, 3); floats range from 0 to 1."""
    array = as_real(label_img, tag, "label_img")
    if array.ndim != 4 or array.shape[1] not in (1, 3) or 0 in array.shape:
        reason = f"expected shape (points, 1 or 3, height, width), got {_describe(array)}"
        raise CannotLog(refuse(tag, "label_img", label_img, reason))
    if len(array) != count:
        reason = f"it has {len(array)} images for {count} points"
        raise CannotLog(refuse(tag, "label_img", label_img, reason))
    if array.dtype != np.uint8:
        array = np.nan_to_num(array.astype(np.float64) * 255).clip(0, 255).astype(np.uint8)
    rgb = np.broadcast_to(array, (count, 3, *array.shape[2:]))
    return np.ascontiguousarray(rgb.transpose(0, 2, 3, 1))


def _sprite(images: NDArray[np.uint8], tag: str) -> bytes:
    """Return a square PNG file of all images, row by row."""
    from PIL import Image

    count, height, width, _ = images.shape
    columns = math.ceil(count**0.5)
    rows = math.ceil(count / columns)
    side = max(rows * height, columns * width)
    if side > _LARGEST_SPRITE:
        warn_caller(
            f"Tag '{escape(tag)}': label_img makes a sprite of {side} x {side} pixels. TensorBoard "
            f"shows at most {_LARGEST_SPRITE} x {_LARGEST_SPRITE}: pass fewer or smaller images."
        )
    sprite = np.zeros((side, side, 3), np.uint8)
    for index, image in enumerate(images):
        top, left = index // columns * height, index % columns * width
        sprite[top : top + height, left : left + width] = image
    out = io.BytesIO()
    Image.fromarray(sprite).save(out, format="PNG")
    return out.getvalue()


def _read_config(folder: str, tag: str) -> ProjectorConfig:
    """Return the existing configuration, or an empty one. Raises CannotLog if it is invalid."""
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    path = Path(folder, PROJECTOR_CONFIG)
    config = ProjectorConfig()
    try:
        text_format.Parse(read_small(str(path), MOST_CONFIG_BYTES), config)
    except FileNotFoundError:
        pass
    except (text_format.ParseError, UnicodeError, RecursionError, OSError) as error:
        fault = "cannot be read" if isinstance(error, OSError) else "does not parse"
        raise CannotLog(
            f"Tag '{escape(tag)}': {escape(str(path))} {fault}: {escape(str(error))}. "
            "The embedding was not logged, so the file is unchanged. Move the file elsewhere."
        ) from error
    return config


def _describe(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"

"""Embeddings: the projector's configuration and files, and nothing outside the run's folder."""

import os
from contextlib import suppress

import numpy as np
import pytest
import tensorboardX
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import tensorboard as torch_tensorboard

from runfold._conventions import PROJECTOR_CONFIG
from runfold._events.kinds import embedding
from runfold._events.kinds.embedding import Embedding

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]
POINTS = torch.linspace(-1, 1, 12).reshape(4, 3)


def configured(**paths):
    fields = dict.fromkeys(Embedding.__slots__, "") | {"tensor_shape": (), "sprite_size": ()}
    return Embedding(**(fields | paths))


@pytest.mark.parametrize("writer", WRITERS)
def test_points_labels_and_sprite_of_a_writer_are_read(writer, tmp_path):
    with writer(str(tmp_path)) as w:
        w.add_embedding(
            POINTS, ["a", "b", "c", "d"], torch.rand(4, 3, 5, 5), global_step=1, tag="words"
        )
        w.add_embedding(
            POINTS * 2, [["x", "1"]] * 4, global_step=2, metadata_header=["name", "class"]
        )
    embeddings = embedding.parse_config((tmp_path / PROJECTOR_CONFIG).read_text())
    assert [entry.name for entry in embeddings] == ["words:00001", "default:00002"]
    words, default = embeddings
    np.testing.assert_array_equal(embedding.load_tensor(tmp_path, words), POINTS.numpy())
    np.testing.assert_array_equal(embedding.load_tensor(tmp_path, default), 2 * POINTS.numpy())
    assert embedding.load_metadata(tmp_path, words)["label"].tolist() == ["a", "b", "c", "d"]
    columns = embedding.load_metadata(tmp_path, default)
    assert {name: column.tolist() for name, column in columns.items()} == {
        "name": ["x"] * 4,
        "class": ["1"] * 4,
    }
    assert words.sprite_size == (5, 5)
    assert embedding.load_sprite(tmp_path, words).startswith(b"\x89PNG")
    assert default.sprite_path == ""


def test_a_binary_tensor_has_the_configured_shape(tmp_path):
    POINTS.numpy().tofile(tmp_path / "t.bytes")
    config = 'embeddings { tensor_path: "t.bytes" tensor_shape: 4 tensor_shape: 3 }'
    (entry,) = embedding.parse_config(config)
    assert entry.name == "t.bytes"
    np.testing.assert_array_equal(embedding.load_tensor(tmp_path, entry), POINTS.numpy())
    with pytest.raises(ValueError, match="does not fit 48 bytes"):
        embedding.load_tensor(
            tmp_path, configured(tensor_path="t.bytes", tensor_shape=(2**31, 2**31))
        )


LOADERS = {
    "tensor_path": embedding.load_tensor,
    "metadata_path": embedding.load_metadata,
    "sprite_path": embedding.load_sprite,
}


@pytest.mark.parametrize("field", LOADERS)
@pytest.mark.parametrize("path", ["/etc/hostname", "../secret.tsv", "a/../../secret.tsv", "link"])
def test_paths_outside_the_runs_folder_are_rejected(field, path, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "secret.tsv").write_text("1\t2\n")
    (run / "link").symlink_to(tmp_path / "secret.tsv")
    with pytest.raises(ValueError, match="is outside the run's folder"):
        LOADERS[field](run, configured(**{field: path}))


def test_a_run_reached_through_a_symbolic_link_is_read(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "t.tsv").write_text("1\t2\n")
    (tmp_path / "run").symlink_to(tmp_path / "real")
    got = embedding.load_tensor(tmp_path / "run", configured(tensor_path="t.tsv"))
    assert got.tolist() == [[1, 2]]


@pytest.mark.parametrize("path", ["missing.tsv", "pipe", "", ".", "a\0b", "x" * 300, "loop"])
def test_a_path_that_is_not_a_file_is_a_value_error(path, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ValueError, match=r"path|file|read|null"):
        embedding.load_tensor(tmp_path, configured(tensor_path=path))


@pytest.mark.parametrize("content", ["1\t2\n3\n", "1\tx\n", "\xff"])
def test_a_table_with_text_is_a_value_error(content, tmp_path):
    (tmp_path / "t.tsv").write_text(content, "latin-1")
    with pytest.raises(ValueError, match=r"t\.tsv"):
        embedding.load_tensor(tmp_path, configured(tensor_path="t.tsv"))


def test_an_empty_table_has_no_points(tmp_path):
    (tmp_path / "t.tsv").write_text("")
    entry = configured(tensor_path="t.tsv", metadata_path="t.tsv")
    assert embedding.load_tensor(tmp_path, entry).shape == (0, 0)
    assert embedding.load_metadata(tmp_path, entry)["label"].size == 0


@given(st.text() | st.text(alphabet='embeddings{}tensor_path:"1 \n<>'))
def test_arbitrary_text_gives_embeddings_or_value_error(text):
    with suppress(ValueError):
        embedding.parse_config(text)


def test_a_deeply_nested_configuration_is_a_value_error():
    with pytest.raises(ValueError, match="cannot be parsed"):
        embedding.parse_config("unknown {" * 100_000)

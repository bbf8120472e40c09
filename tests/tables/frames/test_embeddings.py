"""Embeddings of projector configurations as a table."""

import numpy as np
import pytest
from helpers.logs import scalars, write

import runfold as rf

CONFIG = """
embeddings { tensor_name: "words" tensor_path: "words.tsv" metadata_path: "labels.tsv" }
embeddings { tensor_name: "images" tensor_path: "../../outside.tsv" }
"""


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "seed-1"
    write(folder, scalars("loss", (0, 1.0)))
    (folder / "projector_config.pbtxt").write_text(CONFIG)
    (folder / "words.tsv").write_text("1\t2\n3\t4\n")
    (folder / "labels.tsv").write_text("one\ntwo\n")
    return folder


def test_embeddings_are_among_the_tags(run_folder):
    runs = rf.open(run_folder.parent)
    assert runs.tags == {"scalar": ["loss"], "embedding": ["words", "images"]}
    assert runs["seed-1"].tags == runs.tags


def test_table_has_one_row_per_embedding(run_folder):
    table = rf.open(run_folder.parent).embeddings()
    assert table["run"].tolist() == ["seed-1", "seed-1"]
    assert table["tag"].tolist() == ["words", "images"]
    assert table["tensor_path"].tolist() == ["words.tsv", "../../outside.tsv"]
    words = table["embedding"][0]
    np.testing.assert_array_equal(words.tensor(), [[1, 2], [3, 4]])
    assert words.metadata()["label"].tolist() == ["one", "two"]


def test_embeddings_are_selected_by_name(run_folder):
    runs = rf.open(run_folder.parent)
    assert runs.embeddings("w*")["tag"].tolist() == ["words"]
    assert runs.embeddings(runs="seed-1", tags=["images"])["tag"].tolist() == ["images"]


def test_file_outside_the_runs_folder_is_never_read(run_folder):
    table = rf.open(run_folder.parent).embeddings("images")
    with pytest.raises(ValueError, match="is outside the run's folder"):
        table["embedding"][0].tensor()


def test_invalid_configuration_is_a_problem(run_folder):
    (run_folder / "projector_config.pbtxt").write_text("embeddings { what: ")
    runs = rf.open(run_folder.parent)
    assert runs.embeddings().empty
    assert runs.problems()["code"].tolist() == ["bad-value"]

"""Meshes as a table: one row per mesh, although each part has its own tag."""

import numpy as np
import pytest
from helpers import writers
from helpers.logs import write
from tensorboard.plugins.mesh import metadata

import runfold as rf
from runfold.errors import UnknownTag

SUFFIXES = {1: "VERTEX", 2: "FACE", 3: "COLOR"}


def part(name, content_type, array):
    made = metadata.create_summary_metadata(name, "", content_type, 0, array.shape)
    tag = f"{name}_{SUFFIXES[content_type]}"
    return writers.summary(tag, array, made).value[0].SerializeToString()


def log_meshes(folder, *parts):
    """Log parts, each a tuple of name, content type, array and step."""

    def add(buffer):
        for name, content_type, array, step in parts:
            buffer.value(part(name, content_type, array), step, 10.0)

    write(folder, add)
    return rf.open(folder)


def test_parts_of_one_step_make_one_row(tmp_path):
    runs = log_meshes(
        tmp_path,
        *(("ball", 1, writers.VERTICES + step, step) for step in (0, 1)),
        *(("ball", 2, writers.FACES, step) for step in (0, 1)),
    )
    table = runs.meshes()
    assert (table["tag"].tolist(), table["step"].tolist()) == (["ball"] * 2, [0, 1])
    np.testing.assert_array_equal(table["vertices"][1], writers.VERTICES + 1)
    np.testing.assert_array_equal(table["faces"][1], writers.FACES)
    assert table["colors"].tolist() == [None, None]


def test_filter_uses_the_names_in_the_table(tmp_path):
    runs = log_meshes(
        tmp_path,
        ("ball", 1, writers.VERTICES, 0),
        ("ball", 2, writers.FACES, 0),
        ("cube", 1, writers.VERTICES, 0),
    )
    table = runs.meshes("ball")
    assert table["tag"].tolist() == ["ball"]
    np.testing.assert_array_equal(table["faces"][0], writers.FACES)
    assert runs.meshes(["c*"])["tag"].tolist() == ["cube"]
    with pytest.raises(UnknownTag, match=r"No tag 'bal' of kind mesh. Did you mean 'ball'"):
        runs.meshes("bal")


def test_mesh_without_vertices_is_a_problem_and_the_others_are_kept(tmp_path):
    runs = log_meshes(tmp_path, ("ball", 2, writers.FACES, 0), ("cube", 1, writers.VERTICES, 0))
    assert runs.meshes()["tag"].tolist() == ["cube"]
    (message,) = runs.problems()["message"]
    assert "has no vertices" in message

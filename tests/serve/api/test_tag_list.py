"""Tags over HTTP: kind, number of runs, first and last step."""

import numpy as np
from helpers.logs import scalars, values, write
from helpers.serve_client import Client

import runfold as rf
from runfold._events.value_encoding import text


def test_tags_of_every_kind_with_runs_and_steps(tmp_path):
    write(tmp_path / "a", scalars("loss", (5, 1.0), (2**60, 1.0)), scalars("lr", (0, 0.1)))
    write(tmp_path / "b", scalars("loss", (-3, 1.0)), values(text("note", "x"), step=7))
    assert Client(tmp_path).get("/api/tags") == {
        "kinds": {
            "scalar": [
                {"tag": "loss", "runs": 2, "first": -3, "last": str(2**60)},
                {"tag": "lr", "runs": 1, "first": 0, "last": 0},
            ],
            "text": [{"tag": "note", "runs": 1, "first": 7, "last": 7}],
        },
        "leftOut": {},
    }


def test_mesh_is_one_tag_whatever_its_parts(tmp_path):
    for run in "ab":
        with rf.SummaryWriter(str(tmp_path / run)) as writer:
            writer.add_mesh("cube", np.eye(3)[None], faces=np.array([[[0, 1, 2]]]), global_step=4)
    (only,) = Client(tmp_path).get("/api/tags")["kinds"]["mesh"]
    assert only == {"tag": "cube", "runs": 2, "first": 4, "last": 4}

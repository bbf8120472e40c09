"""The tags over HTTP: of which kind, in how many runs, from which step to which."""

from logs import scalars, values, write
from serve_client import Client

from runfold.events.values import text


def test_tags_of_every_kind_with_runs_and_steps(tmp_path):
    write(tmp_path / "a", scalars("loss", (5, 1.0), (2**60, 1.0)), scalars("lr", (0, 0.1)))
    write(tmp_path / "b", scalars("loss", (-3, 1.0)), values(text("note", "x"), step=7))
    assert Client(tmp_path).get("/api/tags") == {
        "kinds": {
            "scalar": [
                {"tag": "loss", "runs": 2, "first": -3, "last": 2**60},
                {"tag": "lr", "runs": 1, "first": 0, "last": 0},
            ],
            "text": [{"tag": "note", "runs": 1, "first": 7, "last": 7}],
        }
    }

"""If a run is rewritten while the server reads it, only that run's values are missing."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pytest
from helpers.logs import scalars, write
from helpers.serving import open_client

import runfold as rf

ROUTES = {
    "/api/images": {"tag": "seen"},
    "/api/audio": {"tag": "beep"},
    "/api/texts": {"tag": "note/text_summary"},
    "/api/histograms": {"tag": "weights"},
    "/api/pr_curves": {"tag": "recall"},
    "/api/meshes": {"tag": "shape"},
    "/api/marks": {},
}
REWRITES = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "replaced": lambda path: os.replace(write(path.parent.parent / "new", scalars("x")), path),
}


@pytest.fixture(scope="module")
def whole_logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    for name in ("a", "b"):
        with rf.track(folder / name, system=False, code=False) as run:
            picture = np.zeros((3, 20, 30), np.uint8)
            run.add_image_with_boxes("seen", picture, [[2, 2, 9, 9]], 1, labels=["cat"])
            run.add_audio("beep", np.zeros(100), 1)
            run.add_text("note", name, 1)
            run.add_histogram("weights", np.arange(10.0), 1)
            run.add_pr_curve("recall", np.array([0, 1, 1]), np.array([0.2, 0.4, 0.9]), 1)
            run.add_mesh("shape", np.zeros((1, 3, 3)), global_step=1)
            run.mark("lower learning rate", 1)
    return folder


@pytest.fixture
def logdir(whole_logdir, tmp_path):
    return shutil.copytree(whole_logdir, tmp_path / "runs")


def runs_in(response):
    """Return the runs that a response has values for."""
    assert response.status_code == 200, response.text
    if response.headers["Content-Type"] == "application/json":
        entries = next(value for value in response.json().values() if isinstance(value, list))
        return [entry["run"] for entry in entries]
    return pa.ipc.open_stream(response.content).read_all().column("run").to_pylist()


@pytest.mark.parametrize("how", REWRITES)
@pytest.mark.parametrize("route", ROUTES)
def test_a_rewritten_run_loses_only_its_own_values(logdir, route, how):
    client = open_client(logdir)
    assert runs_in(client.get(route, params=ROUTES[route])) == ["a", "b"]
    REWRITES[how](next((logdir / "a").glob("*tfevents*")))
    assert runs_in(client.get(route, params=ROUTES[route])) == ["b"]
    (problem,) = client.get("/api/problems").json()["problems"]
    assert (problem["run"], problem["code"]) == ("a", "read-error")


@pytest.mark.parametrize("route", [route for route in ROUTES if ROUTES[route]])
def test_a_request_for_only_a_rewritten_run_is_a_conflict(logdir, route):
    client = open_client(logdir)
    client.get("/api/table")
    next((logdir / "a").glob("*tfevents*")).unlink()
    response = client.get(route, params={**ROUTES[route], "run": "a"})
    assert response.status_code == 409
    assert response.json() == {
        "error": "A log file changed while it was being read. Try again in a moment."
    }

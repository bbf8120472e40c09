"""Rule 30: what a client sees of errors, and what only the local log contains."""

import logging

import numpy as np
import pytest
from helpers.logs import scalars, write
from helpers.serving import open_client
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from runfold._serve.http.security import HEADERS
from runfold.errors import BadExpression, UnknownRun


@pytest.fixture
def client_of(tmp_path):
    """Return a function that makes a client whose server raises an error at `/fail`."""
    write(tmp_path / "a", scalars("loss", (0, 1.0)))

    def make(error):
        async def fail(request):
            raise error

        client = open_client(tmp_path)
        client.app.router.routes.insert(0, Route("/fail", fail))
        return client

    return make


def test_message_of_an_expected_error_is_returned(client_of):
    response = client_of(UnknownRun("No run 'x'. Did you mean 'y'?")).get("/fail")
    assert (response.status_code, response.json()) == (
        404,
        {"error": "No run 'x'. Did you mean 'y'?"},
    )


def test_position_of_a_syntax_error_is_returned(client_of):
    error = BadExpression("'lr <' ends too early.")
    error.at = 4
    response = client_of(error).get("/fail")
    assert (response.status_code, response.json()) == (400, {"error": str(error), "at": 4})


def test_any_other_error_returns_an_id_that_is_in_the_log(client_of, caplog):
    with caplog.at_level(logging.ERROR):
        response = client_of(ValueError("/home/me/secret")).get("/fail")
    assert response.status_code == 500
    body = response.json()
    assert set(body) == {"error", "id"}
    assert body["error"] == "Something went wrong on the server; see its log for details."
    assert "secret" not in response.text
    assert {name: response.headers[name] for name in HEADERS} == HEADERS
    (record,) = [record for record in caplog.records if record.name == "runfold.serve"]
    assert body["id"] in record.getMessage()
    assert "ValueError: /home/me/secret" in caplog.text


def test_request_that_runs_out_of_memory_is_reported_and_the_server_continues(client_of):
    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 60, np.uint8)
    client = client_of(caught.value)
    response = client.get("/fail")
    message = "The server does not have enough memory for this. Choose fewer runs, tags or steps."
    assert (response.status_code, response.json()) == (503, {"error": message})
    assert client.get("/api/table").status_code == 200


def test_client_that_disconnects_early_is_not_logged_as_an_error(client_of, caplog):
    response = client_of(ClientDisconnect()).get("/fail")
    error = "The client disconnected before the end of the request."
    assert (response.status_code, response.json()) == (400, {"error": error})
    assert caplog.text == ""


def test_wrong_url_and_method_are_reported(client_of):
    client = client_of(ValueError())
    nowhere = client.get("/api/nowhere")
    assert nowhere.status_code == 404
    assert nowhere.json() == {"error": "There is nothing at this URL."}
    wrong = client.post("/api/status", json={})
    assert wrong.status_code == 405
    assert sorted(wrong.headers["allow"].split(", ")) == ["GET", "HEAD"]
    assert wrong.json() == {"error": "This URL does not support that method."}

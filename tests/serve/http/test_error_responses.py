"""Rule 30: what a client is told of errors, and what only the local log is."""

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
    """A function that gives a client of a server with one route, `/fail`, that raises this."""
    write(tmp_path / "a", scalars("loss", (0, 1.0)))

    def make(error):
        async def fail(request):
            raise error

        client = open_client(tmp_path)
        client.app.router.routes.insert(0, Route("/fail", fail))
        return client

    return make


def test_error_that_was_foreseen_is_told(client_of):
    answer = client_of(UnknownRun("No run 'x'. Did you mean 'y'?")).get("/fail")
    assert (answer.status_code, answer.json()) == (404, {"error": "No run 'x'. Did you mean 'y'?"})


def test_place_of_a_mistake_is_told(client_of):
    error = BadExpression("'lr <' ends too early.")
    error.at = 4
    answer = client_of(error).get("/fail")
    assert (answer.status_code, answer.json()) == (400, {"error": str(error), "at": 4})


def test_any_other_error_is_an_id_under_which_the_log_has_all(client_of, caplog):
    with caplog.at_level(logging.ERROR):
        answer = client_of(ValueError("/home/me/secret")).get("/fail")
    assert answer.status_code == 500
    told = answer.json()
    assert set(told) == {"error", "id"}
    assert told["error"] == "Something went wrong in the server; its log says what."
    assert "secret" not in answer.text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    (record,) = [one for one in caplog.records if one.name == "runfold.serve"]
    assert told["id"] in record.getMessage()
    assert "ValueError: /home/me/secret" in caplog.text


def test_request_that_needs_too_much_memory_is_told_and_the_server_answers_the_next(client_of):
    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 60, np.uint8)
    client = client_of(caught.value)
    answer = client.get("/fail")
    told = "The server does not have enough memory for this. Choose fewer runs, tags or steps."
    assert (answer.status_code, answer.json()) == (503, {"error": told})
    assert client.get("/api/table").status_code == 200


def test_client_that_goes_before_it_was_read_is_no_error(client_of, caplog):
    answer = client_of(ClientDisconnect()).get("/fail")
    assert (answer.status_code, answer.json()) == (400, {"error": "The request was broken off."})
    assert caplog.text == ""


def test_wrong_address_and_method_are_told(client_of):
    client = client_of(ValueError())
    nowhere = client.get("/api/nowhere")
    assert nowhere.status_code == 404
    assert nowhere.json() == {"error": "There is nothing at this address."}
    wrong = client.post("/api/status", json={})
    assert wrong.status_code == 405
    assert sorted(wrong.headers["allow"].split(", ")) == ["GET", "HEAD"]
    assert wrong.json() == {"error": "This address does not take that method."}

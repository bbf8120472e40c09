"""The key check in front of TensorBoard's application, tested without a server."""

import time
from typing import Any

import pytest
from werkzeug.test import Client
from werkzeug.wrappers import Response

from runfold._serve.tensorboards.key_gate import Gate, digest_key


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def make(body: str = "<head></head>", kind: str = "text/html") -> tuple[Gate, Client]:
    def app(environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"].endswith("/broken"):
            raise RuntimeError("broken")
        return Response(body, content_type=kind)(environ, start_response)

    gate = Gate(app, "/p", digest_key("key"), lambda: {"runs": 1})
    return gate, Client(gate)


def send(client: Client, path: str, method: str = "GET") -> Any:
    return client.open("/p" + path, method=method, headers={"X-Runfold-Key": "key"})


def test_a_silent_page_counts_as_closed(clock: Clock) -> None:
    gate, client = make()
    send(client, "/runfold/page?page=a&state=open", "POST")
    clock.now += 149
    assert (gate.idle(), gate.health()["open_pages"]) == (0.0, 1)
    clock.now += 2
    assert (gate.idle(), gate.health()["open_pages"]) == (151.0, 0)
    send(client, "/data/runs")
    clock.now += 5
    assert gate.idle() == 5.0


def test_a_health_check_does_not_count_as_use(clock: Clock) -> None:
    gate, client = make()
    clock.now += 10
    assert send(client, "/runfold/health").json["idle"] == 10.0
    assert (gate.idle(), gate.unheard()) == (10.0, 0.0)


def test_a_request_without_the_key_is_ignored(clock: Clock) -> None:
    gate, client = make()
    clock.now += 10
    assert client.get("/p/data/runs").status_code == 403
    assert (gate.idle(), gate.unheard()) == (10.0, 10.0)


def test_an_unfinished_response_counts_as_use_until_it_is_closed(clock: Clock) -> None:
    gate, client = make()
    response = send(client, "/data/runs")
    clock.now += 10
    assert gate.idle() == 0.0
    response.close()
    clock.now += 3
    assert gate.idle() == 3.0


def test_a_failed_response_does_not_count_as_use_forever(clock: Clock) -> None:
    gate, client = make()
    with pytest.raises(RuntimeError):
        send(client, "/broken")
    clock.now += 3
    assert gate.idle() == 3.0


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<html><head><script>", '<html><head><script src="runfold/page.js"></script><script>'),
        ("<p>", '<script src="runfold/page.js"></script><p>'),
    ],
)
def test_the_script_comes_first(body: str, shown: str) -> None:
    response = send(make(body)[1], "/")
    assert (response.text, response.content_length) == (shown, len(shown))


def test_only_the_page_itself_is_changed() -> None:
    for path in ("/data/plugin/x/", "/index.js", "/index.html/x"):
        assert send(make()[1], path).text == "<head></head>"
    assert send(make(kind="application/json")[1], "/").text == "<head></head>"
    assert send(make()[1], "/", "HEAD").text == ""


def test_the_number_of_pages_is_limited(clock: Clock) -> None:
    gate, client = make()
    for number in range(1100):
        send(client, f"/runfold/page?page={number}&state=open", "POST")
    assert gate.health()["open_pages"] == 1000

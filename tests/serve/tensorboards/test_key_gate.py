"""What stands before TensorBoard's application, asked without a server."""

import time
from typing import Any

import pytest
from werkzeug.test import Client
from werkzeug.wrappers import Response

from runfold._serve.tensorboards.key_gate import Gate


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

    before = Gate(app, "/p", "key", lambda: {"runs": 1})
    return before, Client(before)


def ask(client: Client, path: str, method: str = "GET") -> Any:
    return client.open("/p" + path, method=method, headers={"X-Runfold-Key": "key"})


def test_a_page_that_says_nothing_more_is_taken_for_closed(clock: Clock) -> None:
    before, client = make()
    ask(client, "/runfold/page?page=a&state=open", "POST")
    clock.now += 149
    assert (before.idle(), before.health()["open_pages"]) == (0.0, 1)
    clock.now += 2
    assert (before.idle(), before.health()["open_pages"]) == (151.0, 0)
    ask(client, "/data/runs")
    clock.now += 5
    assert before.idle() == 5.0


def test_health_is_no_use_but_is_heard(clock: Clock) -> None:
    before, client = make()
    clock.now += 10
    assert ask(client, "/runfold/health").json["idle"] == 10.0
    assert (before.idle(), before.unheard()) == (10.0, 0.0)


def test_who_has_no_key_is_not_heard(clock: Clock) -> None:
    before, client = make()
    clock.now += 10
    assert client.get("/p/data/runs").status_code == 403
    assert (before.idle(), before.unheard()) == (10.0, 10.0)


def test_an_answer_that_is_not_read_to_its_end_is_use_until_it_is_let_go(clock: Clock) -> None:
    before, client = make()
    answer = ask(client, "/data/runs")
    clock.now += 10
    assert before.idle() == 0.0
    answer.close()
    clock.now += 3
    assert before.idle() == 3.0


def test_an_answer_that_fails_is_no_use_for_ever(clock: Clock) -> None:
    before, client = make()
    with pytest.raises(RuntimeError):
        ask(client, "/broken")
    clock.now += 3
    assert before.idle() == 3.0


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<html><head><script>", '<html><head><script src="runfold/page.js"></script><script>'),
        ("<p>", '<script src="runfold/page.js"></script><p>'),
    ],
)
def test_the_script_comes_first(body: str, shown: str) -> None:
    answer = ask(make(body)[1], "/")
    assert (answer.text, answer.content_length) == (shown, len(shown))


def test_only_the_page_itself_is_changed() -> None:
    for path in ("/data/plugin/x/", "/index.js", "/index.html/x"):
        assert ask(make()[1], path).text == "<head></head>"
    assert ask(make(kind="application/json")[1], "/").text == "<head></head>"
    assert ask(make()[1], "/", "HEAD").text == ""


def test_pages_cannot_be_made_up_without_end(clock: Clock) -> None:
    before, client = make()
    for number in range(1100):
        ask(client, f"/runfold/page?page={number}&state=open", "POST")
    assert before.health()["open_pages"] == 1000

"""The proxy: bodies of any size both ways, broken connections, and what may pass at all."""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from helpers.boards import until
from helpers.upstreams import LARGE, PIECE, proxying

from runfold._serve.http.limits import Limits
from runfold._serve.http.security import CSP


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One instance behind the proxy, for tests that leave it as it was."""
    with proxying(tmp_path_factory.mktemp("proxied")) as proxied:
        yield proxied


@pytest.fixture
def proxied(shared):
    shared.upstream.seen.clear()
    shared.upstream.headers = {}
    shared.upstream.was_left.clear()
    return shared


def test_large_answer_comes_whole(proxied):
    size = 0
    with proxied.client.stream("GET", f"{proxied.path}/large") as answer:
        for piece in answer.iter_raw():
            size += len(piece)
    assert size == LARGE
    assert answer.headers["content-length"] == str(LARGE)


def test_answer_is_read_no_faster_than_the_client_takes_it(proxied):
    with proxied.client.stream("GET", f"{proxied.path}/large") as answer:
        pieces = answer.iter_raw()
        next(pieces)
        # It stands still well before the end: all buffers on the way are full.
        seen = -1
        while seen != proxied.upstream.sent:
            seen = proxied.upstream.sent
            threading.Event().wait(0.3)
        assert seen < LARGE
        assert sum(map(len, pieces)) > 0


def test_client_that_goes_away_ends_the_request(proxied):
    with proxied.client.stream("GET", f"{proxied.path}/large") as answer:
        next(answer.iter_raw())
    assert proxied.upstream.was_left.wait(60)


def test_client_that_goes_away_before_the_answer_ends_the_request(proxied):
    with socket.create_connection(("127.0.0.1", httpx.URL(proxied.url).port)) as connection:
        head = f"GET {proxied.path}/silence HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        token = f"Authorization: Bearer {proxied.access.token}\r\n\r\n"
        connection.sendall((head + token).encode())
        until(lambda: proxied.upstream.seen)
    assert proxied.upstream.was_left.wait(60)


def test_pieces_pass_as_they_come(proxied):
    proxied.upstream.may_go_on.clear()
    with proxied.client.stream("GET", f"{proxied.path}/chunks") as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"first"
        proxied.upstream.may_go_on.set()
        assert b"".join(pieces) == b"second"


def test_answer_that_breaks_off_does_so_for_the_client(proxied, caplog):
    with pytest.raises(httpx.RemoteProtocolError):
        proxied.client.get(f"{proxied.path}/half")
    assert caplog.records == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_body_of_any_size_is_handed_on(proxied, method):
    path = f"{proxied.path}/echo"
    answer = proxied.client.request(method, path, content=PIECE * 200)
    assert answer.json() == {"method": method, "size": len(PIECE) * 200}


def test_body_of_unknown_length_is_handed_on(proxied):
    pieces = iter([PIECE] * 20)
    answer = proxied.client.post(f"{proxied.path}/echo", content=pieces)
    assert answer.json()["size"] == len(PIECE) * 20


def test_forms_are_taken_from_the_own_page_only(proxied):
    cookie = proxied.access.log_in(proxied.access.make_ticket())
    cookies = {proxied.access.cookie_name: cookie or ""}
    with httpx.Client(base_url=proxied.url, cookies=cookies) as browser:
        for site, status in (("same-origin", 200), ("same-site", 403), ("cross-site", 403)):
            headers = {"Sec-Fetch-Site": site}
            answer = browser.post(f"{proxied.path}/echo", data={"a": "b"}, headers=headers)
            assert answer.status_code == status
        assert browser.post(f"{proxied.path}/echo", data={"a": "b"}).status_code == 403
        page = browser.get(f"{proxied.path}/", headers={"Sec-Fetch-Site": "same-site"})
        assert page.status_code == 403


def test_answer_before_the_body_was_read_is_handed_back(proxied):
    answer = proxied.client.post(f"{proxied.path}/unread", content=b"x" * 1000)
    assert answer.status_code == 413


def test_head_has_no_body_and_the_same_headers(proxied):
    answer = proxied.client.head(f"{proxied.path}/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == "31"


def test_secrets_stay_on_their_side(proxied):
    proxied.upstream.headers = {"Set_Cookie": "tb=1", "Access_Control_Allow_Origin": "*"}
    answer = proxied.client.get(
        f"{proxied.path}/a%20b?run=%2Fx&run=y",
        headers={
            "Cookie": "runfold=1",
            "X-Runfold-Key": "mine",
            "Connection": "x-hop",
            "X-Hop": "1",
        },
    )
    assert not {"set-cookie", "access-control-allow-origin"} & set(answer.headers)
    ((_, path, headers),) = proxied.upstream.seen
    assert path == f"{proxied.path}/a%20b?run=%2Fx&run=y"
    told = {name.lower(): value for name, value in headers.items()}
    assert not {"cookie", "authorization", "x-hop"} & set(told)
    assert told["x-runfold-key"] == proxied.instance.key
    assert told["host"] == f"127.0.0.1:{proxied.upstream.server_port}"


@pytest.mark.parametrize("location", ["there?x=1#y", "/proxy/ID/there?x=1#y", "ORIGIN/there?x=1#y"])
def test_redirect_within_an_instance_is_kept_without_its_host(proxied, location):
    origin = f"http://127.0.0.1:{proxied.upstream.server_port}{proxied.path}"
    where = location.replace("ORIGIN", origin).replace("/proxy/ID", proxied.path)
    proxied.upstream.headers = {"Location": where}
    assert (
        proxied.client.get(f"{proxied.path}/").headers["location"] == f"{proxied.path}/there?x=1#y"
    )


@pytest.mark.parametrize(
    "location",
    [
        *("/", "/api/status", "http://evil.example/", "//evil.example/proxy/ID/", "../other/"),
        *(
            "/proxy/ID/%2e%2e/x",
            "/proxy/ID/..\\x",
            "http://127.0.0.1:1/proxy/ID/",
            "http://[",
            "/proxy/IDx/",
        ),
    ],
)
def test_rule_13_redirect_elsewhere_is_not_handed_on(proxied, location):
    proxied.upstream.headers = {"Location": location.replace("/proxy/ID", proxied.path)}
    answer = proxied.client.get(f"{proxied.path}/")
    assert answer.status_code == 503
    assert "location" not in answer.headers


def test_rule_14_a_proxied_page_keeps_its_policy_and_stays_below_its_own_path(proxied):
    proxied.upstream.headers = {"Content_Security_Policy": "script-src 'self' 'unsafe-eval'"}
    answer = proxied.client.get(f"{proxied.path}/")
    below = proxied.url.partition("//")[2] + proxied.path + "/"
    assert answer.headers["content-security-policy"] == (
        "script-src 'self' 'unsafe-eval',"
        f" connect-src {below}; form-action {below}; base-uri {below}; frame-ancestors 'self'"
    )
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    proxied.upstream.headers = {}
    plain = proxied.client.get(f"{proxied.path}/").headers["content-security-policy"]
    assert plain.startswith("default-src 'self', connect-src")


def test_refused_request_reaches_nothing_and_has_our_own_policy(proxied):
    for headers in (
        {"Authorization": "Bearer x"},
        {"Host": "evil.example; script-src *"},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        answer = proxied.client.get(f"{proxied.path}/", headers=headers)
        assert answer.status_code == 403
        assert answer.headers["content-security-policy"] == CSP
    assert proxied.upstream.seen == []


def test_rule_14_no_path_adds_to_the_policy(proxied):
    for id in ("x; script-src *", "0a'", "0A"):
        answer = proxied.client.get(f"/proxy/{id}/")
        assert answer.status_code == 404
        assert "script-src *" not in answer.headers["content-security-policy"]


def test_many_at_once_do_not_hold_up_the_page(proxied):
    async def ask() -> set[int]:
        headers = {"Authorization": f"Bearer {proxied.access.token}"}
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=proxied.url, headers=headers, timeout=60, limits=limits
        ) as client:
            proxied.upstream.may_go_on.clear()
            waiting = [
                asyncio.create_task(client.get(f"{proxied.path}/chunks")) for _ in range(200)
            ]
            while len(proxied.upstream.seen) < 200:
                await asyncio.sleep(0.01)
            assert (await client.get("/api/status")).status_code == 200
            proxied.upstream.may_go_on.set()
            return {(await one).status_code for one in waiting}

    assert asyncio.run(ask()) == {200}


def test_more_than_the_limit_are_told_to_come_again(tmp_path):
    assert Limits().proxied >= 200
    with proxying(tmp_path, proxied=1, seconds=0.2) as proxied, ThreadPoolExecutor(1) as pool:
        proxied.upstream.may_go_on.clear()
        first = pool.submit(proxied.client.get, f"{proxied.path}/chunks")
        until(lambda: proxied.upstream.seen)
        with httpx.Client(base_url=proxied.url, headers=proxied.client.headers) as client:
            second = client.get(f"{proxied.path}/")
            assert (second.status_code, second.headers["retry-after"]) == (429, "1")
            # Longer than any other request may take.
            threading.Event().wait(0.5)
            proxied.upstream.may_go_on.set()
            assert first.result().content == b"firstsecond"
            assert client.get(f"{proxied.path}/").status_code == 200

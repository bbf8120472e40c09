"""The proxy: bodies of any size in both directions, broken connections, and what is forwarded."""

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
    """One instance behind the proxy, for tests that do not change it."""
    with proxying(tmp_path_factory.mktemp("proxied")) as proxied:
        yield proxied


@pytest.fixture
def proxied(shared):
    shared.upstream.seen.clear()
    shared.upstream.headers = {}
    shared.upstream.was_left.clear()
    return shared


def test_large_response_is_complete(proxied):
    size = 0
    with proxied.client.stream("GET", f"{proxied.path}/large") as response:
        for piece in response.iter_raw():
            size += len(piece)
    assert size == LARGE
    assert response.headers["content-length"] == str(LARGE)


def test_response_is_read_no_faster_than_the_client_reads_it(proxied):
    with proxied.client.stream("GET", f"{proxied.path}/large") as response:
        pieces = response.iter_raw()
        next(pieces)
        # Sending stops well before the end, once all buffers along the way are full.
        sent = -1
        while sent != proxied.upstream.sent:
            sent = proxied.upstream.sent
            threading.Event().wait(0.3)
        assert sent < LARGE
        assert sum(map(len, pieces)) > 0


def test_client_that_disconnects_ends_the_request(proxied):
    with proxied.client.stream("GET", f"{proxied.path}/large") as response:
        next(response.iter_raw())
    assert proxied.upstream.was_left.wait(60)


def test_client_that_disconnects_before_the_response_ends_the_request(proxied):
    with socket.create_connection(("127.0.0.1", httpx.URL(proxied.url).port)) as connection:
        head = f"GET {proxied.path}/silence HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        token = f"Authorization: Bearer {proxied.access.token}\r\n\r\n"
        connection.sendall((head + token).encode())
        until(lambda: proxied.upstream.seen)
    assert proxied.upstream.was_left.wait(60)


def test_chunks_are_forwarded_as_they_arrive(proxied):
    proxied.upstream.may_go_on.clear()
    with proxied.client.stream("GET", f"{proxied.path}/chunks") as response:
        pieces = response.iter_raw()
        assert next(pieces) == b"first"
        proxied.upstream.may_go_on.set()
        assert b"".join(pieces) == b"second"


def test_truncated_response_is_truncated_for_the_client(proxied, caplog):
    with pytest.raises(httpx.RemoteProtocolError):
        proxied.client.get(f"{proxied.path}/half")
    assert caplog.records == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_body_of_any_size_is_forwarded(proxied, method):
    path = f"{proxied.path}/echo"
    response = proxied.client.request(method, path, content=PIECE * 200)
    assert response.json() == {"method": method, "size": len(PIECE) * 200}


def test_body_of_unknown_length_is_forwarded(proxied):
    pieces = iter([PIECE] * 20)
    response = proxied.client.post(f"{proxied.path}/echo", content=pieces)
    assert response.json()["size"] == len(PIECE) * 20


def test_forms_are_accepted_from_our_page_only(proxied):
    cookie = proxied.access.log_in(proxied.access.make_ticket())
    cookies = {proxied.access.cookie_name: cookie or ""}
    with httpx.Client(base_url=proxied.url, cookies=cookies) as browser:
        for site, status in (("same-origin", 200), ("same-site", 403), ("cross-site", 403)):
            headers = {"Sec-Fetch-Site": site}
            response = browser.post(f"{proxied.path}/echo", data={"a": "b"}, headers=headers)
            assert response.status_code == status
        assert browser.post(f"{proxied.path}/echo", data={"a": "b"}).status_code == 403
        page = browser.get(f"{proxied.path}/", headers={"Sec-Fetch-Site": "same-site"})
        assert page.status_code == 403


def test_response_before_the_body_was_read_is_returned(proxied):
    response = proxied.client.post(f"{proxied.path}/unread", content=b"x" * 1000)
    assert response.status_code == 413


def test_head_has_no_body_and_the_same_headers(proxied):
    response = proxied.client.head(f"{proxied.path}/")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == "31"


def test_secrets_are_not_forwarded(proxied):
    proxied.upstream.headers = {"Set_Cookie": "tb=1", "Access_Control_Allow_Origin": "*"}
    response = proxied.client.get(
        f"{proxied.path}/a%20b?run=%2Fx&run=y",
        headers={
            "Cookie": "runfold=1",
            "X-Runfold-Key": "mine",
            "Connection": "x-hop",
            "X-Hop": "1",
        },
    )
    assert not {"set-cookie", "access-control-allow-origin"} & set(response.headers)
    ((_, path, headers),) = proxied.upstream.seen
    assert path == f"{proxied.path}/a%20b?run=%2Fx&run=y"
    received = {name.lower(): value for name, value in headers.items()}
    assert not {"cookie", "authorization", "x-hop"} & set(received)
    assert received["x-runfold-key"] == proxied.instance.key
    assert received["host"] == f"127.0.0.1:{proxied.upstream.server_port}"


@pytest.mark.parametrize("location", ["there?x=1#y", "/proxy/ID/there?x=1#y", "ORIGIN/there?x=1#y"])
def test_redirect_within_an_instance_is_kept_without_its_host(proxied, location):
    origin = f"http://127.0.0.1:{proxied.upstream.server_port}{proxied.path}"
    target = location.replace("ORIGIN", origin).replace("/proxy/ID", proxied.path)
    proxied.upstream.headers = {"Location": target}
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
def test_rule_13_redirect_elsewhere_is_not_forwarded(proxied, location):
    proxied.upstream.headers = {"Location": location.replace("/proxy/ID", proxied.path)}
    response = proxied.client.get(f"{proxied.path}/")
    assert response.status_code == 503
    assert "location" not in response.headers


def test_rule_14_a_proxied_page_keeps_its_policy_and_stays_under_its_path(proxied):
    proxied.upstream.headers = {"Content_Security_Policy": "script-src 'self' 'unsafe-eval'"}
    response = proxied.client.get(f"{proxied.path}/")
    below = proxied.url.partition("//")[2] + proxied.path + "/"
    assert response.headers["content-security-policy"] == (
        "script-src 'self' 'unsafe-eval',"
        f" connect-src {below}; form-action {below}; base-uri {below}; frame-ancestors 'self'"
    )
    assert response.headers["x-frame-options"] == "SAMEORIGIN"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    proxied.upstream.headers = {}
    plain = proxied.client.get(f"{proxied.path}/").headers["content-security-policy"]
    assert plain.startswith("default-src 'self', connect-src")


def test_refused_request_is_not_forwarded_and_has_our_policy(proxied):
    for headers in (
        {"Authorization": "Bearer x"},
        {"Host": "evil.example; script-src *"},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        response = proxied.client.get(f"{proxied.path}/", headers=headers)
        assert response.status_code == 403
        assert response.headers["content-security-policy"] == CSP
    assert proxied.upstream.seen == []


def test_rule_14_a_path_cannot_change_the_policy(proxied):
    for id in ("x; script-src *", "0a'", "0A"):
        response = proxied.client.get(f"/proxy/{id}/")
        assert response.status_code == 404
        assert "script-src *" not in response.headers["content-security-policy"]


def test_many_concurrent_requests_do_not_block_the_page(proxied):
    async def send_many() -> set[int]:
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
            return {(await task).status_code for task in waiting}

    assert asyncio.run(send_many()) == {200}


def test_requests_beyond_the_limit_get_a_retry_after(tmp_path):
    assert Limits().proxied >= 200
    with proxying(tmp_path, proxied=1, seconds=0.2) as proxied, ThreadPoolExecutor(1) as pool:
        proxied.upstream.may_go_on.clear()
        first = pool.submit(proxied.client.get, f"{proxied.path}/chunks")
        until(lambda: proxied.upstream.seen)
        with httpx.Client(base_url=proxied.url, headers=proxied.client.headers) as client:
            second = client.get(f"{proxied.path}/")
            assert (second.status_code, second.headers["retry-after"]) == (429, "1")
            # Longer than the time limit for other requests.
            threading.Event().wait(0.5)
            proxied.upstream.may_go_on.set()
            assert first.result().content == b"firstsecond"
            assert client.get(f"{proxied.path}/").status_code == 200

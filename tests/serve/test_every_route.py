"""Every route is sent a bad host, origin, token and path, and leaks nothing."""

import re

import pytest
from helpers.filled_requests import filled_shapes
from helpers.logs import scalars, write
from helpers.serving import HOST, open_client, send_path
from starlette.routing import Route
from starlette.testclient import WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

from runfold._serve.app import gather_routes
from runfold._serve.http.limits import STREAM
from runfold._serve.http.security import CSP, HEADERS

ROUTES = [
    (method, re.sub(r"{.*?}", "x", route.path))
    for route in gather_routes()
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
]
FORBIDDEN = {"error": "Not allowed. Open the link printed by `runfold serve`, or send its token."}
JSON = {"Content-Type": "application/json"}

BAD_HOSTS = [
    *("evil.example", "evil.example:6006", "127.0.0.1.evil.example", "localhost.evil.example"),
    *("evil-localhost", "localhost@evil.example", "localhost:6006@evil.example", "localhost."),
    *("", "127.0.0.1:6006:80", "[::1", "[::1]evil", "::1", "0.0.0.0", "192.168.0.1", "[::]:80"),
    *("localhost:", "localhost:x", "localhost/evil", "local*", "2130706433", "127.1", "a b"),
]
GOOD_HOSTS = ["127.0.0.1:6006", "127.0.0.1", "localhost", "LocalHost:1", "[::1]:6006", "127.8.9.1"]
BAD_ORIGINS = ["http://evil.example", "null", "http://127.0.0.1:8888", "http://localhost:6006", ""]
TRAVERSALS = [
    *("../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "....//etc/passwd"),
    *("%2e%2e/%2e%2e/etc/passwd", "..\\..\\etc\\passwd", "file:///etc/passwd", "\0/etc/passwd"),
    *("%00", "%252e%252e%252fetc%252fpasswd", "C:\\secret.txt", "/proc/self/environ"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # where saved views are stored
        yield from serve(folder)


def serve(folder):
    (folder / "secret.txt").write_text("root:x:0:0")
    write(folder / "logs" / "a", scalars("loss", (0, 1.0)))
    with open_client(folder / "logs") as client:
        yield client


@pytest.fixture(params=ROUTES, ids=lambda route: " ".join(route))
def route(request):
    return request.param


def check_refused(response, method):
    assert response.status_code == 403
    assert method == "HEAD" or response.json() == FORBIDDEN
    assert not {name for name in response.headers if name.startswith("access-control")}


def test_rule_3_a_bad_host_is_refused_everywhere(client, route):
    method, path = route
    for host in BAD_HOSTS:
        check_refused(client.request(method, path, headers={"Host": host, **JSON}), method)


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_rule_3_loopback_addresses_and_localhost_are_hosts(client, host):
    assert client.get("/api/status", headers={"Host": host}).status_code == 200


def test_rule_4_a_bad_token_is_refused_everywhere(client, route):
    method, path = route
    good = client.headers["Authorization"]
    for bad in ["", "Bearer", "Bearer ", "Bearer x", good[:-1], good + "x", good[7:], "Basic eDp5"]:
        headers = {"Authorization": bad, "Cookie": f"runfold-6006={bad}", **JSON}
        check_refused(client.request(method, path, headers=headers), method)


def test_rule_9_and_12_a_foreign_origin_is_refused_everywhere(client, route):
    method, path = route
    for origin in BAD_ORIGINS:
        check_refused(client.request(method, path, headers={"Origin": origin, **JSON}), method)


def test_rule_10_a_cross_site_request_is_refused_everywhere_but_at_login(client, route):
    method, path = route
    response = client.request(method, path, headers={"Sec-Fetch-Site": "cross-site", **JSON})
    check_refused(response, method)


def test_rule_9_unsafe_methods_need_json(client, route):
    method, path = route
    if method in ("GET", "HEAD"):
        return
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]:
        headers = {"Content-Type": kind, "Origin": f"http://{HOST}"}
        assert client.request(method, path, content="{}", headers=headers).status_code == 415


def test_rules_8_14_and_15_every_response_has_security_headers(client, route):
    method, path = route
    if path == STREAM:
        return  # it does not end; test_server.py checks its headers
    headers = client.request(method, path, headers=JSON).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert headers["Content-Security-Policy"] == CSP
    assert not {name for name in headers if name.startswith("access-control")}
    if path.startswith("/api/") and path != "/api/blob":
        assert headers["Cache-Control"] == "no-store"


def check_nothing_leaked(status, body):
    assert status in (200, 303, 400, 403, 404, 405, 413, 503), body
    assert b"root:x:0:0" not in body
    assert b"PATH=" not in body


def test_rules_20_and_31_a_file_path_after_a_route_reaches_no_file(client, route):
    method, path = route
    for bad in TRAVERSALS:
        for address in {f"{path.rstrip('/')}/{bad}", path.replace("/x", f"/{bad}")} - {STREAM}:
            check_nothing_leaked(*send_path(client, method, address))


def test_rules_20_and_31_a_file_path_as_a_name_reaches_no_file(client, route):
    method, path = route
    for bad in TRAVERSALS:
        for content in filled_shapes(method, path, bad):
            headers = {} if "json" in content else JSON
            answer = client.request(method, path, headers=headers, **content)
            check_nothing_leaked(answer.status_code, answer.content)


def test_rule_13_redirects_lead_only_to_the_page(client, route):
    method, path = route
    for address in (f"{path}/", f"/{path}", f"/{path}/", f"{path}//evil.example"):
        answer = client.request(method, f"http://{HOST}{address}", headers=JSON)
        assert answer.headers.get("location", "/") == "/"


def test_rule_12_websockets_are_refused(client, route):
    with (
        pytest.raises((WebSocketDisconnect, WebSocketDenialResponse)),
        client.websocket_connect(route[1], headers={"Host": HOST}),
    ):
        pass

"""Login, cookies and origins: who gets access, and that secrets do not leak."""

import os
import stat

import pytest
from helpers.logs import scalars, write
from helpers.serving import HOST, open_client

from runfold._serve.http.access import Access, is_loopback
from runfold._serve.http.token_files import keep_secret

OWN = f"http://{HOST}"


@pytest.fixture
def access():
    return Access(port=6006)


@pytest.fixture
def client(tmp_path, access):
    """A client that has not logged in."""
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    client = open_client(tmp_path, access=access)
    del client.headers["Authorization"]
    return client


def test_rule_4_a_link_sets_a_cookie_once_and_redirects_to_a_clean_url(client, access):
    link = access.link
    response = client.get(link)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    assert client.get("/api/status").status_code == 200
    client.cookies.clear()
    assert client.get("/api/status").status_code == 403
    assert client.get(link).status_code == 403
    assert access.link != link
    assert client.get(access.link).status_code == 303


def test_rule_4_a_used_link_still_works_in_a_browser_that_is_logged_in(client, access):
    link = access.link
    client.get(link)
    assert client.get(link).status_code == 303


def test_rule_33_a_prefetch_does_not_use_up_a_link(client, access):
    link = access.link
    ahead = (
        {"Sec-Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"X-Moz": "prefetch"},
    )
    refused = [client.head(link), *(client.get(link, headers=headers) for headers in ahead)]
    assert {response.status_code for response in refused} == {403}
    assert not any(response.cookies for response in refused)
    assert access.link == link
    assert client.get(link).status_code == 303


def test_rule_5_each_login_has_its_own_cookie_and_the_oldest_expires(client, access):
    cookies = []
    for _ in range(101):
        client.cookies.clear()
        cookies.append(client.get(access.link).cookies["runfold-6006"])
    assert len(set(cookies)) == 101
    known = [access.knows_cookie(cookie, HOST) for cookie in cookies]
    assert known == [False, *[True] * 100]


def test_rule_4_a_new_link_is_announced_after_a_login(client, access):
    links = []
    access.on_login = lambda: links.append(access.link)
    client.get("/login?token=wrong")
    assert links == []
    client.get(access.link)
    assert links == [access.link]


def test_rule_4_secrets_have_256_bits_and_differ(access):
    secrets = {access.token, access.link.partition("=")[2], Access().token}
    assert len(secrets) == 3
    # 43 characters of 6 bits each; the last one is only partly used.
    assert {len(secret) for secret in secrets} == {43}


def test_rule_4_a_link_on_another_site_returns_a_page_that_refreshes(client, access):
    # Browsers would follow a redirect without the cookie, which is SameSite=Strict.
    response = client.get(access.link, headers={"Sec-Fetch-Site": "cross-site"})
    assert (response.status_code, response.headers["refresh"]) == (200, "0; url=/")
    assert "runfold-6006" in response.cookies


def test_rule_5_the_cookie_is_for_this_port_and_this_process_and_no_script(client, access):
    cookie = client.get(access.link).headers["set-cookie"]
    name, _, rest = cookie.partition("=")
    assert name == "runfold-6006"
    assert rest.partition("; ")[2] == "HttpOnly; Path=/; SameSite=strict"
    other = Access(port=6006)
    assert not other.knows_cookie(rest.partition(";")[0], HOST)


def test_rule_6_every_refusal_looks_the_same(client, access):
    refused = [
        client.get("/api/status"),
        client.get("/api/status", headers={"Host": "evil.example"}),
        client.get("/api/status", headers={"Authorization": "Bearer é".encode()}),
        client.get("/api/status", headers={"Cookie": "runfold-6006=x"}),
        client.get("/login?token=x"),
        client.get("/login"),
        client.get(access.link, headers={"Origin": "http://evil.example"}),
        client.get("/api/nowhere"),
        client.get("/nowhere"),
    ]
    assert {response.status_code for response in refused} == {403}
    assert len({(response.text, str(response.headers)) for response in refused}) == 1


def test_rule_7_secrets_are_in_no_error_header_or_repr(client, access):
    link = access.link
    secrets = [access.token, link.partition("=")[2]]
    texts = [repr(access)]
    for path in (f"{link}x", "/api/status", f"/api/runs?run={secrets[0]}"):
        response = client.get(path, headers={"Authorization": f"Bearer {secrets[0]}"})
        assert response.headers["referrer-policy"] == "no-referrer"
        texts.append(str(response.headers))
    assert not [text for text in texts for secret in secrets if secret in text]


def test_rule_7_a_token_file_is_private_and_removed_with_the_server(tmp_path, access):
    path = tmp_path / "token"
    path.write_text("an older one")
    os.chmod(path, 0o644)
    with keep_secret(path, access.token):
        assert path.read_text() == access.token
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert os.listdir(tmp_path) == ["token"]
    assert not path.exists()


def test_rule_7_a_token_file_does_not_follow_a_link(tmp_path, access):
    (tmp_path / "else").write_text("kept")
    (tmp_path / "token").symlink_to(tmp_path / "else")
    with keep_secret(tmp_path / "token", access.token):
        assert (tmp_path / "else").read_text() == "kept"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 405),
        ({"Sec-Fetch-Site": "none"}, 405),
        ({"Origin": OWN}, 405),
        ({}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": OWN}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_rule_9_a_browser_can_make_changes_from_our_page_only(client, access, headers, status):
    client.get(access.link)
    # An admitted request reaches a route that does not support its method.
    response = client.post("/api/status", json={}, headers=headers)
    assert response.status_code == status


def test_rule_9_a_program_with_the_token_needs_no_origin(client, access):
    headers = {"Authorization": f"Bearer {access.token}"}
    assert client.post("/api/status", json={}, headers=headers).status_code == 405


@pytest.mark.parametrize(("site", "status"), [("same-site", 403), ("same-origin", 200)])
def test_rule_10_data_is_for_our_own_page(client, access, site, status):
    client.get(access.link)
    assert client.get("/api/status", headers={"Sec-Fetch-Site": site}).status_code == status


def test_two_host_headers_are_refused(client, access):
    headers = [("Host", HOST), ("Host", HOST), ("Authorization", f"Bearer {access.token}")]
    assert client.get("/api/status", headers=headers).status_code == 403


def test_named_hosts_are_exact(tmp_path):
    access = Access(port=6006, hosts=frozenset({"gpu-box", "10.0.0.7"}))
    accepted = ["gpu-box", "GPU-Box:6006", "10.0.0.7:80", "localhost"]
    refused = ["gpu-box.evil.example", "gpu-bo", "10.0.0.70", "10.0.0.8", "xgpu-box"]
    assert [host for host in accepted + refused if access.answers_to(host)] == accepted


def test_without_login_only_the_token_is_not_required(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    client = open_client(tmp_path, access=Access(port=6006, has_login=False))
    del client.headers["Authorization"]
    assert client.get("/api/status").status_code == 200
    assert client.get("/login").status_code == 303
    assert client.get("/api/status", headers={"Host": "evil.example"}).status_code == 403
    assert client.post("/api/status", json={}).status_code == 403
    assert client.get("/api/status", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_loopback_is_this_machine_only():
    inside = ["127.0.0.1", "127.9.9.9", "::1"]
    outside = ["0.0.0.0", "::", "10.0.0.1", "localhost", "", "127.1", "fe80::1"]
    assert [address for address in inside + outside if is_loopback(address)] == inside

"""Encryption between two processes that know one certificate."""

import os
import socket
import ssl
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from runfold._serve.http.pinned_tls import (
    CannotEncrypt,
    make_client_context,
    make_server_context,
)


def connect(server: ssl.SSLContext, client: ssl.SSLContext) -> bytes:
    """Return what a client receives from a server."""
    near, far = socket.socketpair()

    def serve() -> None:
        with far:
            try:
                with server.wrap_socket(far, server_side=True) as encrypted:
                    encrypted.sendall(b"hello")
                    encrypted.unwrap()
            except OSError:
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with near, client.wrap_socket(near) as encrypted:
            assert encrypted.version() == "TLSv1.3"
            return encrypted.recv(100)
    finally:
        thread.join(60)


def test_only_the_known_certificate_is_accepted() -> None:
    (server, certificate), (other, other_certificate) = (make_server_context() for _ in range(2))
    assert certificate != other_certificate
    assert connect(server, make_client_context(certificate)) == b"hello"
    assert connect(other, make_client_context(other_certificate)) == b"hello"
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(other, make_client_context(certificate))


def test_the_private_key_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _, certificate = make_server_context()
    assert os.listdir(tmp_path) == []
    assert "PRIVATE" not in certificate


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(CannotEncrypt, match="pip install cryptography"):
        make_server_context()

"""Encrypted connections between two processes that know one certificate.

One side makes a certificate that nobody has signed, and the other side accepts exactly this
certificate. The name and the dates in it therefore mean nothing.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from datetime import UTC, datetime
from functools import lru_cache

from runfold.errors import RunfoldError

# Certificates of instances that a server talks to, and of some that have ended.
_REMEMBERED = 64
_DATES = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


class CannotEncrypt(RunfoldError):
    """A package for making certificates is missing."""


def make_server_context() -> tuple[ssl.SSLContext, str]:
    """Return the context of a server with a new private key, and its certificate as PEM.

    The private key is in no file when this function returns. Raises CannotEncrypt.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise CannotEncrypt(
            "Encrypting the connection to TensorBoard requires the package cryptography."
            " Run: pip install cryptography"
        ) from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "runfold")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # The clocks of two machines can differ, so the certificate is always valid.
        .not_valid_before(_DATES[0])
        .not_valid_after(_DATES[1])
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # Python loads a private key only from a file.
    handle, path = tempfile.mkstemp()
    try:
        with open(handle, "wb") as file:
            file.write(secret + certificate)
        context.load_cert_chain(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return context, certificate.decode()


@lru_cache(_REMEMBERED)
def make_client_context(certificate: str) -> ssl.SSLContext:
    """Return the context of a client that accepts only this certificate. Raises SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    return context

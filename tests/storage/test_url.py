"""URLs: the supported schemes, their drivers, and masked credentials."""

import pickle

import pytest

from runfold._storage import is_url
from runfold._storage.mirror import Mirror
from runfold._storage.store import explain
from runfold._storage.url import as_url, check_url, mask_url
from runfold.errors import CannotStore


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://bucket/prefix", True),
        ("file:///mnt/shared", True),
        ("runs", False),
        ("/runs/a:b", False),
        ("C:/runs", False),
        ("runs/s3://bucket", False),
    ],
)
def test_urls_and_paths_are_distinguished(path, expected):
    assert is_url(path) is expected


def test_an_unknown_scheme_lists_the_supported_schemes():
    with pytest.raises(CannotStore) as raised:
        check_url("sfpt://host/runs")
    message = str(raised.value)
    assert message.startswith("sfpt://host/runs: unknown scheme 'sfpt'. Supported: ")
    assert "s3://" in message
    assert "file://. Did you mean 'sftp'" in message
    assert isinstance(raised.value, OSError)


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [
        ("s3://bucket/runs", "s3fs", "s3"),
        ("gs://bucket/runs", "gcsfs", "gcs"),
        ("az://container/runs", "adlfs", "azure"),
        ("sftp://host/runs", "paramiko", "sftp"),
    ],
)
def test_a_missing_driver_error_says_what_to_install(monkeypatch, url, module, extra):
    monkeypatch.setattr("runfold._storage.url.find_spec", lambda name: None)
    with pytest.raises(CannotStore) as raised:
        check_url(url)
    assert f"pip install 'runfold[{extra}]'" in str(raised.value)
    assert module in str(raised.value)


@pytest.mark.parametrize("url", ["s3://", "s3:///"])
def test_a_url_without_a_bucket_is_rejected(url):
    with pytest.raises(CannotStore, match="the bucket or folder is missing"):
        as_url(url)


def test_a_bucket_with_a_password_is_rejected_before_a_driver_can_print_it():
    with pytest.raises(CannotStore, match="cannot contain a user or a password") as raised:
        as_url("s3://me:hush@bucket/runs")
    assert "hush" not in str(raised.value)


def test_containers_and_accounts_have_separate_copies(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("runfold._storage.url.find_spec", lambda _: True)
    first, other = (Mirror(f"abfs://{name}@account/runs").root for name in ("one", "other"))
    assert first != other
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "another")
    assert Mirror("abfs://one@account/runs").root != first
    assert "hush" not in Mirror("sftp://me:hush@host/runs").root


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sftp://me:hush@host/runs", "sftp://***@host/runs"),
        ("sftp://me:hu@sh@host/runs", "sftp://***@host/runs"),
        ("no route to 'https://k:s@host/a?sig=hush'.", "no route to 'https://***@host/a?***'."),
        ("s3://bucket/a@b", "s3://bucket/a@b"),
    ],
)
def test_credentials_are_not_shown(text, shown):
    assert mask_url(text) == shown
    assert explain(OSError(text)) == shown.rstrip(".")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError("b/bucket/o"), "not found (b/bucket/o)"),
        (FileNotFoundError("The bucket is gone."), "The bucket is gone"),
        (OSError("No such container.\nRequestId:1\nContent: <?xml?>"), "No such container"),
        (PermissionError(), "permission denied"),
        (ValueError("404"), "ValueError 404"),
    ],
)
def test_a_driver_error_is_explained_in_one_line(error, message):
    assert explain(error) == message


def test_a_message_about_a_url_has_no_password():
    with pytest.raises(CannotStore) as raised:
        check_url("stfp://me:hush@host/runs")
    assert "hush" not in str(raised.value)
    assert "stfp://***@host/runs" in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)

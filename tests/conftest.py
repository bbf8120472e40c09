"""Settings and fixtures for all tests. pyproject.toml turns warnings into errors."""

import signal

import pytest
from hypothesis import settings

# As plugins, these modules share their fixtures with all tests, and pytest explains their failed
# assertions.
pytest_plugins = ["helpers.eventfiles", "helpers.pages", "helpers.stores"]

# These tests need other packages and have their own pytest.ini; run `make test-frameworks`.
collect_ignore = ["frameworks"]

# Programs started with `&` in a shell script ignore SIGINT. Tests that send Ctrl-C would then
# wait forever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine, an example can be slow whatever the code does.
settings.register_profile("runfold", deadline=None)
settings.load_profile("runfold")


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory):
    """Use a temporary state folder, so that tests do not change the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def python_reads(monkeypatch):
    """Let Python code read all event files, so that a test can change its system calls."""
    from runfold._logdir import small_runs

    monkeypatch.setattr(small_runs, "read_small_files", lambda paths, *_: [None] * len(paths))

"""What holds for all tests. Warnings are errors by pyproject.toml."""

import signal

import pytest
from hypothesis import settings

# Named here, their fixtures are known to all tests, and their checks say what they compared.
pytest_plugins = ["helpers.eventfiles", "helpers.pages", "helpers.stores"]

# They need other packages, and have their own pytest.ini: `make test-frameworks`.
collect_ignore = ["frameworks"]

# A shell script ignores SIGINT for what it starts with `&`, and programs inherit that. Tests
# that send Ctrl-C would wait for nothing.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine makes an example slow; that says nothing about the code.
settings.register_profile("runfold", deadline=None)
settings.load_profile("runfold")


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory):
    """A state folder for all tests without one of their own: whoever runs them has the real one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield

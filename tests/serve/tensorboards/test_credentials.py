"""TensorBoards for a store whose credentials are known only to the process that starts them."""

import os
import signal

import pytest
from helpers.cli_runs import losses, write
from helpers.services import listed, logged_in, own_state, start, until_state, write_experiments

from runfold._storage import upload_folder


@pytest.fixture
def url(s3, tmp_path):
    """Yield the URL of a logdir in a store, while a service without credentials for it runs."""
    write(tmp_path / "there" / "seed-1", losses(3.0, 2.0))
    upload_folder(tmp_path / "there", f"{s3.url}/runs")
    with own_state(tmp_path), pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        start("one", "--logdir", write_experiments(tmp_path / "here", "one"))
        patch.undo()
        yield f"{s3.url}/runs"


def test_the_credentials_of_the_starting_user_are_kept_after_a_crash(url):
    id, link = start("--logdir", url)
    with logged_in(link) as client:
        assert client.get("data/runs").json() == ["seed-1"]
    os.kill(until_state(id, "RUNNING").pid, signal.SIGKILL)
    until_state(id, "RUNNING", restarts=1)
    assert "Restarted at" in listed()[id]["message"]

"""Embeddings in the tree of links: the projector reads a run's own files and no others."""

import os
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from helpers.boards import Child, serving, until

from runfold import SummaryWriter
from runfold._serve.tensorboards.instance_runs import Sources

KINDS = {
    "metadata": "metadata_path",
    "bookmarks": "bookmarks_path",
    "sprite_image": "sprite { image_path",
    "tensor": "tensor_path",
}


def configure(run: Path, name: str, path: str) -> None:
    """Add an embedding that uses one file for everything."""
    fields = [f'{field}: "{path}"{" }" * field.count("{")}' for field in KINDS.values()]
    with open(run / "projector_config.pbtxt", "a") as config:
        config.write(f'embeddings {{ tensor_name: "{name}" {" ".join(fields)} }}\n')


def fetch(child: Child, run: str, kind: str, name: str) -> tuple[int, bytes]:
    query = urlencode({"run": run, "name": name})
    return child.ask(f"/data/plugin/projector/{kind}?{query}", **{"X-Runfold-Key": child.key})


def test_projector_reads_files_of_the_run_and_none_outside(tmp_path: Path) -> None:
    run = tmp_path / "logs" / "a"
    with SummaryWriter(str(run)) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_embedding(np.ones((3, 2)), metadata=["x", "y", "z"], tag="good")
    secret = tmp_path / "secret.tsv"
    secret.write_text("7\t7\n")
    (run / "plugins").mkdir()
    (run / "plugins/folder").symlink_to(tmp_path)
    for link in ("link.tsv", "plugins/x", "other.tfevents"):
        (run / link).symlink_to(secret)
    os.mkfifo(run / "plugins/pipe")
    bad = {
        "up": "../../secret.tsv",
        "absolute": str(secret),
        "link": "link.tsv",
        "plugin": "plugins/x",
        "folder": "plugins/folder/secret.tsv",
        "event file": "other.tfevents",
        "pipe": "plugins/pipe",
    }
    for name, path in bad.items():
        configure(run, name, path)
    with serving(tmp_path / "state", Sources((str(tmp_path / "logs"),))) as child:
        until(lambda: child.read("/data/plugin/projector/runs"))
        info = child.read("/data/plugin/projector/info?run=a")["embeddings"]
        good = next(
            embedding["tensorName"] for embedding in info if "good" in embedding["tensorName"]
        )
        assert fetch(child, "a", "metadata", good) == (200, b"x\ny\nz\n")
        assert fetch(child, "a", "tensor", good) == (200, np.ones((3, 2), np.float32).tobytes())
        responses = {(name, kind): fetch(child, "a", kind, name) for name in bad for kind in KINDS}
        refusal = 'No file "{}" in the folder of this run.'
        assert responses == {
            (name, kind): (400, refusal.format(path).encode())
            for name, path in bad.items()
            for kind in KINDS
        }


@pytest.mark.parametrize("is_linked", [False, True])
def test_projector_reads_assets_of_every_kind(tmp_path: Path, is_linked: bool) -> None:
    run = tmp_path / ("elsewhere" if is_linked else "logs") / "a"
    with SummaryWriter(str(run)) as writer:
        writer.add_scalar("loss", 1.0, 0)
    if is_linked:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/a").symlink_to(run)
    (run / "plugins").mkdir()
    (run / "plugins/numbers.tsv").write_text("1\t2\n")
    (run / "same.tsv").symlink_to("plugins/numbers.tsv")
    paths = {"below": "plugins/numbers.tsv", "inner link": "same.tsv"}
    for name, path in paths.items():
        configure(run, name, path)
    with serving(tmp_path / "state", Sources((str(tmp_path / "logs"),))) as child:
        until(lambda: child.read("/data/plugin/projector/runs"))
        numbers = np.array([[1, 2]], np.float32).tobytes()
        for name in paths:
            responses = {kind: fetch(child, "a", kind, name) for kind in KINDS}
            assert responses == dict.fromkeys(KINDS, (200, b"1\t2\n")) | {"tensor": (200, numbers)}


@pytest.mark.parametrize("is_link", [False, True])
def test_projector_reads_no_file_of_a_folder_that_replaced_the_run(tmp_path: Path, is_link) -> None:
    run, outside = tmp_path / "logs" / "a", tmp_path / "outside"
    with SummaryWriter(str(run)) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_embedding(np.ones((2, 2)), metadata=["x", "y"], tag="good")
    with serving(tmp_path / "state", Sources((str(tmp_path / "logs"),))) as child:
        until(lambda: child.read("/data/plugin/projector/runs"))
        info = child.read("/data/plugin/projector/info?run=a")["embeddings"]
        name = info[0]["tensorName"]
        assert fetch(child, "a", "metadata", name) == (200, b"x\ny\n")
        secret = outside / info[0]["metadataPath"]
        secret.parent.mkdir(parents=True)
        secret.write_text("secret\nsecret\n")
        run.rename(tmp_path / "away")
        if is_link:
            run.symlink_to(outside)
        else:
            outside.rename(run)
        responses = []
        until(
            lambda: responses.append(fetch(child, "a", "metadata", name)) or responses[-1][0] != 200
        )
        assert [body for _, body in responses if b"secret" in body] == []

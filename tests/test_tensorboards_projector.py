"""Embeddings behind the tree of links: TensorBoard's projector has a run's own files, no others."""

from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from boards import serving, until

from runfold import SummaryWriter
from runfold.serve.tensorboards.sources import Sources


def test_projector_has_the_files_of_a_run_and_none_from_outside(tmp_path: Path) -> None:
    run = tmp_path / "logs" / "a"
    with SummaryWriter(str(run)) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_embedding(np.ones((3, 2)), metadata=["x", "y", "z"], tag="good")
    (run / "t.tsv").write_text("1\t1\n")
    (tmp_path / "secret.tsv").write_text("secret\n")
    (run / "link.tsv").symlink_to(tmp_path / "secret.tsv")
    with open(run / "projector_config.pbtxt", "a") as config:
        for name, path in (("up", "../../secret.tsv"), ("link", "link.tsv")):
            config.write(
                f'embeddings {{ tensor_name: "{name}" tensor_path: "t.tsv"'
                f' metadata_path: "{path}" }}\n'
            )
    with serving(tmp_path / "state", Sources((str(tmp_path / "logs"),))) as child:

        def ask(kind: str, name: str) -> tuple[int, bytes]:
            asked = urlencode({"run": "a", "name": name})
            path = f"/data/plugin/projector/{kind}?{asked}"
            return child.ask(path, **{"X-Runfold-Key": child.key})

        until(lambda: child.read("/data/plugin/projector/runs"))
        told = child.read("/data/plugin/projector/info?run=a")["embeddings"]
        good = next(one["tensorName"] for one in told if "good" in one["tensorName"])
        assert ask("metadata", good) == (200, b"x\ny\nz\n")
        assert ask("tensor", good) == (200, np.ones((3, 2), np.float32).tobytes())
        for bad in ("up", "link"):
            status, body = ask("metadata", bad)
            assert (status, b"secret\n" in body) == (400, False)

"""Values that only their plugin can read are listed, with their count and size."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.logs import scalars, values, write
from helpers.packs import pack
from helpers.serve_client import Client
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.types_pb2 import DT_VARIANT
from torch.utils.tensorboard import SummaryWriter

import runfold as rf
from runfold._cli import main
from runfold._events.value_encoding import metadata_only, tensor

SENTENCE = (
    "Not decoded: 3 values, {} B, from plugins that Runfold does not support: beholder, debugger."
)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Return a logdir with values that two plugins store as metadata, and a tag declaration."""
    strange = [metadata_only("frames", "beholder", bytes(100))] * 2
    write(
        tmp_path / "logs" / "a",
        values(*strange, metadata_only("state", "debugger", b"x")),
        values(metadata_only("loss", "scalars", b"")),
        scalars("loss", (0, 1.0)),
    )
    write(tmp_path / "logs" / "b", scalars("loss", (0, 1.0)))
    return tmp_path / "logs"


def size_of(logdir: Path) -> int:
    log = rf.open(logdir)._logdir.logs["a"]
    log.load()
    return sum(size for _, size in log.unknown.values())


@pytest.mark.parametrize("is_packed", [False, True])
def test_tags_of_unknown_plugins_are_listed(logdir: Path, is_packed: bool):
    runs = rf.open(pack(logdir) if is_packed else logdir)
    assert runs["a"].tags == {"scalar": ["loss"], "unknown": ["frames", "state"]}
    assert runs.tags == runs["a"].tags
    assert runs["b"].tags == {"scalar": ["loss"]}
    assert runs["a"].points == 1
    assert repr(runs["a"]).splitlines()[-1] == SENTENCE.format(size_of(logdir))
    assert 201 < size_of(logdir) < 400


def test_ls_and_check_report_values_that_were_not_decoded(logdir: Path, capsys):
    sentence = SENTENCE.format(size_of(logdir))
    assert main(["ls", str(logdir)]) == 0
    out, err = capsys.readouterr()
    assert "1 scalar, 2 unknown" in out
    assert sentence in err.splitlines()
    assert main(["ls", "--tags", str(logdir)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = {row[1]: row[2:] for row in rows if len(row) > 1}
    assert shown["frames"][:2] == ["unknown", "(beholder,"]
    assert shown["frames"][3:] == ["B)", "2", "-"]
    assert main(["ls", "--json", str(logdir)]) == 0
    first, second = json.loads(capsys.readouterr().out)["runs"]
    assert [(line["plugin"], line["tag"], line["values"]) for line in first["unknown"]] == [
        ("beholder", "frames", 2),
        ("debugger", "state", 1),
    ]
    assert second["unknown"] == []
    assert main(["check", str(logdir)]) == 0
    assert sentence in capsys.readouterr().err.splitlines()
    assert main(["check", "--json", str(logdir)]) == 0
    assert len(json.loads(capsys.readouterr().out)["unknown"]) == 2


def test_show_explains_why_it_cannot_show_them(logdir: Path, capsys):
    assert main(["show", str(logdir), "a", "state"]) == 2
    assert (
        "Tag 'state' in run 'a' cannot be shown. Not decoded: 1 value," in capsys.readouterr().err
    )


def test_page_lists_them(logdir: Path):
    found = Client(logdir).get("/api/status")
    assert found["kinds"] == {"scalar": 1, "unknown": 2}
    totals = [(line["plugin"], line["tags"], line["values"]) for line in found["plugins"]]
    assert totals == [("beholder", 1, 2), ("debugger", 1, 1)]
    assert sum(line["size"] for line in found["plugins"]) == size_of(logdir)


def test_export_reports_that_they_are_left_out(logdir: Path, tmp_path: Path):
    done = rf.open(logdir).export(f"{tmp_path}/out/")
    assert "Values from plugins that Runfold does not support were not written." in done.notes


@pytest.fixture
def tensors(tmp_path: Path) -> Path:
    """Return a logdir with five tensors of 1 kB each, from an unknown plugin."""
    array = np.array([bytes(1000)], object)
    named = tensor("state", array, "my_plugin")
    write(tmp_path / "logs" / "a", *(values(named, step=step) for step in range(5)))
    return tmp_path / "logs"


def variant(tag: str) -> bytes:
    value = Summary.Value(tag=tag)
    value.metadata.plugin_data.plugin_name = "my_plugin"
    value.tensor.dtype = DT_VARIANT
    return value.SerializeToString()


TENSORS = (
    "Listed as tensors: 5 values, 5.2 kB, from plugins that Runfold does not support: my_plugin."
)


@pytest.mark.parametrize("is_packed", [False, True])
def test_tensors_of_unknown_plugins_are_listed_with_plugin_and_size(
    tensors: Path, is_packed: bool, capsys
):
    logdir = str(pack(tensors) if is_packed else tensors)
    assert main(["ls", logdir]) == 0
    out, err = capsys.readouterr()
    assert "1 tensor" in out
    assert TENSORS in err.splitlines()
    assert main(["ls", "--tags", logdir]) == 0
    assert "  tensor (my_plugin, 5.2 kB)  " in capsys.readouterr().out
    assert main(["ls", "--json", logdir]) == 0
    (tag,) = json.loads(capsys.readouterr().out)["runs"][0]["tags"]
    assert (tag["kind"], tag["plugin"], tag["size"] // 100) == ("tensor", "my_plugin", 51)
    assert main(["check", logdir]) == 0
    assert TENSORS in capsys.readouterr().err.splitlines()
    assert main(["show", logdir, "state"]) == 0
    assert TENSORS in capsys.readouterr().err.splitlines()
    shown = repr(rf.open(logdir)["a"]).splitlines()
    assert "tensor (my_plugin, 5.2 kB)" in shown[2]
    assert shown[-1] == TENSORS
    assert len(rf.open(logdir).tensors()) == 5


def test_tensors_without_an_array_form_are_not_a_problem(tmp_path: Path, capsys):
    write(tmp_path / "a", values(variant("state")), values(variant("state")))
    size = 2 * len(variant("state"))
    sentence = (
        f"Not decoded: 2 values, {size} B, from plugins that Runfold does not support: my_plugin."
    )
    assert main(["check", str(tmp_path)]) == 0
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("No problems in 1 event file")
    assert err[1:] == [sentence]
    assert main(["check", "--strict", "--json", str(tmp_path)]) == 0
    (line,) = json.loads(capsys.readouterr().out)["unknown"]
    assert line["plugin"] == "my_plugin"
    assert line["values"] == 2
    assert main(["show", str(tmp_path), "state"]) == 0
    assert sentence in capsys.readouterr().err.splitlines()
    runs = rf.open(tmp_path)
    assert runs.tensors().empty
    assert runs.tensors().empty
    assert runs.problems().empty
    assert runs.tags == {"tensor": ["state"], "unknown": ["state"]}


def test_broken_tensors_of_unknown_plugins_are_problems(tmp_path: Path, capsys):
    broken = Summary.Value.FromString(tensor("state", np.float32([1, 2]), "my_plugin"))
    broken.tensor.tensor_shape.dim[0].size = 3
    broken.tensor.tensor_content = bytes(8)
    write(tmp_path / "a", values(broken.SerializeToString()))
    assert main(["check", str(tmp_path)]) == 1
    assert "tag 'state'" in capsys.readouterr().out


def test_tensors_without_a_plugin_show_no_plugin(tmp_path: Path, capsys):
    import torch

    with SummaryWriter(tmp_path / "torch") as writer:
        writer.add_tensor("t", torch.zeros(3))
    with rf.SummaryWriter(tmp_path / "runfold") as writer:
        writer.add_tensor("t", np.zeros(3))
    assert main(["ls", "--tags", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "(" not in out
    assert "plugin" not in err

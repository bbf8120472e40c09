"""add_embedding: torch's files, byte for byte, without torch's data loss."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from runfold import SummaryWriter
from runfold._files import Untrusted
from runfold.errors import CannotLog

POINTS = torch.linspace(-1, 1, 15).reshape(5, 3)
LABELS = ["a", "b", "ü", "", "e"]
ROWS = [[name, number] for number, name in enumerate(LABELS)]
generator = torch.Generator().manual_seed(1)
IMAGES = torch.rand(5, 3, 4, 6, generator=generator) * 1.2 - 0.1
CALLS = [
    {"mat": POINTS},
    {"mat": POINTS.to(torch.float64).numpy(), "metadata": LABELS, "global_step": 7},
    {"mat": POINTS, "metadata": ROWS, "metadata_header": ["name", "number"], "tag": "a/b\\c%"},
    {"mat": POINTS, "metadata": list(range(5)), "label_img": IMAGES, "tag": "seen"},
    {"mat": POINTS, "label_img": IMAGES[:, :1], "global_step": 123456, "tag": "gray"},
]


def files(folder):
    """Return the bytes of every file except the event file, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "tfevents" not in path.name
    }


@pytest.mark.parametrize("calls", [CALLS, *([call] for call in CALLS)])
def test_every_file_is_the_same_as_torchs(calls, tmp_path):
    for name, writer in {"torch": TorchWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            for call in calls:
                log.add_embedding(**call)
    ours = files(tmp_path / "ours")
    assert len(ours) > len(calls)
    assert ours == files(tmp_path / "torch")


def test_runfold_reads_the_same_from_both(tmp_path):
    for name, writer in {"torch": TorchWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            log.add_scalar("loss", 0.5, 1)
            for call in CALLS:
                log.add_embedding(**call)
    table = rf.open(tmp_path).embeddings()
    theirs, ours = (table[table["run"] == name]["embedding"].tolist() for name in ("torch", "ours"))
    assert [embedding.name for embedding in ours] == [embedding.name for embedding in theirs]
    for call, a, b in zip(CALLS, ours, theirs, strict=True):
        assert np.array_equal(a.tensor(), POINTS.numpy())
        assert np.array_equal(a.tensor(), b.tensor())
        if "metadata" in call:
            columns = {name: column.tolist() for name, column in a.metadata().items()}
            assert columns == {name: column.tolist() for name, column in b.metadata().items()}
        if "label_img" in call:
            assert a.sprite() == b.sprite()
    assert rf.open(tmp_path).problems().empty


def test_another_writer_adds_to_the_configuration(tmp_path):
    for tag in ("first", "second"):
        with SummaryWriter(tmp_path) as writer:
            writer.add_embedding(POINTS, tag=tag)
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(POINTS * 2, LABELS, tag="first")
    second, first = rf.open(tmp_path).embeddings()["embedding"]
    assert (second.name, first.name) == ("second:00000", "first:00000")
    assert np.array_equal(first.tensor(), 2 * POINTS.numpy())
    assert first.metadata()["label"].tolist() == LABELS


def test_an_invalid_configuration_is_left_unchanged(tmp_path):
    config = tmp_path / "projector_config.pbtxt"
    config.write_text("embeddings { what: ")
    with (
        SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(CannotLog, match="does not parse"),
    ):
        writer.add_embedding(POINTS)
    assert files(tmp_path) == {config.name: b"embeddings { what: "}


@pytest.mark.parametrize("tag", [".", "..", "../../x", "x\ny"])
def test_no_tag_escapes_the_runs_folder(tag, tmp_path):
    run = tmp_path / "run"
    with SummaryWriter(run) as writer:
        writer.add_embedding(POINTS, tag=tag)
    (found,) = run.rglob("tensors.tsv")
    assert found.parent.parent == run / "00000"
    assert np.array_equal(rf.open(run).embeddings()["embedding"][0].tensor(), POINTS.numpy())


def test_labels_cannot_break_their_table(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(POINTS[:2], ["a\tb", "c\nd"], tag="one")
        writer.add_embedding(POINTS[:2], [["a"], ["b"]], tag="column", metadata_header=["name"])
        writer.add_embedding(POINTS[:2], torch.tensor([3, 4]), tag="tensor")
    read = [
        embedding.metadata()["label"].tolist()
        for embedding in rf.open(tmp_path).embeddings()["embedding"]
    ]
    assert read == [["a b", "c d"], ["a", "b"], ["3", "4"]]


@pytest.mark.parametrize("shape", [(1, 1), (4, 6), (6, 4), (7, 2)])
def test_uint8_images_are_in_the_sprite_where_the_page_expects_them(shape, tmp_path):
    height, width = shape
    pictures = np.random.default_rng(1).integers(0, 256, (5, 3, height, width), np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(POINTS, label_img=pictures)
    (embedding,) = rf.open(tmp_path).embeddings()["embedding"]
    sprite = np.asarray(Image.open(io.BytesIO(embedding.sprite())))
    assert embedding.sprite_size == (width, height)
    for index, picture in enumerate(pictures):
        top, left = index // 3 * height, index % 3 * width
        shown = sprite[top : top + height, left : left + width]
        assert np.array_equal(shown, picture.transpose(1, 2, 0))


@pytest.mark.parametrize("step", ["last", "../../last", "epoch/3"])
def test_a_step_that_is_a_str_names_a_folder_in_the_run(tmp_path, step):
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_embedding(POINTS, global_step=step)
    (embedding,) = rf.open(tmp_path / "run").embeddings()["embedding"]
    np.testing.assert_allclose(embedding.tensor(), POINTS, rtol=1e-6)
    assert embedding.name == f"default:{step.zfill(5)}"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_empty_tag_uses_the_folder_of_its_step(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(POINTS, ["a", "b", "c", "d", "e"], tag="")
    (embedding,) = rf.open(tmp_path).embeddings()["embedding"]
    assert (embedding.name, embedding.tensor_path) == (":00000", "00000/tensors.tsv")
    assert embedding.metadata()["label"].tolist() == ["a", "b", "c", "d", "e"]


def test_label_rows_can_be_shorter_or_longer_than_the_header_as_in_torch(tmp_path):
    rows = [["a", 1], ["b"], ["c", 3, 4], ["d", 4], "ef"]
    for name, kind in {"torch": TorchWriter, "ours": SummaryWriter}.items():
        with kind(str(tmp_path / name)) as writer:
            writer.add_embedding(POINTS, rows, metadata_header=["x", "y"])
    ours, theirs = (
        (tmp_path / name / "00000/default/metadata.tsv").read_text() for name in ("ours", "torch")
    )
    assert ours == theirs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mat": POINTS[0]}, r"'t': mat .*\(points, dimensions\).* shape \(3,\)"),
        ({"mat": "x"}, "'t': mat cannot be str"),
        ({"metadata": LABELS[:2]}, "'t': metadata .*2 labels for 5 points"),
        ({"metadata": 5}, "'t': metadata .*expected a list"),
        ({"metadata": ROWS, "metadata_header": ["a"]}, "'t': metadata_header .*1 columns.* 2"),
        ({"label_img": IMAGES[:2]}, "'t': label_img .*2 images for 5 points"),
        ({"label_img": IMAGES[0]}, r"'t': label_img .*shape \(3, 4, 6\)"),
        ({"global_step": [1, 2]}, "'t': global_step"),
        ({"tag": "a\0b"}, r"tag cannot be .*a folder name cannot contain NUL"),
        ({"tag": 3}, r"tag cannot be int 3: expected a str"),
    ],
)
def test_invalid_input_raises_with_tag_and_argument_and_writes_nothing(
    arguments, message, tmp_path
):
    with (
        SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(CannotLog, match=message),
    ):
        writer.add_embedding(**({"mat": POINTS, "tag": "t"} | arguments))
    assert files(tmp_path) == {}


def test_a_folder_that_cannot_be_written_raises_or_warns(tmp_path):
    (tmp_path / "00000").write_text("in the way")
    with SummaryWriter(tmp_path, on_error="raise") as writer, pytest.raises(Untrusted):
        writer.add_embedding(POINTS)
    with SummaryWriter(tmp_path, on_error="warn") as writer:
        with pytest.warns(UserWarning, match="The embedding 'default' was not logged"):
            writer.add_embedding(POINTS)
        writer.add_scalar("loss", 0.5, 1)
    assert rf.open(tmp_path).tags == {"scalar": ["loss"]}
    assert Path(tmp_path, "00000").read_text() == "in the way"


def test_a_sprite_that_is_too_large_causes_a_warning(tmp_path):
    warns = pytest.warns(UserWarning, match="'t': label_img makes a sprite of 9000 x 9000 pixels")
    with SummaryWriter(tmp_path) as writer, warns:
        writer.add_embedding([[1.0]], label_img=np.zeros((1, 1, 1, 9000)), tag="t")


def test_a_silent_writer_writes_no_files(tmp_path):
    with SummaryWriter(tmp_path / "run", write_to_disk=False) as writer:
        writer.add_embedding(POINTS, LABELS, IMAGES)
    assert not (tmp_path / "run").exists()

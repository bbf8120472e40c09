"""Images with boxes: drawn for TensorBoard, and read back as data with the plain image."""

import json

import numpy as np
import pytest
import torch
from helpers.media import both, picture, read
from helpers.tensorboard_readers import READERS, page, provider
from tensorboard import context
from tensorboard.data.provider import RunTagFilter
from tensorboard.plugins.image.images_plugin import ImagesPlugin
from torch import from_numpy

import runfold as rf
from runfold._cli import main
from runfold.errors import CannotLog

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (3, 120, 160)).astype(np.uint8)
HWC = PIXELS.transpose(1, 2, 0)
BOXES = np.array([[10, 40, 70, 100], [60.5, 50, 150, 110]], np.float32)
LABELS = ["cat", "dog"]
MASKS = np.zeros((2, 120, 160), bool)
MASKS[0, 50:90, 20:60] = True
MASKS[1, 60:, 70:] = RNG.random((60, 90)) > 0.5


def logged(folder, *values, **options):
    with rf.SummaryWriter(folder) as writer:
        writer.add_image_with_boxes("p", *values, **options)
    (row,) = rf.open(folder).boxes().itertuples()
    return row


def test_boxes_are_read_back_as_data_with_the_image_below(tmp_path):
    row = logged(
        tmp_path,
        torch.tensor(PIXELS),
        torch.tensor(BOXES),
        5,
        6.0,
        labels=LABELS,
        scores=torch.tensor([0.75, 0.5]),
        colors=["red", (0, 0, 255)],
        masks=torch.tensor(MASKS)[:, None].float(),
    )
    assert (row.run, row.tag, row.step, row.wall_time) == (".", "p", 5, 6.0)
    np.testing.assert_array_equal(row.boxes, BOXES)
    assert (row.labels, row.colors) == (("cat", "dog"), ("#ff0000", "#0000ff"))
    assert row.scores.tolist() == [0.75, 0.5]
    np.testing.assert_array_equal([mask.numpy() for mask in row.masks], MASKS)
    assert (row.image.width, row.image.height) == (160, 120)
    np.testing.assert_array_equal(row.image.numpy(), HWC)


def test_the_drawn_image_only_adds_boxes_captions_and_masks(tmp_path):
    logged(tmp_path, PIXELS, BOXES, labels=LABELS, colors=["red", "blue"], masks=MASKS)
    height, width, channels, drawn = picture(read(tmp_path))
    assert (height, width, channels) == (120, 160, 3)
    assert drawn[100, 10:70].tolist() == [[255, 0, 0]] * 60
    assert drawn[60:110, 150].tolist() == [[0, 0, 255]] * 50
    assert (drawn[30:40, 10:12] == [255, 0, 0]).all()  # the tab on the first box
    changed = (drawn != HWC).any(axis=2)
    blended = np.rint(0.55 * HWC[70, 30] + 0.45 * np.array([255, 0, 0]))
    np.testing.assert_array_equal(drawn[70, 30], blended)
    assert not changed[:20].any()
    assert not changed[111:, :69].any()


@pytest.mark.parametrize("rescale", [1, 0.5, 1.7])
@pytest.mark.parametrize("boxes", [np.zeros((0, 4)), np.zeros(0)])
def test_without_boxes_the_pixels_are_the_same_as_in_torch(tmp_path, rescale, boxes):
    def write(writer):
        empty = boxes.reshape(-1, 4)
        writer.add_image_with_boxes("p", PIXELS, empty, 1, 2.0, rescale)

    ours, theirs = (picture(log) for log in both(tmp_path, write))
    np.testing.assert_array_equal(ours[3], theirs[3])
    assert ours[:2] == ours[3].shape[:2]  # torch stores the size before rescaling
    row = logged(tmp_path / "b", PIXELS, boxes, rescale=rescale, labels=[], masks=MASKS[:0])
    assert (row.boxes.shape, row.labels, row.masks) == ((0, 4), (), ())


def test_boxes_and_masks_keep_their_coordinates_when_the_image_is_rescaled(tmp_path):
    row = logged(tmp_path, PIXELS, BOXES, rescale=2, colors="lime", masks=MASKS)
    np.testing.assert_array_equal(row.boxes, BOXES)
    np.testing.assert_array_equal(row.masks[1].numpy(), MASKS[1])
    assert (row.image.width, row.image.height) == (320, 240)
    _, _, _, drawn = picture(read(tmp_path))
    assert drawn[200, 20:140].tolist() == [[0, 255, 0]] * 120


@pytest.mark.parametrize("axes", ["HW", "CHW"])
def test_boxes_can_be_drawn_on_gray_and_transparent_images(tmp_path, axes):
    image = RNG.random((50, 60)) if axes == "HW" else RNG.random((4, 50, 60))
    row = logged(tmp_path / "a", image, BOXES[0], dataformats=axes, labels="one")
    with rf.SummaryWriter(tmp_path / "b") as writer:
        writer.add_image("p", image, dataformats=axes)
    np.testing.assert_array_equal(row.image.numpy(), picture(read(tmp_path / "b"))[3])


def test_every_label_has_its_own_color(tmp_path):
    labels = ["cat", "dog", "person", "car", "cat", *range(5), torch.tensor(3)]
    boxes = np.tile(BOXES[0], (len(labels), 1))
    first = logged(tmp_path / "a", PIXELS, boxes, labels=labels)
    again = logged(tmp_path / "b", PIXELS, boxes[::-1], labels=labels[::-1])
    colors = dict(zip(first.labels, first.colors, strict=True))
    assert len(set(colors.values())) == len(colors) == 9
    assert again.colors == first.colors[::-1]
    colored = logged(tmp_path / "c", PIXELS, boxes, labels=labels, colors={"cat": (0.0, 1.0, 0.5)})
    assert colored.colors[0] == colored.colors[4] == "#00ff80"
    assert colored.colors[1] == first.colors[1]


def test_boxes_outside_the_image_are_clipped(tmp_path):
    wild = [[70, 100, 10, 40], [-1e300, -5, 1e300, 1e9], [500, 500, 600, 600], [5, 5, 5, 5]]
    names = ["x" * 5000, "line\nbreak", "猫 \ud800", ""]
    row = logged(tmp_path, PIXELS, np.array(wild), labels=names, scores=[1, np.nan, -2, 1e9])
    assert row.boxes.tolist() == wild
    assert row.labels == ("x" * 5000, "line\nbreak", "猫 \\ud800", "")
    np.testing.assert_array_equal(row.scores, [1, np.nan, -2, 1e9])
    tiny = logged(tmp_path / "tiny", np.zeros((3, 1, 1)), BOXES, labels=LABELS)
    assert tiny.image.numpy().tolist() == [[[0, 0, 0]]]


@pytest.mark.parametrize("reader", READERS)
def test_real_tensorboard_shows_the_drawn_image_and_ignores_the_data(tmp_path, reader):
    logged(tmp_path, PIXELS, BOXES, labels=LABELS, masks=MASKS)
    with provider(reader, tmp_path) as source:
        images = page(ImagesPlugin, source)
        index = images._index_impl(context.RequestContext(), "")
        assert list(index["."]) == ["p"]
        found = source.read_blob_sequences(
            context.RequestContext(),
            experiment_id="",
            plugin_name="images",
            downsample=10,
            run_tag_filter=RunTagFilter(runs=["."], tags=["p"]),
        )["."]["p"]
        key = found[0].values[2].blob_key
        data = source.read_blob(context.RequestContext(), blob_key=key)
    assert data == read(tmp_path).Images("p")[0].encoded_image_string


REFUSED = [
    ({"box_tensor": np.zeros((2, 3))}, r"box_tensor.*shape is \(2, 3\)"),
    ({"box_tensor": "boxes"}, "box_tensor"),
    ({"labels": 5}, "labels"),
    ({"scores": [0.5]}, "scores.*2 boxes"),
    ({"masks": MASKS[:1]}, r"masks.*\(1, 120, 160\); expected \(2, 120, 160\)"),
    ({"masks": MASKS[:, :5]}, "masks"),
    ({"colors": ["red"]}, "colors.*2 boxes"),
    ({"colors": "reddish"}, "colors cannot be str 'reddish'"),
    ({"colors": [(0, 0, 256)] * 2}, "colors"),
    ({"colors": 5}, "colors"),
    ({"rescale": 0}, "rescale cannot be int 0"),
    ({"rescale": float("inf")}, "rescale"),
    ({"img_tensor": np.zeros(3)}, "img_tensor"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_an_invalid_argument_raises_by_name(tmp_path, options, words):
    given = {"img_tensor": PIXELS, "box_tensor": BOXES} | options
    with (
        rf.SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(CannotLog, match=f"Tag 'p': {words}"),
    ):
        writer.add_image_with_boxes("p", **given)
    assert rf.open(tmp_path).boxes().empty


def test_a_wrong_number_of_labels_warns_and_they_are_left_out(tmp_path):
    with pytest.warns(UserWarning, match="Tag 'p': labels has 1 labels for 2 boxes"):
        row = logged(tmp_path, PIXELS, BOXES, labels="cat")
    assert row.labels is None


def test_further_columns_of_boxes_are_ignored(tmp_path):
    wide = np.concatenate([BOXES, [[0.9, 1], [0.8, 2]]], axis=1)
    row = logged(tmp_path, PIXELS, wide, labels=LABELS)
    np.testing.assert_array_equal(row.boxes, BOXES)


def test_non_finite_boxes_are_left_out_with_their_labels_and_masks(tmp_path):
    places = np.array([BOXES[0], [0, 0, np.nan, 1], BOXES[1], [np.inf, 0, 1, 1]])
    with pytest.warns(
        UserWarning, match="Tag 'p': box_tensor contains boxes with .* corner; 2 of 4 were left out"
    ):
        row = logged(
            tmp_path,
            PIXELS,
            places,
            labels=["cat", "x", "dog", "y"],
            scores=[0.75, 0, 0.5, 0],
            colors=["red", "lime", "blue", "lime"],
            masks=MASKS[[0, 0, 1, 1]],
        )
    np.testing.assert_array_equal(row.boxes, BOXES)
    assert (row.labels, row.colors) == (("cat", "dog"), ("#ff0000", "#0000ff"))
    assert row.scores.tolist() == [0.75, 0.5]
    np.testing.assert_array_equal([mask.numpy() for mask in row.masks], MASKS)


def test_colored_boxes_can_be_drawn_on_gray_with_alpha(tmp_path):
    row = logged(tmp_path, PIXELS[:2], BOXES, colors="red")
    np.testing.assert_array_equal(row.image.numpy(), HWC[:, :, [0, 0, 0, 1]])
    assert picture(read(tmp_path))[3][100, 10, :3].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("rest", "options"),
    [
        ((None, 1, "HWC", LABELS), {}),
        ((None, "HWC", LABELS), {}),
        ((None, "hwc", tuple(LABELS)), {}),
        ((None, "HWC"), {"labels": LABELS}),
    ],
)
def test_arguments_can_be_in_the_order_of_torch_or_tensorboardx(tmp_path, rest, options):
    row = logged(tmp_path, HWC, BOXES, 5, *rest, **options)
    assert (row.step, row.labels) == (5, tuple(LABELS))
    np.testing.assert_array_equal(row.image.numpy(), HWC)


def test_labels_can_be_none_in_the_order_of_tensorboardx(tmp_path):
    assert logged(tmp_path, HWC, BOXES, 5, None, "HWC", None).labels is None


def test_steps_and_tags_keep_their_own_boxes(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer:
        for step in range(3):
            for tag in ("val", "train/p"):
                picture_now = np.roll(PIXELS, step, axis=2)
                writer.add_image_with_boxes(tag, picture_now, from_numpy(BOXES) + step, step)
    table = rf.open(tmp_path).boxes("train/*")
    assert table["tag"].tolist() == ["train/p"] * 3
    for row in table.itertuples():
        np.testing.assert_array_equal(row.boxes, BOXES + row.step)
        np.testing.assert_array_equal(row.image.numpy(), np.roll(HWC, row.step, axis=1))
    assert len(rf.open(tmp_path).images()) == 6


def test_boxes_are_shown_listed_and_checked_on_the_command_line(tmp_path, capsys):
    logged(tmp_path, PIXELS, BOXES, 5, labels=LABELS, scores=[0.75, 0.5], masks=MASKS)
    tag = "runfold/boxes/p"
    assert main(["show", str(tmp_path), ".", tag]) == 0
    shown = capsys.readouterr().out
    assert "2 boxes with masks on 160 x 120 pixels" in shown
    assert "dog    0.500  60.5  50  150  110" in shown
    assert main(["show", str(tmp_path), ".", tag, "--json"]) == 0
    (value,) = json.loads(capsys.readouterr().out)["values"]
    assert value["value"]["labels"] == LABELS
    assert main(["check", str(tmp_path)]) == 0


def log_images(folder, *steps, boxless=(), **options):
    with rf.SummaryWriter(folder, **options) as writer:
        for step in steps:
            writer.add_image_with_boxes("p", PIXELS, BOXES, step, float(step))
        for step in boxless:
            writer.add_image("p", PIXELS, step, float(step))


@pytest.mark.parametrize("restarts", ["session", "step", "keep"])
def test_boxes_are_hidden_with_their_image(tmp_path, restarts):
    log_images(tmp_path, 1, 2, 3)
    log_images(tmp_path, 2, purge_step=2)
    runs = rf.open(tmp_path, restarts=restarts)
    assert runs.boxes()["step"].tolist() == runs.images()["step"].tolist()
    assert runs.boxes()["step"].tolist() == ([1, 2, 3, 2] if restarts == "keep" else [1, 2])
    assert runs.hidden == (0 if restarts == "keep" else 4)


def test_boxes_are_hidden_if_only_the_image_was_logged_again(tmp_path):
    log_images(tmp_path, 1, 2, 3)
    log_images(tmp_path, boxless=[2, 4])
    runs = rf.open(tmp_path, restarts="step")
    assert runs.images()["step"].tolist() == [1, 2, 4]
    assert runs.boxes()["step"].tolist() == [1]


def test_boxes_survive_a_restart_with_their_image(tmp_path):
    log_images(tmp_path, 4, boxless=[5])
    log_images(tmp_path, 6, purge_step=5)
    found = rf.open(tmp_path).boxes()
    assert found["step"].tolist() == [4, 6]
    assert all(image is not None for image in found["image"])

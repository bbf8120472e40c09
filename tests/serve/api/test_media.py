"""Images, clips and text over HTTP: listed without their bytes, and sent as stored."""

import json
import struct

import numpy as np
import pytest
from helpers.cli_runs import png
from helpers.logs import scalars, values, write
from helpers.png_head import png_head
from helpers.serving import open_client

import runfold as rf
from runfold._events import value_encoding as encode
from runfold._serve.api import blobs, images, texts

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
HTML = b"<!doctype html><script>alert(1)</script>"
WAV = (
    b"RIFF"
    + struct.pack("<I", 40)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
)
WAV += b"data" + struct.pack("<I", 4) + b"\0\1\2\3"


def fetch_json(client, path, **query):
    response = client.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def fetch_blob(client, entry, kind="image", **more):
    query = {"kind": kind, "row": entry["blob"]}
    query |= {key: entry[key] for key in ("run", "tag", "index")}
    return client.get("/api/blob", params=query | more)


@pytest.fixture
def client(tmp_path):
    write(
        tmp_path / "a",
        values(encode.image("pic", 2, 4, 3, png(4, 2)), step=1),
        values(encode.image_tensor("pic", 4, 2, [png(4, 2), SVG, HTML]), step=2),
        values(encode.audio("beep", 8000, 1, 2, WAV), encode.audio_tensor("beep", [WAV], ["hi"])),
        values(encode.text("note", "plain"), encode.text("note", [["a", "b"], ["c", "d"]])),
    )
    write(tmp_path / "b", values(encode.image("pic", 40_000, 25_000, 3, png_head(25_000, 40_000))))
    write(tmp_path / "c", scalars("loss", (0, 1.0)))
    return open_client(tmp_path)


def test_images_are_listed_without_their_bytes(client):
    listed = fetch_json(client, "/api/images", tag="pic")
    shown = [
        (image["run"], image["step"], image["index"], image["width"]) for image in listed["images"]
    ]
    assert shown == [
        ("a", 1, 0, 4),
        ("a", 2, 0, 4),
        ("a", 2, 1, 4),
        ("a", 2, 2, 4),
        ("b", 0, 0, 25_000),
    ]
    assert listed["leftOut"] == 0
    assert set(listed["images"][0]) == {
        *("run", "tag", "step", "wallTime", "index", "width", "height", "blob")
    }
    only = fetch_json(client, "/api/images", tag="pic", run=["b"])
    assert [image["run"] for image in only["images"]] == ["b"]


def test_an_image_is_returned_as_stored_and_not_cached(client):
    first = fetch_json(client, "/api/images", tag="pic")["images"][0]
    response = fetch_blob(client, first)
    assert response.content == png(4, 2)
    assert response.headers["Content-Type"] == "image/png"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Cache-Control"] == "no-store"
    assert "Content-Disposition" not in response.headers


def test_rule_18_documents_are_saved_and_never_shown(client):
    listed = fetch_json(client, "/api/images", tag="pic", run=["a"])["images"]
    for entry, content in zip(listed[2:], [SVG, HTML], strict=True):
        response = fetch_blob(client, entry)
        assert response.content == content
        assert response.headers["Content-Type"] == "application/octet-stream"
        assert response.headers["Content-Disposition"] == "attachment"
        assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_rule_29_an_image_of_a_billion_pixels_is_listed_but_only_saved(client):
    (entry,) = fetch_json(client, "/api/images", tag="pic", run=["b"])["images"]
    assert entry["problem"] == "This image is too large to show: 25,000 x 40,000 pixels."
    assert fetch_blob(client, entry).headers["Content-Disposition"] == "attachment"


def test_clips_are_listed_and_sent(client):
    clips = fetch_json(client, "/api/audio", tag="beep")["clips"]
    assert [(clip["label"], clip["sampleRate"], clip["lengthFrames"]) for clip in clips] == [
        ("", 8000.0, 2),
        ("hi", 8000.0, 2),
    ]
    response = fetch_blob(client, clips[1], kind="audio")
    assert response.content == WAV
    assert response.headers["Content-Type"] == "audio/wav"


def test_texts_are_strings_or_nested_lists(client):
    listed = fetch_json(client, "/api/texts", tag="note")["texts"]
    assert [entry["text"] for entry in listed] == ["plain", [["a", "b"], ["c", "d"]]]


def test_boxes_are_returned_with_the_image_and_with_the_image_without_boxes(tmp_path):
    picture = np.zeros((3, 20, 30), np.uint8)
    with rf.SummaryWriter(tmp_path / "run") as writer:
        writer.add_image_with_boxes("seen", picture, [[2, 2, 9, 9]], 1, labels=["cat"])
    client = open_client(tmp_path)
    (entry,) = fetch_json(client, "/api/images", tag="seen")["images"]
    drawn = entry["boxes"]
    assert (drawn["boxes"], drawn["labels"]) == ([[2.0, 2.0, 9.0, 9.0]], ["cat"])
    bare = fetch_blob(client, drawn | {"run": "run", "tag": "seen", "index": 0}, kind="boxes")
    assert bare.headers["Content-Type"] == "image/png"
    (row,) = rf.open(tmp_path).boxes().itertuples()
    assert bare.content == row.image.data


def test_boxes_that_are_too_large_lose_their_masks_and_are_marked(monkeypatch, tmp_path):
    masks = np.random.default_rng(0).random((1, 20, 30)) > 0.5
    with rf.SummaryWriter(tmp_path / "run") as writer:
        picture = np.zeros((3, 20, 30), np.uint8)
        writer.add_image_with_boxes("seen", picture, [[2, 2, 9, 9]], 1, masks=masks)
    client = open_client(tmp_path)
    (whole,) = fetch_json(client, "/api/images", tag="seen")["images"]
    assert len(whole["boxes"]["masks"]) == 1
    monkeypatch.setattr(images, "MOST_BOX_CHARACTERS", 200)
    (cut,) = fetch_json(client, "/api/images", tag="seen")["images"]
    assert "masks" not in cut["boxes"]
    assert cut["boxes"]["isCut"] is True


def test_the_name_of_a_value_stays_valid_when_earlier_values_are_added(tmp_path):
    write(tmp_path / "a", values(encode.image("pic", 2, 4, 3, png(4, 2)), step=5))
    client = open_client(tmp_path)
    (entry,) = fetch_json(client, "/api/images", tag="pic")["images"]
    write(tmp_path / "a", values(encode.image("pic", 4, 2, 3, png(2, 4)), step=3), number=0)
    client.app.state.source.refresh()
    assert [image["step"] for image in fetch_json(client, "/api/images", tag="pic")["images"]] == [
        3,
        5,
    ]
    assert fetch_blob(client, entry).content == png(4, 2)


def test_the_name_of_a_value_in_a_rewritten_file_is_not_found(tmp_path):
    write(tmp_path / "a", values(encode.image("pic", 2, 4, 3, png(4, 2)), step=5))
    client = open_client(tmp_path)
    (entry,) = fetch_json(client, "/api/images", tag="pic")["images"]
    write(tmp_path / "a", values(encode.image("pic", 4, 2, 3, png(2, 4)), step=3))
    client.app.state.source.refresh()
    assert fetch_blob(client, entry).status_code == 404


@pytest.mark.parametrize(
    ("path", "query", "status", "message"),
    [
        ("/api/images", {"tag": "pick"}, 404, "No image tag 'pick'. Did you mean 'pic'?"),
        ("/api/images", {"tag": "pi*"}, 404, "No image tag 'pi*'"),
        ("/api/images", {"tag": "pic", "run": "../a"}, 404, "No run '../a'"),
        ("/api/images", {}, 400, "'tag' is missing."),
        ("/api/images", {"tag": "pic", "path": "x"}, 400, "No field 'path'."),
        ("/api/texts", {"tag": "pic"}, 404, "No text tag 'pic'."),
        (
            "/api/blob",
            {"kind": "file", "run": "a", "tag": "pic", "row": "0"},
            400,
            "kind must be one of",
        ),
        (
            "/api/blob",
            {"kind": "image", "run": "a", "tag": "pic", "row": "0"},
            404,
            "This value does not exist",
        ),
        ("/api/blob", {"kind": "boxes", "run": "a", "tag": "pic", "row": "0"}, 404, "No boxes"),
    ],
)
def test_rule_20_only_existing_names_are_accepted(client, path, query, status, message):
    response = client.get(path, params=query)
    assert response.status_code == status
    assert message in response.json()["error"]


def test_an_index_beyond_the_value_is_not_found(client):
    first = fetch_json(client, "/api/images", tag="pic")["images"][0]
    assert fetch_blob(client, first, index=1).status_code == 404


def test_rule_29_a_value_that_is_too_large_is_not_read(client, monkeypatch):
    first = fetch_json(client, "/api/images", tag="pic")["images"][0]
    monkeypatch.setattr(blobs, "LARGEST", 10)
    response = fetch_blob(client, first)
    assert response.status_code == 413
    assert "runfold show -o" in response.json()["error"]


def test_rule_29_lists_are_limited_and_count_what_is_left_out(tmp_path, monkeypatch):
    pictures = [values(encode.image("pic", 2, 4, 3, png()), step=step) for step in range(100)]
    notes = [values(encode.text("note", f"{step}" * 30), step=step) for step in range(100)]
    write(tmp_path / "a", *pictures, *notes)
    client = open_client(tmp_path)
    monkeypatch.setattr(images, "MOST", 5)
    listed = fetch_json(client, "/api/images", tag="pic")
    assert [image["step"] for image in listed["images"]] == [0, 25, 50, 74, 99]
    assert listed["leftOut"] == 95
    monkeypatch.setattr(texts, "MOST", 2)
    monkeypatch.setattr(texts, "LONGEST", 10)
    listed = fetch_json(client, "/api/texts", tag="note")
    assert [(entry["step"], entry["text"], entry["length"]) for entry in listed["texts"]] == [
        (98, "9898989898", 60),
        (99, "9999999999", 60),
    ]
    assert listed["leftOut"] == 98


def test_a_value_that_cannot_be_decoded_is_left_out_and_reported(tmp_path):
    write(
        tmp_path / "a", values(encode.tensor("note", np.zeros(3), "text"), encode.text("note", "x"))
    )
    client = open_client(tmp_path)
    assert [entry["text"] for entry in fetch_json(client, "/api/texts", tag="note")["texts"]] == [
        "x"
    ]
    (problem,) = fetch_json(client, "/api/problems")["problems"]
    assert (problem["run"], problem["file"], problem["code"]) == (
        "a",
        "events.out.tfevents.1",
        "bad-value",
    )
    assert str(tmp_path) not in json.dumps(problem)

"""Pictures, clips and texts by HTTP: listed without their bytes, and sent as what they are."""

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


def ask(client, path, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def fetch(client, entry, kind="image", **more):
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
    found = ask(client, "/api/images", tag="pic")
    shown = [(one["run"], one["step"], one["index"], one["width"]) for one in found["images"]]
    assert shown == [
        ("a", 1, 0, 4),
        ("a", 2, 0, 4),
        ("a", 2, 1, 4),
        ("a", 2, 2, 4),
        ("b", 0, 0, 25_000),
    ]
    assert found["leftOut"] == 0
    assert set(found["images"][0]) == {
        *("run", "tag", "step", "wallTime", "index", "width", "height", "blob")
    }
    only = ask(client, "/api/images", tag="pic", run=["b"])
    assert [one["run"] for one in only["images"]] == ["b"]


def test_an_image_comes_as_it_was_stored_and_is_kept_by_nobody(client):
    first = ask(client, "/api/images", tag="pic")["images"][0]
    answer = fetch(client, first)
    assert answer.content == png(4, 2)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Content-Disposition" not in answer.headers


def test_rule_18_documents_are_saved_and_never_shown(client):
    listed = ask(client, "/api/images", tag="pic", run=["a"])["images"]
    for entry, content in zip(listed[2:], [SVG, HTML], strict=True):
        answer = fetch(client, entry)
        assert answer.content == content
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Content-Disposition"] == "attachment"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_rule_29_an_image_of_a_billion_pixels_is_listed_and_no_browser_decodes_it(client):
    (entry,) = ask(client, "/api/images", tag="pic", run=["b"])["images"]
    assert entry["problem"] == "25,000 x 40,000 pixels are too many to show."
    assert fetch(client, entry).headers["Content-Disposition"] == "attachment"


def test_clips_are_listed_and_sent(client):
    clips = ask(client, "/api/audio", tag="beep")["clips"]
    assert [(one["label"], one["sampleRate"], one["lengthFrames"]) for one in clips] == [
        ("", 8000.0, 2),
        ("hi", 8000.0, 2),
    ]
    answer = fetch(client, clips[1], kind="audio")
    assert answer.content == WAV
    assert answer.headers["Content-Type"] == "audio/wav"


def test_texts_are_text_and_arrays_of_them_nested_lists(client):
    found = ask(client, "/api/texts", tag="note")["texts"]
    assert [one["text"] for one in found] == ["plain", [["a", "b"], ["c", "d"]]]


def test_boxes_come_with_their_picture_and_the_picture_without_them(tmp_path):
    picture = np.zeros((3, 20, 30), np.uint8)
    with rf.SummaryWriter(tmp_path / "run") as writer:
        writer.add_image_with_boxes("seen", picture, [[2, 2, 9, 9]], 1, labels=["cat"])
    client = open_client(tmp_path)
    (entry,) = ask(client, "/api/images", tag="seen")["images"]
    drawn = entry["boxes"]
    assert (drawn["boxes"], drawn["labels"]) == ([[2.0, 2.0, 9.0, 9.0]], ["cat"])
    bare = fetch(client, drawn | {"run": "run", "tag": "seen", "index": 0}, kind="boxes")
    assert bare.headers["Content-Type"] == "image/png"
    (row,) = rf.open(tmp_path).boxes().itertuples()
    assert bare.content == row.image.data


def test_boxes_that_are_too_many_lose_their_masks_and_say_so(monkeypatch, tmp_path):
    masks = np.random.default_rng(0).random((1, 20, 30)) > 0.5
    with rf.SummaryWriter(tmp_path / "run") as writer:
        picture = np.zeros((3, 20, 30), np.uint8)
        writer.add_image_with_boxes("seen", picture, [[2, 2, 9, 9]], 1, masks=masks)
    client = open_client(tmp_path)
    (whole,) = ask(client, "/api/images", tag="seen")["images"]
    assert len(whole["boxes"]["masks"]) == 1
    monkeypatch.setattr(images, "MOST_BOX_CHARACTERS", 200)
    (cut,) = ask(client, "/api/images", tag="seen")["images"]
    assert "masks" not in cut["boxes"]
    assert cut["boxes"]["isCut"] is True


def test_a_name_of_a_value_lasts_while_others_come_before_it(tmp_path):
    write(tmp_path / "a", values(encode.image("pic", 2, 4, 3, png(4, 2)), step=5))
    client = open_client(tmp_path)
    (entry,) = ask(client, "/api/images", tag="pic")["images"]
    write(tmp_path / "a", values(encode.image("pic", 4, 2, 3, png(2, 4)), step=3), number=0)
    client.app.state.source.refresh()
    assert [one["step"] for one in ask(client, "/api/images", tag="pic")["images"]] == [3, 5]
    assert fetch(client, entry).content == png(4, 2)


def test_a_name_of_a_value_in_a_file_that_was_written_anew_is_not_found(tmp_path):
    write(tmp_path / "a", values(encode.image("pic", 2, 4, 3, png(4, 2)), step=5))
    client = open_client(tmp_path)
    (entry,) = ask(client, "/api/images", tag="pic")["images"]
    write(tmp_path / "a", values(encode.image("pic", 4, 2, 3, png(2, 4)), step=3))
    client.app.state.source.refresh()
    assert fetch(client, entry).status_code == 404


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
            "kind is one of",
        ),
        (
            "/api/blob",
            {"kind": "image", "run": "a", "tag": "pic", "row": "0"},
            404,
            "no such value",
        ),
        ("/api/blob", {"kind": "boxes", "run": "a", "tag": "pic", "row": "0"}, 404, "No boxes"),
    ],
)
def test_rule_20_only_names_that_were_found_lead_anywhere(client, path, query, status, message):
    answer = client.get(path, params=query)
    assert answer.status_code == status
    assert message in answer.json()["error"]


def test_a_number_beyond_the_value_is_not_found(client):
    first = ask(client, "/api/images", tag="pic")["images"][0]
    assert fetch(client, first, index=1).status_code == 404


def test_rule_29_a_value_that_is_too_large_is_not_read(client, monkeypatch):
    first = ask(client, "/api/images", tag="pic")["images"][0]
    monkeypatch.setattr(blobs, "LARGEST", 10)
    answer = fetch(client, first)
    assert answer.status_code == 413
    assert "runfold show -o" in answer.json()["error"]


def test_rule_29_lists_are_limited_and_say_what_they_leave_out(tmp_path, monkeypatch):
    pictures = [values(encode.image("pic", 2, 4, 3, png()), step=step) for step in range(100)]
    notes = [values(encode.text("note", f"{step}" * 30), step=step) for step in range(100)]
    write(tmp_path / "a", *pictures, *notes)
    client = open_client(tmp_path)
    monkeypatch.setattr(images, "MOST", 5)
    found = ask(client, "/api/images", tag="pic")
    assert [one["step"] for one in found["images"]] == [0, 25, 50, 74, 99]
    assert found["leftOut"] == 95
    monkeypatch.setattr(texts, "MOST", 2)
    monkeypatch.setattr(texts, "LONGEST", 10)
    found = ask(client, "/api/texts", tag="note")
    assert [(one["step"], one["text"], one["length"]) for one in found["texts"]] == [
        (98, "9898989898", 60),
        (99, "9999999999", 60),
    ]
    assert found["leftOut"] == 98


def test_a_value_that_does_not_decode_is_left_out_and_noted(tmp_path):
    write(
        tmp_path / "a", values(encode.tensor("note", np.zeros(3), "text"), encode.text("note", "x"))
    )
    client = open_client(tmp_path)
    assert [one["text"] for one in ask(client, "/api/texts", tag="note")["texts"]] == ["x"]
    (problem,) = ask(client, "/api/problems")["problems"]
    assert (problem["run"], problem["file"], problem["code"]) == (
        "a",
        "events.out.tfevents.1",
        "bad-value",
    )
    assert str(tmp_path) not in json.dumps(problem)

"""Stored console text: whole lines in their last state, up to a limit."""

import pytest
from helpers.output_logs import output

from runfold._log.capture.transcript import Transcript
from runfold._log.writer.event_writer import EventWriter


@pytest.fixture
def transcript(tmp_path):
    """A function that feeds pieces of text, logs after each one, and returns what was stored."""

    def store(*pieces, limit=1_000_000):
        with EventWriter(str(tmp_path)) as writer:
            transcript = Transcript(writer, limit)
            take = transcript.feed()
            for piece in pieces:
                take(piece)
                transcript.log()
            transcript.log(is_last=True)
        return output(tmp_path)

    return store


def test_streams_do_not_mix_within_a_line(tmp_path):
    with EventWriter(str(tmp_path)) as writer:
        transcript = Transcript(writer, 1000)
        out, error = transcript.feed(), transcript.feed()
        out("one ")
        error("oh ")
        out("line\nand an")
        transcript.log()
        error(b"no\n")
        out("other")
        transcript.log(is_last=True)
    assert output(tmp_path)[0] == "one line\noh no\nand another"


def test_a_progress_bar_is_stored_in_its_last_state(transcript):
    pieces = [
        "\rstep 1",
        "\rstep 2\rst",
        "ep 3",
        "\r",
        "\n",
        "next\r\n",
        "\x1b[31mred\x1b[0m\r  \r\n",
    ]
    assert transcript(*pieces) == ("step 3\nnext\nred\n", [0, 1, 2])


def test_an_unfinished_line_is_stored_at_the_end(transcript):
    assert transcript("one\ntw", "o", "\n\nthree") == ("one\ntwo\n\nthree", [0, 1, 2])


def test_bytes_in_pieces_are_decoded_as_utf_8(transcript):
    raw = "Grüße ```\n".encode()
    assert (
        transcript(*(raw[n : n + 1] for n in range(len(raw))), b"\xff\n")[0]
        == "Grüße ```\n\ufffd\n"
    )


def test_beyond_the_limit_the_last_lines_are_stored(transcript):
    lines = [f"line {number:05}\n" for number in range(10_000)]
    text, steps = transcript(*lines, limit=110)
    head, note, *tail = text.splitlines(keepends=True)[9:]
    assert text.startswith("".join(lines[:10]))
    assert head == lines[9]
    assert note == f"… {110_000 - 110 - 16_384:,} characters of output are not stored …\n"
    assert tail[1:] == lines[-len(tail) + 1 :]
    assert steps == list(range(11))


def test_printed_secrets_are_masked(transcript):
    shown = (
        "Namespace(api_key='abc', lr=0.1)\nlogin at https://me:pw@host/\ntoken: 50256, pass: 3\n"
    )
    stored = "Namespace(api_key='***', lr=0.1)\nlogin at https://***@host/\ntoken: 50256, pass: 3\n"
    assert transcript(shown) == (stored, [0])


KEY = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEow" + "Ab1" * 19, "IBAAKC" + "cD2" * 19, "x9=="]
END = "-----END RSA PRIVATE KEY-----"


def test_a_private_key_printed_line_by_line_is_not_stored(transcript):
    stored, _ = transcript("a\n", *(f"{line}\n" for line in [*KEY, END]), "b\n")
    assert stored == "a\n***\n\nb\n"


def test_a_private_key_without_an_end_does_not_hide_other_lines(transcript):
    stored, _ = transcript("\n".join(KEY[:3]) + "\n", KEY[3] + "\n", "epoch 1: loss 0.5\n", "b\n")
    assert stored == "***\nepoch 1: loss 0.5\nb\n"


def test_a_private_key_in_one_piece_is_not_stored(transcript):
    stored, _ = transcript("a\n" + "\n".join([*KEY, END]) + "\nb\n")
    assert stored == "a\n***\nb\n"


def test_a_private_key_with_logger_prefixes_is_not_stored(transcript):
    stored, _ = transcript(*(f"12:00 INFO {line}\n" for line in [*KEY, END, "epoch 1"]))
    assert "MIIE" not in stored
    assert "IBAAKC" not in stored
    assert "x9==" not in stored
    assert stored.endswith("12:00 INFO epoch 1\n")

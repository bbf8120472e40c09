"""A view as one file: what it contains, leaves out and rejects."""

import json
import re
import runpy

import pytest
from helpers.checkout import ROOT
from helpers.cli_runs import png, write_kinds
from helpers.logs import hparams, scalars, values, write
from helpers.reports import Held
from helpers.serve_client import read_metadata
from helpers.serving import open_client

from runfold._events import value_encoding as encode
from runfold._serve.api import blobs
from runfold._serve.page_vocabulary import TABS
from runfold._serve.report import recorded_answers as recording
from runfold._serve.report import standalone_page as standalone
from runfold._serve.report import view_requests as view_requests
from runfold._serve.report.page_view import FIELDS, read_view

HOSTILE = "</script><script>alert(1)</script><!--<script>"


@pytest.fixture
def client(tmp_path):
    for number in range(3):
        points = [(step, step / (number + 1)) for step in range(3000)]
        adds = [scalars("loss", *points), scalars("val/loss", *points[:50])]
        write(tmp_path / "logs" / f"seed-{number}", hparams(lr=0.1 * number), *adds)
    write(tmp_path / "logs" / "other", scalars("only here", (0, 1.0)), scalars(HOSTILE, (1, 2.0)))
    write_kinds(tmp_path / "logs" / "kinds")
    with open_client(tmp_path / "logs") as client:
        yield client


def save(client, view):
    response = client.post("/api/report", json={"view": view})
    assert response.status_code == 200, response.text
    assert response.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return Held(response.text)


def refuse(client, view, status=400):
    response = client.post("/api/report", json={"view": view})
    assert response.status_code == status
    return response.json()["error"]


@pytest.mark.parametrize("switched", ['off=["seed-1"]', 'on=["seed-0","seed-2"]'])
def test_runs_that_the_view_does_not_show_are_not_in_the_file(client, switched):
    held = save(client, f"search=seed&{switched}&sort=run")
    table = held.table("GET", "/api/table")
    assert table["run"].to_pylist() == ["seed-0", "seed-2"]
    assert not [name for name in table.schema.names if "only here" in name]
    assert held.json("GET", "/api/status")["runs"] == 2
    tags = held.json("GET", "/api/tags")["kinds"]
    assert [entry["tag"] for entry in tags["scalar"]] == ["loss", "val/loss"]
    curves = held.table("POST", "/api/curves")
    assert {entry["run"] for entry in read_metadata(curves)} == {"seed-0", "seed-2"}
    assert held.document["view"] == "sort=run"
    assert held.document["tabs"] == ["runs", "curves"]


def test_unknown_plugins_are_counted_for_the_runs_in_the_file(tmp_path):
    for run in ("one", "two"):
        value = encode.metadata_only("state", f"plugin-of-{run}", b"x")
        write(tmp_path / run, scalars("loss", (0, 1.0)), values(value))
    held = save(open_client(tmp_path), "tab=runs&search=one")
    (total,) = held.json("GET", "/api/status")["plugins"]
    assert (total["plugin"], total["values"]) == ("plugin-of-one", 1)


def test_groups_contain_only_the_runs_in_the_file(client):
    held = save(client, 'tab=runs&on=["seed-0","seed-2"]&by=(?P<seed>.)$')
    assert held.json("POST", "/api/groups")["groups"] == [
        {"name": "seed=0", "runs": ["seed-0"]},
        {"name": "seed=2", "runs": ["seed-2"]},
    ]
    assert [key[2] for key in held.keys if key[1] == "/api/groups"] == [
        [["by", "(?P<seed>.)$"]],
    ]


def test_curves_of_matching_tags_have_every_point(client):
    held = save(client, "tags=^val&search=seed")
    curves = held.table("POST", "/api/curves")
    assert [entry["shown"] for entry in read_metadata(curves)] == [50, 50, 50]
    assert [key[2] for key in held.keys if key[1] == "/api/curves"] == [
        [["log", False], ["runs", None], ["tags", ["val/loss"]], ["x", "step"]]
    ]
    assert held.document["notes"] == []


def test_images_at_steps_too_large_for_a_browser_are_in_the_file(tmp_path):
    steps = [5, 2**53, 2**53 + 1]
    pictures = [values(encode.image("pic", 2, 4, 3, png(4, 2)), step=step) for step in steps]
    write(tmp_path / "a", *pictures)
    with open_client(tmp_path) as client:
        held = save(client, f"tab=images&step={steps[1]}")
    listed = held.json("GET", "/api/images")["images"]
    assert [int(entry["step"]) for entry in listed] == steps
    assert [key[1] for key in held.keys].count("/api/blob") == 3


def test_too_many_points_are_downsampled_with_a_note(client, monkeypatch):
    monkeypatch.setattr(view_requests, "MOST_OF_CHART", 100_000)
    held = save(client, "search=seed&full=loss&tags=^loss")
    entries = read_metadata(held.table(*CURVES))
    assert all(entry["shown"] < entry["points"] == 3000 for entry in entries)
    (note,) = held.document["notes"]
    assert note.startswith("Too many points for a report in 1 of 1 charts:")


CURVES = ("POST", "/api/curves")


def test_folds_match_the_view(client):
    held = save(client, "search=seed&isFolded=true&by=lr&center=median&band=q25-q75&smooth=0.5")
    (fields, *_) = [dict(key[2]) for key in held.keys if key[1] == "/api/fold"]
    assert fields["by"] == "lr"
    assert (fields["center"], fields["band"], fields["align"]) == ("median", "q25-q75", "auto")
    assert len(read_metadata(held.table("POST", "/api/fold"))) == 3
    assert held.document["smooth"] == 0.5


@pytest.mark.parametrize(
    ("tab", "paths"),
    [
        ("runs", []),
        ("curves&tags=^loss", ["/api/curves", "/api/marks"]),
        ("images", ["/api/images", "/api/blob"]),
        ("audio", ["/api/audio", "/api/blob"]),
        ("text", ["/api/texts"]),
        ("histograms", ["/api/histograms"]),
        ("hparams", ["/api/importance"]),
        ("compare&by=lr", ["/api/compare", "/api/groups"]),
        ("run&run=kinds", ["/api/run", "/api/system", "/api/output"]),
        ("run&run=kinds&other=other", ["/api/diff"]),
        ("sql&query=select 1", ["/api/sql"]),
        ("more", ["/api/problems"]),
        ("more&part=others", []),
    ],
)
def test_each_view_records_what_it_shows(client, tab, paths):
    held = save(client, f"tab={tab}")
    always = {"/api/table", "/api/status", "/api/tags", "/api/views"}
    assert {path for _, path in held.answers} == always | set(paths)
    assert all(status == 200 for status, *_ in held.answers.values())


def test_a_run_is_reported_alone(client):
    held = save(client, "tab=run&run=kinds")
    assert held.table("GET", "/api/table")["run"].to_pylist() == ["kinds"]


def test_values_of_too_many_runs_are_left_out_with_a_note(client, monkeypatch):
    monkeypatch.setattr(view_requests, "MOST_RUNS", 4)
    held = save(client, "tab=text")
    assert held.document["notes"] == ["This report contains values for only 4 of 5 runs."]


def test_images_beyond_the_limit_are_left_out_with_a_note(client, monkeypatch):
    assert len(save(client, "tab=images").json("GET", "/api/images")["images"]) == 2
    monkeypatch.setattr(view_requests, "MOST_OF_MEDIA", 100)
    held = save(client, "tab=images")
    (kept,) = held.json("GET", "/api/images")["images"]
    assert kept["step"] == 2
    assert held.document["notes"] == [
        "Left out: 1 of 2 images. A report has room for 100 B of images, newest"
        " first. Values that are too large to send or were deleted are also left out."
    ]


def test_images_too_large_to_send_are_left_out(client, monkeypatch):
    monkeypatch.setattr(blobs, "LARGEST", 10)
    held = save(client, "tab=images")
    assert held.json("GET", "/api/images")["images"] == []
    assert held.document["notes"][0].startswith("Left out: 2 of 2 images. ")


def test_nothing_in_a_log_can_end_its_html_element(client):
    html = client.post("/api/report", json={"view": "search=other"}).text
    assert HOSTILE not in html
    assert len(re.findall("(?i)</script", html)) == 2
    assert "<!--" not in html
    tags = Held(html).json("GET", "/api/tags")["kinds"]["scalar"]
    assert HOSTILE in [entry["tag"] for entry in tags]


def test_an_error_in_one_chart_is_recorded_with_it(client):
    held = save(client, 'search=seed&x={"tag":"no such"}')
    status, *_ = held.answers[CURVES]
    assert status == 400
    assert held.json(*CURVES)["error"].startswith("No scalar tag 'no such'.")


def test_invalid_views_are_refused(client):
    assert "Did you mean 'isFolded'?" in refuse(client, "isfolded=true")
    assert "curves" in refuse(client, "tab=curvs")
    assert refuse(client, "isFolded=7") == "Invalid value in the view: isFolded=7."
    assert refuse(client, "search=nobody") == (
        "The view shows none of the 5 runs, so there is nothing to report."
    )
    assert "Did you mean .lr.?" in refuse(client, "where=lrr < 1").replace("'", ".")


def test_a_report_that_is_too_large_is_refused(client, monkeypatch):
    monkeypatch.setattr(recording, "LARGEST", 1000)
    assert refuse(client, "", 413).startswith("The report would be larger than 1.0 kB.")


def test_tensorboards_cannot_be_reported(client):
    assert refuse(client, "tab=boards").startswith("A report cannot show TensorBoards.")


def test_missing_page_is_reported(client, monkeypatch, tmp_path):
    monkeypatch.setattr(standalone, "is_built", lambda folder: False)
    assert refuse(client, "", 503).startswith("This installation of Runfold does not include the")


def test_the_policy_allows_only_embedded_content(client):
    html = client.post("/api/report", json={}).text
    (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', html)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "self" not in policy
    assert not re.findall(r'(?:src|href)="', html.partition("<style>")[0])


def test_view_fields_match_those_of_the_page():
    web = ROOT / "web"
    # The page defines no names besides the generated ones.
    address = (web / "src" / "state" / "address.ts").read_text()
    assert 'DEFAULTS, TABS, type Tab, type View } from "../generated/vocabulary"' in address
    assert not re.findall(r"export (?:const|interface|type) (?:DEFAULTS|TABS|Tab|View)\b", address)
    source = runpy.run_path(str(web / "generate.py"))["make_files"]()["vocabulary.ts"]
    (defaults,) = re.findall(r"export const DEFAULTS: View = ({.*?});\n", source)
    assert set(json.loads(defaults)) == set(FIELDS)
    (tabs,) = re.findall(r"export const TABS = (\[.*?\]) as const", source)
    assert list(TABS) == json.loads(tabs)
    standard = read_view("")
    for name in ("tab", "center", "band", "x", "at"):
        assert json.loads(defaults)[name] == getattr(standard, name)

"""A view as one file: what it holds, what it leaves out, and what it refuses."""

import json
import re
import runpy

import pytest
from helpers.checkout import ROOT
from helpers.cli_runs import png, write_kinds
from helpers.logs import hparams, scalars, values, write
from helpers.reports import Held
from helpers.serve_client import told
from helpers.serving import open_client

from runfold._events import value_encoding as encode
from runfold._serve.api import blobs
from runfold._serve.page_vocabulary import TABS
from runfold._serve.report import recorded_answers as recording
from runfold._serve.report import standalone_page as standalone
from runfold._serve.report import view_requests as visits
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
    answer = client.post("/api/report", json={"view": view})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Held(answer.text)


def refuse(client, view, status=400):
    answer = client.post("/api/report", json={"view": view})
    assert answer.status_code == status
    return answer.json()["error"]


@pytest.mark.parametrize("switched", ['off=["seed-1"]', 'on=["seed-0","seed-2"]'])
def test_runs_that_the_view_does_not_show_are_not_in_the_file(client, switched):
    held = save(client, f"search=seed&{switched}&sort=run")
    table = held.table("GET", "/api/table")
    assert table["run"].to_pylist() == ["seed-0", "seed-2"]
    assert not [name for name in table.schema.names if "only here" in name]
    assert held.json("GET", "/api/status")["runs"] == 2
    tags = held.json("GET", "/api/tags")["kinds"]
    assert [one["tag"] for one in tags["scalar"]] == ["loss", "val/loss"]
    curves = held.table("POST", "/api/curves")
    assert {one["run"] for one in told(curves)} == {"seed-0", "seed-2"}
    assert held.told["view"] == "sort=run"
    assert held.told["tabs"] == ["runs", "curves"]


def test_unknown_plugins_are_those_of_the_runs_in_the_file(tmp_path):
    for run in ("one", "two"):
        value = encode.metadata_only("state", f"plugin-of-{run}", b"x")
        write(tmp_path / run, scalars("loss", (0, 1.0)), values(value))
    held = save(open_client(tmp_path), "tab=runs&search=one")
    (total,) = held.json("GET", "/api/status")["plugins"]
    assert (total["plugin"], total["values"]) == ("plugin-of-one", 1)


def test_groups_by_a_pattern_are_those_of_the_runs_in_the_file(client):
    held = save(client, 'tab=runs&on=["seed-0","seed-2"]&by=(?P<seed>.)$')
    assert held.json("POST", "/api/groups")["groups"] == [
        {"name": "seed=0", "runs": ["seed-0"]},
        {"name": "seed=2", "runs": ["seed-2"]},
    ]
    assert [key[2] for key in held.keys if key[1] == "/api/groups"] == [
        [["by", "(?P<seed>.)$"]],
    ]


def test_curves_have_every_point_and_those_of_the_filter_alone(client):
    held = save(client, "tags=^val&search=seed")
    curves = held.table("POST", "/api/curves")
    assert [one["shown"] for one in told(curves)] == [50, 50, 50]
    assert [key[2] for key in held.keys if key[1] == "/api/curves"] == [
        [["log", False], ["runs", None], ["tags", ["val/loss"]], ["x", "step"]]
    ]
    assert held.told["notes"] == []


def test_pictures_of_steps_beyond_a_browsers_numbers_are_in_the_file(tmp_path):
    steps = [5, 2**53, 2**53 + 1]
    pictures = [values(encode.image("pic", 2, 4, 3, png(4, 2)), step=step) for step in steps]
    write(tmp_path / "a", *pictures)
    with open_client(tmp_path) as client:
        held = save(client, f"tab=images&step={steps[1]}")
    listed = held.json("GET", "/api/images")["images"]
    assert [int(one["step"]) for one in listed] == steps
    assert [key[1] for key in held.keys].count("/api/blob") == 3


def test_too_many_points_are_thinned_and_that_is_said(client, monkeypatch):
    monkeypatch.setattr(visits, "MOST_OF_CHART", 100_000)
    held = save(client, "search=seed&full=loss&tags=^loss")
    assert all(one["shown"] < one["points"] == 3000 for one in told(held.table(*CURVES)))
    (note,) = held.told["notes"]
    assert note.startswith("1 of 1 charts have too many points")


CURVES = ("POST", "/api/curves")


def test_folds_are_those_of_the_view(client):
    held = save(client, "search=seed&isFolded=true&by=lr&centre=median&band=q25-q75&smooth=0.5")
    (asked, *_) = [dict(key[2]) for key in held.keys if key[1] == "/api/fold"]
    assert asked["by"] == "lr"
    assert (asked["centre"], asked["band"], asked["align"]) == ("median", "q25-q75", "auto")
    assert len(told(held.table("POST", "/api/fold"))) == 3
    assert held.told["smooth"] == 0.5


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
def test_each_view_has_what_it_shows(client, tab, paths):
    held = save(client, f"tab={tab}")
    always = {"/api/table", "/api/status", "/api/tags", "/api/views"}
    assert {path for _, path in held.answers} == always | set(paths)
    assert all(status == 200 for status, *_ in held.answers.values())


def test_a_run_is_reported_alone(client):
    held = save(client, "tab=run&run=kinds")
    assert held.table("GET", "/api/table")["run"].to_pylist() == ["kinds"]


def test_values_of_more_runs_than_can_be_named_are_left_out_and_that_is_said(client, monkeypatch):
    monkeypatch.setattr(visits, "MOST_RUNS", 4)
    held = save(client, "tab=text")
    assert held.told["notes"] == ["Values of 4 of 5 runs are here."]


def test_pictures_beyond_the_limit_are_left_out_and_that_is_said(client, monkeypatch):
    assert len(save(client, "tab=images").json("GET", "/api/images")["images"]) == 2
    monkeypatch.setattr(visits, "MOST_OF_MEDIA", 100)
    held = save(client, "tab=images")
    (kept,) = held.json("GET", "/api/images")["images"]
    assert kept["step"] == 2
    assert held.told["notes"] == [
        "1 of 2 images are left out: a report has room for 100 B of them, and the newest came"
        " first."
    ]


def test_pictures_that_are_not_sent_are_left_out_too(client, monkeypatch):
    monkeypatch.setattr(blobs, "LARGEST", 10)
    held = save(client, "tab=images")
    assert held.json("GET", "/api/images")["images"] == []
    assert held.told["notes"][0].startswith("2 of 2 images are left out")


def test_nothing_in_a_log_ends_the_element_that_holds_it(client):
    html = client.post("/api/report", json={"view": "search=other"}).text
    assert HOSTILE not in html
    assert len(re.findall("(?i)</script", html)) == 2
    assert "<!--" not in html
    tags = Held(html).json("GET", "/api/tags")["kinds"]["scalar"]
    assert HOSTILE in [one["tag"] for one in tags]


def test_what_is_wrong_with_one_chart_stays_with_it(client):
    held = save(client, 'search=seed&x={"tag":"no such"}')
    status, *_ = held.answers[CURVES]
    assert status == 400
    assert held.json(*CURVES)["error"].startswith("No scalar tag 'no such'.")


def test_wrong_views_are_refused(client):
    assert "Did you mean 'isFolded'?" in refuse(client, "isfolded=true")
    assert "curves" in refuse(client, "tab=curvs")
    assert refuse(client, "isFolded=7") == ("The view says isFolded=7, which is no value for it.")
    assert refuse(client, "search=nobody") == (
        "The view shows none of 5 runs, so there is nothing to report."
    )
    assert "Did you mean .lr.?" in refuse(client, "where=lrr < 1").replace("'", ".")


def test_a_report_that_is_too_large_is_refused(client, monkeypatch):
    monkeypatch.setattr(recording, "LARGEST", 1000)
    assert refuse(client, "", 413).startswith("The report would be larger than 1.0 kB.")


def test_tensorboards_are_in_no_report(client):
    assert refuse(client, "tab=boards").startswith("A report cannot show TensorBoards.")


def test_without_the_page_it_is_said_what_is_missing(client, monkeypatch, tmp_path):
    monkeypatch.setattr(standalone, "is_built", lambda folder: False)
    assert refuse(client, "", 503).startswith("The page is not in this installation")


def test_the_policy_lets_only_what_is_inside_run(client):
    html = client.post("/api/report", json={}).text
    (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', html)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "self" not in policy
    assert not re.findall(r'(?:src|href)="', html.partition("<style>")[0])


def test_the_names_of_an_address_are_those_of_the_page():
    web = ROOT / "web"
    # The page has no names of its own besides the generated ones.
    address = (web / "src" / "state" / "address.ts").read_text()
    assert 'DEFAULTS, TABS, type Tab, type View } from "../generated/vocabulary"' in address
    assert not re.findall(r"export (?:const|interface|type) (?:DEFAULTS|TABS|Tab|View)\b", address)
    source = runpy.run_path(str(web / "generate.py"))["make_files"]()["vocabulary.ts"]
    (defaults,) = re.findall(r"export const DEFAULTS: View = ({.*?});\n", source)
    assert set(json.loads(defaults)) == set(FIELDS)
    (tabs,) = re.findall(r"export const TABS = (\[.*?\]) as const", source)
    assert list(TABS) == json.loads(tabs)
    standard = read_view("")
    for name in ("tab", "centre", "band", "x", "at"):
        assert json.loads(defaults)[name] == getattr(standard, name)

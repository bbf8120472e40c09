"""Run names in the page: shortened, but always distinct."""

import re
from itertools import pairwise

import pytest
from helpers.pages import eventually, read_pixels, serve_page
from playwright.sync_api import expect

import runfold as rf

RUNS = [
    f"experiments_2026_autumn/transformer_{size}_layers_lr_0.001/dataset_{data}/seed-{seed}"
    for size in ("large", "small")
    for data in ("imagenet_augmented", "cifar_plain")
    for seed in (0, 1, 10)
]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    for number, name in enumerate(RUNS):
        with rf.SummaryWriter(folder / name) as writer:
            # Some runs end early and leave the fold halfway.
            for step in range(10 if name.endswith("seed-1") else 20):
                writer.add_scalar("train/loss", number + step, step)
            options = {f"optimizer_learning_rate_option_{n}": number for n in range(12)}
            writer.add_hparams({"size": name.split("_")[3], **options}, {})
    return folder


@pytest.fixture(scope="module")
def served(logdir, tmp_path_factory):
    with serve_page(logdir, state=tmp_path_factory.mktemp("state")) as served:
        yield served


def is_cut(locator):
    return locator.evaluate_all(
        "all => all.some(el => el.scrollWidth > el.clientWidth + 1 && el.clientWidth > 0)"
    )


def test_list_and_table_show_distinct_labels_with_full_names_as_tooltips(show):
    page = show(tab="runs")
    listed = page.get_by_role("complementary").locator("li .name")
    expect(listed).to_have_count(len(RUNS))
    for names in (listed, page.locator("main tbody .name .name")):
        assert len(set(names.all_inner_texts())) == len(RUNS)
        titles = names.evaluate_all("all => all.map(name => name.title)")
        assert sorted(titles) == sorted(RUNS)
        assert not is_cut(names)
    expect(page.get_by_text("Names are relative to experiments_2026_autumn/")).to_be_visible()


READ_ROWS = """all => all.map((line) => {
  const text = document.createRange();
  text.selectNodeContents(line.querySelector(".name"));
  const rows = new Set([...text.getClientRects()].map((box) => Math.round(box.top))).size;
  const { top, bottom } = line.getBoundingClientRect();
  return [rows, Math.round(top), Math.round(bottom)];
})"""


def test_lines_of_the_list_fit_their_names_without_gaps(show):
    page = show(tab="runs")
    lines = page.get_by_role("complementary").locator("li")
    expect(lines).to_have_count(len(RUNS))

    def is_tight():
        read = sorted(lines.evaluate_all(READ_ROWS), key=lambda line: line[1])
        heights = [bottom - top == 26 + 18 * (rows - 1) for rows, top, bottom in read]
        return all(heights) and all(before[2] == after[1] for before, after in pairwise(read))

    for width in ("200px", "600px"):
        page.locator(".sidebar").evaluate("(list, width) => { list.style.width = width }", width)
        eventually(page, is_tight)


def point_at(page, share):
    """Move the pointer to a fraction of the chart's width, once the chart is drawn."""
    canvas = page.locator("section.chart canvas")
    eventually(page, lambda: sum(map(len, read_pixels(canvas))) > 50)
    chart = page.get_by_role("application")
    box = chart.bounding_box()
    chart.hover(position={"x": box["width"] * share, "y": box["height"] / 2})


def test_tooltip_has_distinct_names(show):
    page = show(tags="train/loss")
    point_at(page, 0.85)
    names = page.get_by_role("tooltip").locator("tr:not([hidden]) .hover-name")
    # Runs that have ended have no value here.
    expect(names).to_have_count(len(RUNS) * 2 // 3)
    assert len(set(names.all_inner_texts())) == names.count()


def test_fold_shows_where_runs_have_ended(show):
    page = show(tags="train/loss", by="size", isFolded="true")
    key = page.get_by_role("list", name="Runs per group").get_by_role("listitem")
    expect(key).to_have_text([re.compile("n=4-6$")] * 2)
    tooltip = page.get_by_role("tooltip")
    point_at(page, 0.85)
    expect(tooltip).to_contain_text("n = 4 of 6")
    point_at(page, 0.3)
    expect(tooltip).to_contain_text("n = 6")
    expect(tooltip).not_to_contain_text("of 6")
    page.get_by_label("Download train/loss").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    picture = download.value.path().read_text()
    assert picture.count("(n=4-6)") == 2
    assert 'stroke-dasharray="4 4"' in picture


def test_hparam_axes_have_distinct_titles_and_their_limit_is_shown(show):
    page = show(tab="hparams")
    expect(page.get_by_text("Showing the first 11 of 13 hparams.")).to_be_visible()
    titles = page.locator(".parallel text.title")
    expect(titles).to_have_count(12)
    names = titles.evaluate_all("all => all.map(title => title.firstChild.textContent)")
    assert len(set(names)) == 12

"""A report opened from the disk in a real Chromium: it shows, zooms, and asks nobody."""

import pytest
from helpers.cli_runs import png, run_apart
from helpers.logs import hparams, scalars, values, write
from helpers.servers import serving
from playwright.sync_api import expect

from runfold._events.value_encoding import image, text

HOSTILE = "x</script><img src=x onerror=alert(1)>"
# The pixels that have any colour; of a copy, as a browser warns of reading what it draws on.
INKED = """canvas => {
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  return data.filter((part, place) => place % 4 === 3 && part > 0).length;
}"""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    for number in range(4):
        rate = 0.1 if number < 2 else 0.01
        curve = [(step, rate * number + 1 / (step + 1)) for step in range(500)]
        write(
            folder / f"seed-{number}",
            hparams(lr=rate),
            scalars("train/loss", *curve),
            scalars(HOSTILE, *curve[:9]),
            values(image("pictures", 2, 4, 3, png()), text("notes", f"<b>{HOSTILE}</b>")),
        )
    return folder


@pytest.fixture
def show(browser, logdir, tmp_path):
    """The page of the report of a view, or of the one that is there.

    In the end it must have asked nobody and complained of nothing.
    """
    file = tmp_path / "a report.html"
    requests, complaints = [], []
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def show(view=None, *options):
        if view is not None:
            # In a process of its own: in this one the browser's driver has an event loop.
            done = run_apart("report", str(logdir), "-o", str(file), "--view", view, *options)
            assert done.returncode == 0, done.stderr
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(file.as_uri())
        expect(page.get_by_text("a report of 20")).to_be_visible()
        return page

    yield show
    context.close()
    assert complaints == []
    addresses = {url.partition("?")[0] for url in requests if not url.startswith("blob:")}
    assert addresses == {file.as_uri()}


def chart(page, title="train/loss"):
    return page.get_by_role("region", name=title, exact=True)


def plot(page, lines, title="train/loss"):
    """The chart of a tag, once it says that it has so many lines and has drawn them."""
    found = chart(page, title).get_by_role("application")
    expect(found).to_have_attribute("aria-label", f"{title}: {lines} lines. " + KEYS)
    canvas = found.locator("canvas").first
    canvas.wait_for()
    assert canvas.evaluate(INKED) > 500
    return found


KEYS = "Left and right move the pointer, with shift the range; plus and minus zoom, 0 shows all."


def test_charts_are_drawn_zoomed_and_filtered_by_run(show):
    page = show("")
    drawn = plot(page, lines=4)
    plot(page, lines=4, title=HOSTILE)
    before = drawn.screenshot()
    drawn.focus()
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    assert drawn.screenshot() != before
    page.get_by_role("checkbox", name="seed-1").uncheck()
    plot(page, lines=3)
    page.reload()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    plot(page, lines=3)


def test_groups_are_folded_and_what_was_not_saved_is_refused_in_words(show):
    page = show("by=lr&isFolded=true&smooth=0.6")
    plot(page, lines=2)
    page.get_by_role("combobox", name="Band").select_option("minmax")
    told = chart(page).get_by_role("alert")
    expect(told).to_contain_text("This report has only the data of the view that was saved.")


def test_the_table_of_the_runs_can_be_sorted(show):
    page = show("tab=runs&sort=lr", "--where", "lr < 0.05")
    table = page.get_by_role("main")
    expect(table.get_by_text("seed-2")).to_be_visible()
    expect(table.get_by_text("seed-3")).to_be_visible()
    expect(page.get_by_text("seed-1")).to_have_count(0)
    expect(page.get_by_role("navigation").get_by_role("button")).to_have_text(["Runs"])
    expect(page.get_by_role("button", name="Save as report")).to_have_count(0)
    # Nothing leads to a view that is not inside.
    expect(page.get_by_role("button", name="Open run")).to_have_count(0)
    expect(table.get_by_role("button", name="seed-2", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="TensorBoard")).to_have_count(0)


def test_pictures_are_inside(show):
    page = show("tab=images")
    pictures = page.get_by_role("main").get_by_role("img")
    expect(pictures).to_have_count(4)
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("naturalWidth", 4)


def test_text_of_a_log_stays_text(show):
    page = show("tab=text")
    expect(page.get_by_role("article").first).to_contain_text("onerror=alert(1)")
    expect(page.get_by_role("article").locator("img")).to_have_count(0)


def test_the_page_saves_what_one_looks_at(show, browser, logdir, tmp_path):
    with serving(logdir) as served:
        page = browser.new_page()
        page.goto(served.link)
        page.goto(f"{served.page}/?by=lr&isFolded=true&search=seed-1")
        plot(page, lines=1)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as report").click()
        download.value.save_as(tmp_path / "a report.html")
        page.close()
    page = show()
    plot(page, lines=1)
    expect(page.get_by_text("1 of 1 runs")).to_be_visible()


def test_the_file_does_not_say_where_the_log_was(show, logdir, tmp_path):
    show("tab=runs")
    html = (tmp_path / "a report.html").read_text()
    assert str(logdir.parent) not in html

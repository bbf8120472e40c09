"""A report opened from disk in a real Chromium: it works without any request."""

import pytest
from helpers.cli_runs import png, run_apart
from helpers.logs import hparams, scalars, values, write
from helpers.servers import serving
from playwright.sync_api import expect

from runfold._events.value_encoding import image, text

HOSTILE = "x</script><img src=x onerror=alert(1)>"
# Counts the colored pixels in a copy, because the browser warns about reading a canvas in use.
INKED = """canvas => {
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  return data.filter((part, index) => index % 4 === 3 && part > 0).length;
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
    """Yield a function that opens the report of a view, or the existing report.

    Afterwards, the page must have sent no requests and logged no errors.
    """
    file = tmp_path / "a report.html"
    requests, errors = [], []
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def show(view=None, *options):
        if view is not None:
            # In a separate process, because the browser's driver has an event loop in this one.
            done = run_apart("report", str(logdir), "-o", str(file), "--view", view, *options)
            assert done.returncode == 0, done.stderr
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.goto(file.as_uri())
        expect(page.get_by_text("report saved 20")).to_be_visible()
        return page

    yield show
    context.close()
    assert errors == []
    addresses = {url.partition("?")[0] for url in requests if not url.startswith("blob:")}
    assert addresses == {file.as_uri()}


def chart(page, title="train/loss"):
    return page.get_by_role("region", name=title, exact=True)


def plot(page, lines, title="train/loss"):
    """Return the chart of a tag, once it has drawn this many lines."""
    found = chart(page, title).get_by_role("application")
    label = f"{title}: {lines} line{'s' if lines > 1 else ''}. {KEYS}"
    expect(found).to_have_attribute("aria-label", label)
    canvas = found.locator("canvas").first
    canvas.wait_for()
    assert canvas.evaluate(INKED) > 500
    return found


KEYS = (
    "The left and right arrow keys move the pointer, or pan with Shift. The + and - keys zoom, and"
    " 0 resets the zoom."
)


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


def test_groups_are_folded_and_missing_data_is_explained(show):
    page = show("by=lr&isFolded=true&smooth=0.6")
    plot(page, lines=2)
    page.get_by_role("combobox", name="Band").select_option("minmax")
    alert = chart(page).get_by_role("alert")
    expect(alert).to_contain_text("This report contains only the data of the saved view.")


def test_the_table_of_the_runs_can_be_sorted(show):
    page = show("tab=runs&sort=lr", "--where", "lr < 0.05")
    table = page.get_by_role("main")
    expect(table.get_by_text("seed-2")).to_be_visible()
    expect(table.get_by_text("seed-3")).to_be_visible()
    expect(page.get_by_text("seed-1")).to_have_count(0)
    expect(page.get_by_role("navigation").get_by_role("button")).to_have_text(["Runs"])
    expect(page.get_by_role("button", name="Save as report")).to_have_count(0)
    # There are no links to views that the report does not contain.
    expect(page.get_by_role("button", name="Open run")).to_have_count(0)
    expect(table.get_by_role("button", name="seed-2", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="TensorBoard")).to_have_count(0)


def test_report_contains_images(show):
    page = show("tab=images")
    pictures = page.get_by_role("main").get_by_role("img")
    expect(pictures).to_have_count(4)
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("naturalWidth", 4)


def test_text_from_a_log_stays_text(show):
    page = show("tab=text")
    expect(page.get_by_role("article").first).to_contain_text("onerror=alert(1)")
    expect(page.get_by_role("article").locator("img")).to_have_count(0)


def test_the_page_saves_the_current_view(show, browser, logdir, tmp_path):
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


def test_the_file_does_not_contain_the_path_of_the_logdir(show, logdir, tmp_path):
    show("tab=runs")
    html = (tmp_path / "a report.html").read_text()
    assert str(logdir.parent) not in html

"""The page by keys alone: every view, the list, the table and the menus are reached."""

from helpers.page_logs import RUNS
from playwright.sync_api import expect

FOCUSED = """() => {
  const one = document.activeElement;
  return one.getAttribute("aria-label") || one.placeholder || one.innerText.trim() || one.tagName;
}"""
VIEWS = ["Runs", "Curves", "Images", "Audio", "Text", "Histograms", "More"]
VIEWS += ["Hparams", "Compare", "Run", "SQL", "TensorBoards"]
HEADER = ["Show or hide the list of runs", *VIEWS, "Views", "Light or dark", "Save as report"]
SIDEBAR = ["Find runs by name", "Condition", "nothing", "All", "None"]


def walk(page, count):
    """What the next presses of Tab lead to."""
    names = []
    for _ in range(count):
        page.keyboard.press("Tab")
        names.append(page.evaluate(FOCUSED))
    return names


def tab_to(page, target):
    """Press Tab until something has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if target.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError("it is not reached")


def test_tab_leads_through_the_header_and_the_list_in_their_order(show):
    page = show(tab="runs")
    assert walk(page, len(HEADER) + len(SIDEBAR)) == HEADER + SIDEBAR
    # The list is one stop, and the arrow keys walk in it.
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    second = page.get_by_role("complementary").get_by_role("checkbox", name=RUNS[1])
    expect(second).to_be_focused()
    page.keyboard.press("Space")
    expect(second).not_to_be_checked()


def test_every_view_opens_by_enter(show):
    page = show(tab="runs")
    for name in VIEWS:
        button = page.get_by_role("navigation", name="Views").get_by_role(
            "button", name=name, exact=True
        )
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-current", "page")
        expect(button).to_be_focused()
    expect(page.get_by_role("main")).to_contain_text("No TensorBoard runs.")


def test_table_is_walked_switched_sorted_and_opened(show):
    page = show(tab="runs")
    heading = page.get_by_title("hparam lr: sort", exact=True)
    tab_to(page, heading)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    rows = page.locator("main tbody tr[data-line]")
    expect(rows.first).to_contain_text(RUNS[2])
    tab_to(page, rows.first)
    page.keyboard.press("End")
    expect(rows.last).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("complementary")).to_contain_text("3 of 4 runs")
    page.keyboard.press("ArrowUp")
    expect(rows.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Run", exact=True)).to_have_value(RUNS[0])


def test_menu_opens_and_escape_closes_it_and_leads_back(show):
    page = show()
    button = page.get_by_role("button", name="Views")
    tab_to(page, button)
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Name of this view")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Name of this view")).to_have_count(0)
    expect(button).to_be_focused()

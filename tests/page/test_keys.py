"""The page without a mouse: keys reach every view, the list, the table and the menus."""

from helpers.page_logs import RUNS
from playwright.sync_api import expect

FOCUSED = """() => {
  const item = document.activeElement;
  return (
    item.getAttribute("aria-label") || item.placeholder || item.innerText.trim() || item.tagName
  );
}"""
VIEWS = ["Runs", "Curves", "Images", "Audio", "Text", "Histograms", "More"]
VIEWS += ["Hparams", "Compare", "Run", "SQL", "TensorBoards"]
HEADER = ["List of runs", *VIEWS, "Views", "Theme", "Save as report"]
SIDEBAR = ["Filter runs by name", "Condition", "none", "All", "None"]


def list_focused(page, count):
    """Press Tab `count` times and return the name of each focused element."""
    names = []
    for _ in range(count):
        page.keyboard.press("Tab")
        names.append(page.evaluate(FOCUSED))
    return names


def tab_to(page, target):
    """Press Tab until an element has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if target.evaluate("target => target === document.activeElement"):
            return
    raise AssertionError("Tab does not reach the element")


def test_tab_moves_through_the_header_and_the_list_in_order(show):
    page = show(tab="runs")
    assert list_focused(page, len(HEADER) + len(SIDEBAR)) == HEADER + SIDEBAR
    # The list is a single tab stop; arrow keys move within it.
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    second = page.get_by_role("complementary").get_by_role("checkbox", name=RUNS[1])
    expect(second).to_be_focused()
    page.keyboard.press("Space")
    expect(second).not_to_be_checked()


def test_enter_opens_every_view(show):
    page = show(tab="runs")
    for name in VIEWS:
        button = page.get_by_role("navigation", name="Views").get_by_role(
            "button", name=name, exact=True
        )
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-current", "page")
        expect(button).to_be_focused()
    expect(page.get_by_role("main")).to_contain_text("No TensorBoard is running.")


def test_keys_move_select_sort_and_open_in_the_table(show):
    page = show(tab="runs")
    heading = page.get_by_title("Sort by hparam lr", exact=True)
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


def test_escape_closes_a_menu_and_returns_the_focus(show):
    page = show()
    button = page.get_by_role("button", name="Views")
    tab_to(page, button)
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    expect(page.get_by_label("View name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("View name")).to_have_count(0)
    expect(button).to_be_focused()

"""Images, audio clips, text entries and histograms in the page."""

import re

from helpers.page_logs import PICTURE_STEPS, RUNS
from helpers.pages import eventually, read_pixels
from playwright.sync_api import expect


def captions(page):
    """Return the captions above the images."""
    return page.locator("main figure figcaption")


def test_images_of_all_runs_follow_one_slider(show):
    page = show(tab="images", full="plain")
    expect(captions(page)).to_contain_text([f"{run}step 200" for run in RUNS])
    pictures = page.locator("main figure img")
    eventually(page, lambda: sizes(pictures) == [[60, 40]] * len(RUNS))
    slider = page.get_by_role("slider", name="Step")
    slider.press("Home")
    expect(captions(page)).to_contain_text(["step 0"] * len(RUNS))
    slider.press("ArrowRight")
    expect(captions(page)).to_contain_text([f"step {PICTURE_STEPS[1]}"] * len(RUNS))
    page.wait_for_url(f"**step={PICTURE_STEPS[1]}*")


def sizes(pictures):
    """Return the width and height of each decoded image."""
    return pictures.evaluate_all("all => all.map(img => [img.naturalWidth, img.naturalHeight])")


def test_boxes_and_masks_are_filtered_by_layer_label_and_score(show):
    page = show(tab="images", full="found", search=RUNS[0])
    frames = page.locator("main figure svg rect")
    masks = page.locator("main figure canvas")
    expect(frames).to_have_count(2)
    expect(page.locator("main figure svg text")).to_have_text(["cat 0.9", "dog 0.4"])
    assert sum(read_pixels(masks)[0].values()) == 10 * 20 + 15 * 25
    page.get_by_label("Minimum score").fill("0.5")
    expect(frames).to_have_count(1)
    eventually(page, lambda: sum(read_pixels(masks)[0].values()) == 10 * 20)
    page.get_by_role("checkbox", name="cat").uncheck()
    expect(frames).to_have_count(0)
    page.get_by_role("checkbox", name="cat").check()
    page.get_by_role("combobox", name="Overlay").select_option("boxes")
    expect(masks).to_have_count(0)
    page.get_by_role("combobox", name="Overlay").select_option("none")
    expect(frames).to_have_count(0)


def test_clips_can_be_played(show):
    page = show(tab="audio", search=RUNS[0])
    clip = page.locator("main audio")
    expect(page.get_by_role("main")).to_contain_text("8,000 Hz, 0.10 s")
    length = clip.evaluate(
        """async clip => {
          clip.muted = true;
          const ended = new Promise((done, fail) => {
            clip.onended = done;
            clip.onerror = () => fail(clip.error.message);
          });
          await clip.play();
          await ended;
          return clip.duration;
        }"""
    )
    assert abs(length - 0.1) < 0.01


def test_text_is_formatted_or_plain(show):
    page = show(tab="text", full="notes/text_summary", search=RUNS[0])
    entry = page.locator("main article")
    expect(entry.get_by_role("heading", name="Step 200", exact=True)).to_be_visible()
    expect(entry.locator("strong")).to_have_text("learns")
    expect(entry.get_by_role("listitem")).to_have_text(["a", "b"])
    expect(entry.locator("code")).to_have_text("a")
    page.get_by_label("Plain text").check()
    expect(entry.locator("pre")).to_have_text("# Step 200\n\nIt **learns**:\n\n- `a`\n- b")
    page.get_by_role("slider", name="Step").press("Home")
    expect(entry.locator("pre")).to_contain_text("# Step 0")


def test_histograms_are_ridges_and_quantiles(show):
    page = show(tab="histograms")
    drawings = page.get_by_role("main").get_by_role("img")
    expect(drawings).to_have_count(len(RUNS))
    expect(drawings.first).to_have_attribute("aria-label", re.compile(f"weights of {RUNS[0]}"))
    ridges = drawings.first.locator("polygon")
    expect(ridges).to_have_count(len(PICTURE_STEPS))
    assert all(ridge.bounding_box()["height"] > 3 for ridge in ridges.all())
    page.get_by_role("combobox", name="Show as").select_option("bands")
    expect(ridges).to_have_count(4)
    expect(drawings.first.locator("polyline")).to_have_count(1)


def test_images_of_deselected_runs_are_hidden(show):
    page = show(tab="images", full="plain")
    expect(captions(page)).to_have_count(len(RUNS))
    page.get_by_role("checkbox", name=RUNS[1]).uncheck()
    expect(captions(page)).to_have_count(len(RUNS) - 1)

"""Steps beyond the precision of JavaScript numbers are shown and found exactly."""

import numpy as np
import pytest
from helpers.pages import eventually, serve_page
from playwright.sync_api import expect

import runfold as rf

STEPS = [-(2**53) - 1, -(2**53), 0, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    with rf.track(folder / "logs" / "a", system=False) as run:
        for number, step in enumerate(STEPS):
            # Each image has a different width, to see which one was sent.
            run.add_image("picture", np.zeros((3, 4, 10 + number), np.uint8), step)
            run.add_audio("tone", np.zeros(100 + number), step, sample_rate=1000)
            run.add_text("notes", f"number {number}", step)
            run.add_histogram("weights", np.arange(9.0) + number, step)
            run.add_mesh("shape", [[[0, 0, 0], [1, 0, 0], [0, 1, number + 1]]], global_step=step)
        run.mark("late", step=STEPS[-2])
    with serve_page(folder / "logs", state=folder / "state") as served:
        yield served


def walk(page):
    """Move the slider to each step in turn, and yield the step's number and value."""
    slider = page.get_by_role("slider", name="Step")
    expect(slider).to_have_attribute("max", str(len(STEPS) - 1))
    slider.press("Home")
    for number, step in enumerate(STEPS):
        expect(slider).to_have_attribute("aria-valuetext", str(step))
        yield number, step
        slider.press("ArrowRight")


def test_images_match_the_step_and_the_link_keeps_it(show):
    page = show(tab="images")
    width = "image => image.naturalWidth"
    picture = page.locator("main figure img")
    for number, step in walk(page):
        expect(page.locator("main figcaption")).to_contain_text(f"step {step:,}")
        eventually(page, lambda number=number: picture.evaluate(width) == 10 + number)
        if step != STEPS[-1]:
            page.wait_for_url(f"**step={step}*")
            other = show(page.url)
            expect(other.locator("main figcaption")).to_contain_text(f"step {step:,}")
            other.close()


@pytest.mark.parametrize("tab", ["text", "audio"])
def test_text_entries_and_clips_match_the_step(show, tab):
    page = show(tab=tab, full="notes/text_summary" if tab == "text" else "tone")
    for number, step in walk(page):
        content = f"number {number}" if tab == "text" else f"{(100 + number) / 1000:.2f} s"
        expect(page.locator("main article")).to_contain_text(f"step {step:,}")
        expect(page.locator("main article")).to_contain_text(content)


def test_meshes_match_the_step(show):
    page = show(tab="more", part="meshes")
    for _, step in walk(page):
        expect(page.locator("main figcaption")).to_contain_text(f"step {step:,}")


def test_histograms_are_labeled_with_exact_steps(show):
    page = show(tab="histograms", isBands="true")
    drawing = page.get_by_role("main").get_by_role("img")
    expect(drawing.locator("text").nth(0)).to_have_text(f"{STEPS[0]:,}")
    expect(drawing.locator("text").nth(1)).to_have_text(f"{STEPS[-1]:,}")


def test_marks_of_a_run_show_their_step(show):
    page = show(tab="run", run="a")
    expect(page.get_by_role("main")).to_contain_text(f"step {STEPS[-2]:,}: late")

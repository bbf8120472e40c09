"""The page of the background service, which has TensorBoards but no runs."""

from contextlib import closing

from helpers.pages import MILLISECONDS, Faults
from helpers.services import own_state
from playwright.sync_api import expect

from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Store
from runfold._serve.tensorboards.service import ensure_service


def test_page_of_the_service_shows_only_its_tensorboards(browser, tmp_path):
    with own_state(tmp_path), closing(Store()) as store:
        instance = store.add(Sources(("/logs/of/mine",)), Options())
        store.update(instance.id, state="TERMINATED", wanted="down", exit_status=0)
        service = ensure_service()
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(service.link(instance.id))
        faults = Faults()
        faults.watch(page)
        page.goto(f"{service.page}/")
        expect(page.get_by_role("listitem", name=instance.name)).to_contain_text("mine")
        expect(page.get_by_role("main")).to_contain_text(
            "Start one with `runfold tensorboard start`."
        )
        header = page.get_by_role("banner")
        expect(header.get_by_role("heading")).to_have_text("TensorBoards")
        expect(header.get_by_role("button")).to_have_count(0)
        expect(page.get_by_role("complementary")).to_have_count(0)
        page.close()
        assert faults == []

"""The built documentation: every public name is in it, search works, and no host is contacted."""

from __future__ import annotations

import ast
import inspect
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from helpers.checkout import ROOT
from helpers.pages import browser

import runfold as rf

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

SITE = ROOT / "build" / "site"


@pytest.fixture(scope="module")
def documented() -> set[str]:
    """The names that the reference documents, from its inventory."""
    inventory = (SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split(" ", 1)[0] for line in zlib.decompress(inventory).decode().splitlines()}


@pytest.mark.parametrize("name", sorted(rf.__all__))
def test_every_public_name_is_in_the_reference(name: str, documented: set[str]) -> None:
    assert f"runfold.{name}" in documented


def test_every_adapter_for_a_framework_is_in_the_reference(documented: set[str]) -> None:
    modules = sorted((ROOT / "src" / "runfold" / "integrations").glob("[!_]*.py"))
    assert len(modules) > 20
    defined = {
        f"runfold.integrations.{path.stem}.{node.name}"
        for path in modules
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    assert defined - documented == set()


def list_members(cls: type) -> list[str]:
    """Return the public methods and properties of a class."""
    members = (name for name in dir(cls) if not name.startswith("_"))
    kinds = (property, classmethod, staticmethod)
    return [
        name
        for name in members
        if callable(value := inspect.getattr_static(cls, name)) or isinstance(value, kinds)
    ]


@pytest.mark.parametrize("name", ["Runs", "Run", "Series", "SummaryWriter", "track"])
def test_every_public_method_is_in_the_reference(name: str, documented: set[str]) -> None:
    # The page for `track` refers to the page for SummaryWriter for inherited members.
    inherited = set(list_members(rf.SummaryWriter)) if name == "track" else set()
    members = set(list_members(getattr(rf, name))) - inherited - set(list_members(Mapping))
    assert {member for member in members if f"runfold.{name}.{member}" not in documented} == set()


def test_search_works_without_a_server_and_contacts_no_host(browser: Browser) -> None:
    from playwright.sync_api import expect

    page = browser.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto((SITE / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("to_tensorboard")
    expect(page.get_by_role("option").filter(has_text="to_tensorboard").first).to_be_visible()
    assert [url for url in requested if not url.startswith(("file:", "blob:", "data:"))] == []
    page.close()


def test_no_page_contacts_another_host(browser: Browser) -> None:
    page = browser.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    for path in sorted(SITE.rglob("*.html")):
        page.goto(path.as_uri())
    assert len(requested) > 100
    assert [url for url in requested if not url.startswith(("file:", "blob:", "data:"))] == []
    page.close()

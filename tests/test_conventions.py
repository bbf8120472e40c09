"""The names of files and tags are defined only in `runfold._conventions`."""

import ast
from pathlib import Path

import pytest
from helpers.checkout import ROOT

from runfold import _conventions as conventions

SOURCES = ROOT / "src" / "runfold"
MODULES = sorted(path for path in SOURCES.rglob("*.py") if path != SOURCES / "_conventions.py")

# Strings in other modules must not contain these.
DISTINCT = (
    conventions.SIDE_FOLDER,
    conventions.STOP_SEEN,
    conventions.RANK_ZERO,
    conventions.EXPERIMENTS,
    conventions.UNFINISHED_ARTIFACT,
    conventions.PACK_MARKER,
    conventions.PACK_PART,
    conventions.MOVED_INFIX,
    conventions.HPARAMS_PREFIX,
    conventions.CUSTOM_SCALARS_TAG,
    conventions.PROJECTOR_CONFIG,
    conventions.EVENT_FILE_MARK,
    ".profile-empty",
)
# Strings in other modules must not start with these.
PREFIXES = (conventions.STORY_PREFIX, conventions.SYSTEM_PREFIX, conventions.BATCH_PREFIX)
# Words with other uses: other modules must not define them as constants or build paths from them.
WORDS = {
    conventions.HEARTBEAT,
    conventions.STOP,
    conventions.CLAIM,
    conventions.FETCHED,
    conventions.ARTIFACTS,
    conventions.PLUGINS,
}
# Paths of TensorBoard instances' pages, which are not tags.
OTHER_USES = {
    "_serve/tensorboards/key_gate.py": "/runfold/",
    "_serve/tensorboards/instance.py": "/runfold/",
}


def find_copies(source: str, allowed: str | None = None) -> list[str]:
    """Return the copied names in a module, with their line numbers."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    constants = {
        id(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
    }
    joined = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.path.join", "Path")
        for argument in node.args
    }
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        if not isinstance(text, str) or " " in text or (allowed and allowed in f"/{text}"):
            continue  # prose can mention a file or a tag
        is_copy = any(name in text for name in DISTINCT) or text.startswith(PREFIXES)
        is_copied_word = text in WORDS and id(node) in constants | joined
        if is_copy or is_copied_word:
            found.append(f"{node.lineno}: {text!r}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_no_module_has_a_copy_of_a_name(path: Path) -> None:
    name = path.relative_to(SOURCES).as_posix()
    assert find_copies(path.read_text(encoding="utf-8"), OTHER_USES.get(name)) == []


@pytest.mark.parametrize(
    "line",
    [
        'SIDE = ".runfold"',
        'path.endswith(f"{name}.runfold-demo")',
        'if "tfevents" in name: pass',
        'tag.startswith("system/")',
        '_STOP = "stop"',
        'os.path.join(folder, "plugins")',
        'DRAFT = f".runfold-{number}.tmp"',
    ],
)
def test_copies_are_found(line: str) -> None:
    assert len(find_copies(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        '"""Files with `tfevents` in their name."""',
        'row["heartbeat"]',
        'raise E("no tfevents there")',
    ],
)
def test_prose_and_keys_are_not_copies(line: str) -> None:
    assert find_copies(line) == []


def test_the_profilers_empty_file_marks_a_run_but_has_no_events() -> None:
    name = "a/events.out.tfevents.17.host.profile-empty"
    assert conventions.is_run_file(name)
    assert not conventions.is_event_file(name)
    assert conventions.is_event_file("a/events.out.tfevents.17.host")
    assert not conventions.is_event_file("tfevents/notes.txt")


def test_temporary_names_are_recognized() -> None:
    name = conventions.name_temporary()
    assert conventions.is_temporary(name)
    assert name != conventions.name_temporary()
    assert not conventions.is_temporary(f"{name}-old")

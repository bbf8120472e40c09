"""The sentences that people read in the sources, and the phrasings that plain English avoids."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

# Phrasing to avoid, and what to write instead.
INSTEAD = {
    r"(?:is|are|was|were|be|been|being|gets?) told": "say who reports it: prints, reports, shows",
    r"(?:tells?|told) (?:of|as)": "reports, shows, is reported as",
    r"(?<!there )(?:is|are|was|were|be) no "
    r"(?!longer|more\b|matter|worse|better|other|less|fewer)\w+": "is not a",
    r"beside": "next to, alongside, compared with",
    r"behind (?:it|them|that|this|one|each)": "after, following",
    r"(?:at most|at least|every|after|for|than|only|in) so (?:many|long|often|much)": "this many",
    r"so many (?:of|times|bytes|seconds|rows|points|runs|lines)": "this many, N times",
    r"(?:go|goes|going|went|gone) on": "continue",
    r"(?:row|line|file|column|object|entry|curve|point|panel|thread|process) an? "
    r"(?:run|kind|tag|line|row|file|group|point|series|value|step|panel|core)": "one row per run",
    r"an? (?:file|line|row|column|folder|panel|name|curve|thread) each": "one file per kind",
    r"anew": "again, from scratch",
    r"that (?:is|are|was|were) there": "existing",
    r"what is there": "the existing file",
    r"may be given again": "repeatable",
    r"leads? nowhere": "does not exist",
    r"from \d+ on": "at least, non-negative",
    r"(?:is|are|was|were) meant": "expected; for",
    r"(?:lies?|lay|stands?|stood) (?:in|at|below|above|next|there|before|on)": "is in, is at",
    r"asked for": "requested",
    r"of (?:its|their|his|your|our|my) own": "its own, a separate",
    r"in what (?:they|two|it|these)": "how they differ",
    r"(?:is|are) (?:wished for|wanted|wished)": "requested",
    r"by then": "so far",
    r"by and by": "gradually",
    r"likewise": "also, the same way",
    r"all the same(?= |[.,;])": "anyway",
    r"insist(?:s|ed)?": "confirm",
    r"of which": "a clause of its subject: 'tags whose', or two sentences",
    r"(?:is|are|was|were) of no": "is not",
    r"as at first": "reset, default",
    r"none is (?:given|named|chosen)": "by default",
    r"such as (?:are|is|was|were)": "that are",
    r"(?:takes?|gives?) nothing": "accepts no, returns nothing",
    r"makes? nothing of": "ignores",
    r"to one scale": "on a common scale",
    r"(?:leads?|led) out of": "points outside",
    r"calls of": "calls to",
    r"\w*(?:colour|centre|behaviour|neighbour)\w*": "American spelling: color, center",
}
AVOIDED = re.compile("|".join(rf"(?P<_{i}>\b{each}\b)" for i, each in enumerate(INSTEAD)), re.I)
_REASONS = list(INSTEAD.values())

# Words that make an identifier vague: use a noun instead (message, request, run).
VAGUE_WORDS = {"told", "said", "asked"}
VAGUE_NAMES = {"one", "ones"}


def find_avoided(text: str) -> list[str]:
    """Return each avoided phrase in a text, with its surroundings and what to write instead."""
    text = " ".join(text.split())
    found = []
    for match in AVOIDED.finditer(text):
        reason = _REASONS[int((match.lastgroup or "_0")[1:])]
        context = text[max(0, match.start() - 50) : match.end() + 40]
        found.append(f"'{match[0]}' in '...{context}...': write {reason}")
    return found


def read_python(path: Path, *, with_strings: bool) -> Iterator[tuple[int, str]]:
    """Yield the line and text of docstrings, comments, test names and optionally other strings."""
    source = path.read_text()
    yield from _comments(source)
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.body and isinstance(node.body[0], ast.Expr):
                docstrings.add(id(node.body[0].value))
            if not isinstance(node, ast.Module) and node.name.startswith("test_"):
                yield node.lineno, node.name.replace("_", " ")
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if id(node) in inner or not (with_strings or id(node) in docstrings):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))


def read_cython(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each comment and string in a Cython file."""
    source = path.read_text()
    yield from _comments(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING:
            yield token.start[0], token.string


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each comment; comments on adjacent lines are joined."""
    start, end, words = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != end + 1:
                yield start, words
                start, words = token.start[0], ""
            words += token.string.lstrip("#")
            end = token.start[0]
    yield start, words


def read_paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each paragraph in a text file, without code blocks and spans."""
    text = path.read_text()
    if path.suffix == ".md":
        text = re.sub(
            r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S
        )
        text = re.sub(r"`[^`\n]+`", "`code`", text)
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", text):
        yield line, re.sub(r"\n\s*(?://|\*|#)", " ", paragraph)
        line += paragraph.count("\n")


def find_vague_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each variable, parameter and function with a vague name."""
    for node in ast.walk(ast.parse(path.read_text())):
        name = _name_of(node)
        if name in VAGUE_NAMES or VAGUE_WORDS & set(name.lower().split("_")):
            yield getattr(node, "lineno", 0), name


def _name_of(node: ast.AST) -> str:
    """Return the identifier that a node defines, or an empty string if it defines none."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
        case ast.arg(arg=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return ""

"""Every fault that a log can have is made by at least one test.

A test names its fault by `@pytest.mark.fault(number)`. The numbers:

1-16    framing: empty, torn, corrupt, zero-filled, compressed files; absurd lengths
17-34   payload: malformed events, strange tags, mixed kinds, bad tensors, odd numbers
35-41   ordering and restarts
42-55   files and directories: missing, growing, replaced, unreadable, special ones
56-64   writing: disk full, killed, existing output, two writers, fork, gaps between runs
65      queries: a memory limit that is reached
66-69   side files, links and shared folders that somebody else controls; folders made again
70-73   packs that lie, a million tags, odd keys in a store, machines that start at once
74-77   forged heartbeats, resumed runs, signals, values that another writer would take
"""

import ast

from helpers.checkout import ROOT

FAULTS = set(range(1, 78))


def faults_made(source: str) -> set[int]:
    """The numbers of all `pytest.mark.fault(...)` in a module."""
    return {
        argument.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, int)
    }


def test_every_fault_is_made_by_a_test():
    made = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        made |= faults_made(path.read_text())
    assert sorted(FAULTS - made) == []

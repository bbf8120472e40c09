"""At least one test covers every fault that a log can have.

A test names its fault with `@pytest.mark.fault(number)`. The numbers:

1-16    framing: empty, torn, corrupt, zero-filled, compressed files; absurd lengths
17-34   payload: malformed events, strange tags, mixed kinds, bad tensors, odd numbers
35-41   ordering and restarts
42-55   files and folders: missing, growing, replaced, unreadable, special
56-64   writing: disk full, killed, existing output, two writers, fork, gaps between runs
65      queries: memory limits
66-69   side files, links and shared folders that another user controls; recreated folders
70-73   malicious packs, a million tags, odd keys in a store, simultaneous starts
74-77   forged heartbeats, resumed runs, signals, values that other writers accept
"""

import ast

from helpers.checkout import ROOT

FAULTS = set(range(1, 78))


def covered_faults(source: str) -> set[int]:
    """Return the numbers of all `pytest.mark.fault(...)` in a module."""
    return {
        argument.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, int)
    }


def test_every_fault_is_covered_by_a_test():
    made = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        made |= covered_faults(path.read_text())
    assert sorted(FAULTS - made) == []

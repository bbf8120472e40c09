"""The source code avoids forbidden operations, such as unpickling data."""

import ast
import re
from functools import cache
from pathlib import Path

from helpers.checkout import ROOT

import runfold

PACKAGE = Path(runfold.__file__).parent
WEB = ROOT / "web"
SOURCES = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]

# Messages from the parent to a query process, which has fewer rights than the parent.
UNPICKLED = {
    "_tables/sql/query_process.py": {"pickle.loads"},
    # Loads what it has just pickled, to see whether an error can be sent.
    "_engines/ray_tasks.py": {"pickle.loads"},
}
BANNED = {
    *("eval", "exec", "compile", "__import__"),
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads"),
    *("shelve.open", "dill.load", "dill.loads", "joblib.load", "torch.load"),
    *("yaml.load", "yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "pd.read_pickle"),
    *("os.system", "os.popen", "os.spawnl", "os.spawnv", "subprocess.getoutput"),
    *("tarfile.open", "shutil.unpack_archive"),
}
# Modules that fetch from the network.
FETCHING = {"urllib.request", "http.client", "httpx", "requests", "aiohttp", "ftplib", "smtplib"}
# Commands call the user's own service. Only the user can write the file with its address.
EXCEPTIONS = {"_serve/tensorboards/service.py": {"http.client"}}
# The address of an instance comes from its own process, and that of a cluster from the user.
DESTINATIONS = {
    "_serve/tensorboards/instance.py": {"address.host"},
    "_serve/tensorboards/upstream.py": {"address.host"},
    "_serve/clusters/cluster_process.py": {"self._address"},
}
STARTING = ("subprocess.Popen", "subprocess.run", "subprocess.check_output", "subprocess.call")


@cache
def nodes(name):
    return list(ast.walk(ast.parse((PACKAGE / name).read_text())))


def calls(names=SOURCES):
    """Yield the file, the called name and the node of every call in the given files."""
    for name in names:
        for node in nodes(name):
            if isinstance(node, ast.Call):
                yield name, ast.unparse(node.func), node


def imports(name):
    for node in nodes(name):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_rule_6_secrets_are_compared_in_constant_time_only():
    name = "_serve/http/access.py"
    compared = [ast.unparse(node) for node in nodes(name) if isinstance(node, ast.Compare)]
    assert not [
        comparison for comparison in compared if re.search("token|cookie|ticket|secret", comparison)
    ]
    assert "hmac.compare_digest" in {called for _, called, _ in calls([name])}


def test_rules_23_24_and_26_data_is_never_executed_or_unpacked():
    for name, called, call in calls():
        # `exec("")` executes nothing; it resets the interpreter after an interrupt.
        if called not in UNPICKLED.get(name, ()) and ast.unparse(call) != "exec('')":
            assert called not in BANNED, f"{name}: {called}"
        assert not called.endswith(".extractall"), f"{name}: {called}"
        for option in call.keywords:
            if option.arg in ("allow_pickle", "shell"):
                assert ast.unparse(option.value) == "False", f"{name}: {called}"
    # Nor are they imported under a short name.
    assert not [name for name in SOURCES if BANNED & set(imports(name))]


def test_rule_25_the_server_imports_no_http_client():
    served = [name for name in SOURCES if name.startswith("_serve/")]
    assert len(served) > 40
    for name in served:
        assert not FETCHING & set(imports(name)) - EXCEPTIONS.get(name, set()), name
    connecting = ("create_connection", "open_connection")
    connections = [call for call in calls(served) if call[1].endswith(connecting)]
    assert connections
    for name, _, call in connections:
        arguments = set(map(ast.unparse, call.args))
        assert arguments & {"'127.0.0.1'", *DESTINATIONS.get(name, ())}, name


def test_rule_26_processes_get_a_list_of_arguments():
    started = [call for call in calls() if call[1] in STARTING]
    assert started
    for name, called, call in started:
        is_text = isinstance(call.args[0], ast.Constant | ast.JoinedStr)
        assert not is_text, f"{name}: {called}"


def test_rule_27_temporary_files_and_folders_are_private():
    made = {called for _, called, _ in calls() if called.startswith("tempfile.")}
    # The last one only returns where they are made.
    assert made <= {
        *("tempfile.mkstemp", "tempfile.mkdtemp", "tempfile.TemporaryDirectory"),
        "tempfile.gettempdir",
    }


def test_rule_16_lint_bans_raw_html():
    assert '"noDangerouslySetInnerHtml": "error"' in (WEB / "biome.json").read_text()
    for path in (WEB / "src").rglob("*.ts*"):
        matches = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", path.read_text()
        )
        assert matches == [] or ".test." in path.name, path


def test_rule_19_the_page_names_no_other_server():
    # An XML namespace, and the base URL in a report, which has no server.
    allowed = ("http://www.w3.org/", "http://report")
    pages = [WEB / "index.html", *(path for path in (WEB / "src").rglob("*.*") if path.is_file())]
    assert len(pages) > 20
    for path in pages:
        if ".test." in path.name:
            continue
        for url in re.findall(r"https?://[^\s\"'`)]*", path.read_text()):
            assert url.startswith(allowed), f"{path}: {url}"

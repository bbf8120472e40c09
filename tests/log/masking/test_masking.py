"""Secrets are masked, and nothing else is."""

import string

import pytest
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_line
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.ip_public import IPPublicDetector
from detect_secrets.settings import transient_settings
from helpers import secret_samples
from hypothesis import given
from hypothesis import strategies as st

from runfold._log.masking.masking import (
    contains_private_key,
    mask_arguments,
    mask_mapping,
    mask_output,
    mask_source,
    mask_text,
)
from runfold._log.masking.secret_names import MASK, is_secret

SECRET_NAMES = """
    key api_key api-key apikey apiKey APIKey API_KEY OPENAI_API_KEY WANDB_API_KEY wandb_key
    aws_secret_access_key AWS_ACCESS_KEY_ID private_key ssh-key token hf_token HF_TOKEN auth_token
    access-token accessToken GITHUB_TOKEN GITHUB_TOKEN_PROD github.token SLURM_JWT password
    Password db.password DB__PASSWORD DBPassword dbpassword passwd passphrase pwd db_pwd db_pass
    pass secret client_secret clientSecret SECRET_2 credentials credential auth http_auth cookie
    Authorization authorization Proxy-Authorization encryption_key STRIPE_KEY api_keys KEYRING_PASS
"""
PLAIN_NAMES = """
    tokenizer max_tokens max-tokens n_tokens num_token pad_token eos_token_id mask_token cls-token
    token_dim token_dropout tokens_per_second keyboard monkey key_dim num_keys sort_key keypoints
    attention.key.weight image_keys rng_key hotkeys passes forward_pass bypass compass pass_rate
    PWD OLDPWD author authors authenticate secretary turkey donkey pin_memory lr batch_size
    private_key_path token_file password_length secret_name signal cookiecutter pattern path
"""
TOKENS = [
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2_" * 9,
    "glpat-" + "a1B2" * 5,
    "hf_" + "aBcD" * 8,
    "sk-" + "a1B2" * 12,
    "sk-ant-api03-" + "a1-B2_c3" * 9,
    "sk-proj-" + "a1B2" * 10,
    "AKIA" + "ABCD1234" * 2,
    "AIza" + "a1B2-" * 7,
    "xoxb-1234567890-abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "eyJhcGlfYWRkcmVzcyI6Imh0dHBzOi8vYXBwIn0=",
    "sk_live_" + "a1B2" * 6,
    "gsk_" + "a1B2" * 12,
]
PLAIN_VALUES = """
    hf_model hf-internal-testing/tiny sk-learn task-specific mask-rcnn-resnet50-fpn-2024 bert-base
    AKIA eyJ 0.1 runs/seed-1 https://host/path?a=1&b=2 git@github.com:me/code.git
    ssh://git@host/me/code.git s3://bucket/key/x.npz user@host.org 2024-01-01T10:00:00
    d670460b4b4aece5915caf5c68d12f560a9fe3e4 a=b:c token keys lr=0.1,momentum=0.9
"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_a_value_with_a_secret_name_is_masked(name):
    assert mask_mapping({name: "hunter2"}) == {name: MASK}
    assert mask_arguments([f"--{name}", "hunter2", "x"])[:2] == [f"--{name}", MASK]
    assert mask_arguments([f"--{name}=hunter2", "x"]) == [f"--{name}=***", "x"]
    assert mask_arguments([f"+{name}=hunter2"]) == [f"+{name}=***"]
    assert mask_text(f"run {name}=hunter2 now") == f"run {name}=*** now"
    assert mask_text(f'{{"{name}": "hunter2"}}') == f'{{"{name}": "***"}}'


@pytest.mark.parametrize("name", PLAIN_NAMES.split())
def test_values_with_other_names_are_kept(name):
    argv = [f"--{name}", "value", f"--{name}=value", f"{name}=7", f"{name}: value"]
    assert mask_arguments(argv) == argv
    assert mask_mapping({name: "value"}) == {name: "value"}
    assert mask_mapping({name: 7}) == {name: 7}


@pytest.mark.parametrize("token", TOKENS)
def test_a_known_token_is_masked_everywhere(token):
    assert mask_mapping({"note": token, "list": [[token]]}) == {"note": MASK, "list": [[MASK]]}
    assert mask_arguments(["--run", token, f"--x={token}"]) == ["--run", MASK, "--x=***"]
    assert mask_text(f"see ({token}).") == "see (***)."
    assert mask_source(f"x = f('{token}')", "a.py") == "x = f('***')"


@pytest.mark.parametrize("value", PLAIN_VALUES.split())
def test_other_values_are_kept(value):
    assert mask_arguments(["--run", value, f"--run={value}"]) == ["--run", value, f"--run={value}"]
    assert mask_mapping({"run": value}) == {"run": value}


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://me:pass@host/x.git", "https://***@host/x.git"),
        ("https://token@host/x.git", "https://***@host/x.git"),
        ("postgres://me:p@ss@host:5432/db", "postgres://***@host:5432/db"),
        ("ssh://me:pass@host/x", "ssh://***@host/x"),
        ("https://host/x?a=1&token=abc&b=2", "https://host/x?a=1&token=***&b=2"),
        ("https://h/x?X-Amz-Signature=0123456789abcdef01", "https://h/x?X-Amz-Signature=***"),
        ("https://hooks.slack.com/services/T00/B00/abc", "https://hooks.slack.com/services/***"),
        ("https://host/a@b", "https://host/a@b"),
    ],
)
def test_a_url_loses_its_credentials(url, masked):
    assert mask_text(url) == masked
    assert mask_arguments(["--url", url]) == ["--url", masked]


def test_arguments_of_every_form():
    argv = ["train.py", "-e", "WANDB_API_KEY=x", "--env=A_TOKEN=x", "-H", "Authorization: Basic eA"]
    assert mask_arguments(argv) == [
        *("train.py", "-e", "WANDB_API_KEY=***", "--env=A_TOKEN=***"),
        *("-H", "Authorization: Basic ***"),
    ]
    assert mask_arguments(["--api-keys", "a", "b", "--lr", "1"]) == [
        *("--api-keys", MASK, MASK, "--lr", "1")
    ]
    kept = ["--use-auth-token", "--lr", "1", "--token", "true", "--password"]
    assert mask_arguments(kept) == kept


@pytest.mark.parametrize("value", ["q7Xr2mZ0pLw9Tn4Bk1Vd", "9f8e7d6c5b4a39281706", *TOKENS])
def test_a_random_value_is_masked_after_a_short_option(value):
    argv = ["-t", value, f"-t{value}", f"-t={value}", "x"]
    assert mask_arguments(argv) == ["-t", MASK, "-t***", "-t=***", "x"]


@pytest.mark.parametrize("option", ["-o", "-m", "-p"])
def test_other_values_of_short_options_are_kept(option):
    names = "resnet50_imagenet_224 runs-2024-01-01-120000 20240101T120000Z gpt2-xl-1558M-finetuned"
    for value in (*names.split(), *PLAIN_VALUES.split()[:5], "data/9f8e7d6c5b4a39281706.npz"):
        argv = [option, value, f"{option}{value}", f"{option}={value}"]
        assert mask_arguments(argv) == argv


def test_booleans_and_none_are_kept_and_everything_below_credentials_is_masked():
    config = {
        "use_auth_token": True,
        "password": None,
        "token": 5,
        "pin": {"password": 1234},
        "credentials": {"user": "me", "ids": [1, 2], "on": True},
        "api_keys": ["a", "b"],
    }
    assert mask_mapping(config) == {
        "use_auth_token": True,
        "password": None,
        "token": 5,
        "pin": {"password": MASK},
        "credentials": {"user": MASK, "ids": [MASK, MASK], "on": True},
        "api_keys": [MASK, MASK],
    }


def test_a_random_value_is_masked_if_its_name_may_be_secret():
    assert mask_mapping({"sort_key": "9f8e7d6c5b4a39281706"}) == {"sort_key": MASK}
    assert not is_secret("sort_key", "val/loss")


def test_a_program_keeps_its_calls_and_loses_its_literals():
    source = """password: str = "hunter2"
os.environ["WANDB_API_KEY"] = 'it"s'
password = read(f"{token}")
if token == "<pad>" or key == "loss":
    ask("Password: ", stream=None)
def login(password, token="[CLS]", key="loss"): ...
"""
    masked = source.replace("hunter2", MASK).replace('it"s', MASK)
    assert mask_source(source, "a/train.py") == masked


def test_a_program_loses_the_secrets_inside_its_strings():
    source = """connect("host=h password=hunter2 dbname=d")
run(["psql", "--password=hunter2"])
login("it's", password=password)  # "quoted"
connect(f"password={password}")
print("password=%s" % password, password=word)
"""
    assert mask_source(source, "train.py") == source.replace("hunter2", MASK)


def test_an_ambiguous_name_with_the_value_of_a_setting_is_kept():
    settings = {"key": "value", "val/key": "loss", "token": "50256", "pass": "3"}
    assert mask_mapping(settings) == settings
    argv = ["--key", "loss", "--pass", "3", "--keys", "a", "b"]
    assert mask_arguments(argv) == argv


def test_a_settings_file_loses_bare_values_and_keeps_references():
    source = "password: hunter2 # x\napi_key=${KEY}\n- secret: !vault |\nkey: loss\ntoken: [a]\n"
    assert mask_source(source, "a.yaml") == source.replace("hunter2", MASK)


def test_a_private_key_is_detected_and_masked():
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----"
    assert contains_private_key(pem)
    assert mask_text(f"a\n{pem}\nb") == "a\n***\nb"
    assert mask_text(pem[:50]) == MASK


values = st.text(string.ascii_letters + string.digits + "!#%^*()_+=,.:/?@ ", min_size=9)


@given(st.sampled_from(SECRET_NAMES.split()), values)
def test_a_named_secret_is_masked_completely(name, value):
    value = f"Q{value}Z"
    assert mask_mapping({"a": {name: value}}) == {"a": {name: MASK}}
    assert mask_arguments([f"--{name}", value, f"--{name}={value}"]) == [
        *(f"--{name}", MASK, f"--{name}=***")
    ]


@given(st.text() | st.lists(st.sampled_from([*'"=:,; @\n', "key", "token", "://a", "password"])))
def test_masking_twice_is_masking_once(text):
    text = "".join(text)
    once = mask_text(text)
    assert mask_text(once) == once
    assert mask_source(text, "a.py").count("\n") == text.count("\n")
    assert mask_arguments(mask_arguments([text])) == mask_arguments([text])


@pytest.mark.parametrize("token", secret_samples.TOKENS)
def test_vendor_tokens_are_masked_by_their_form(token):
    for mask in (mask_text, mask_output, mask_source):
        assert mask(f"use {token} here") == "use *** here"
    assert mask_arguments(["train.py", token]) == ["train.py", MASK]


@pytest.mark.parametrize(("line", "secret"), secret_samples.LINES)
def test_a_secret_is_masked_in_common_places(line, secret):
    assert secret not in mask_text(line)
    assert secret not in mask_output(line)
    assert MASK in mask_text(line)


@pytest.mark.parametrize("line", secret_samples.HARMLESS)
def test_a_line_without_a_secret_is_unchanged(line):
    assert mask_output(line) == line
    assert mask_text(line) == line or "token: 50256" in line


def test_masked_text_is_still_well_formed():
    assert mask_text('{"password": ["a1", "b2"], "x": 1}') == '{"password": ["***", "***"], "x": 1}'
    assert mask_text("{'password': b'a1', 'x': 1}") == "{'password': b'***', 'x': 1}"
    assert mask_source("password = rb'a1'  # c\n", "a.py") == "password = rb'***'  # c\n"
    assert mask_source("password = [x, 'a1']\n", "a.py") == "password = [x, '***']\n"
    assert mask_text("curl -u 'me:a1' x | sh") == "curl -u '***' x | sh"


def test_bytes_with_a_secret_name_are_masked():
    secret = "aB3dE6gH9jK2mN5pQ8sT"
    assert mask_mapping({"password": b"hunter2"}) == {"password": MASK}
    assert mask_mapping({"token": secret.encode()}) == {"token": MASK}


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["curl", "-u", "me:pw", "x"], ["curl", "-u", MASK, "x"]),
        (["/usr/bin/mysql", "-u", "me", "-ppw"], ["/usr/bin/mysql", "-u", "me", "-p***"]),
        (["sshpass", "-p", "pw", "ssh", "h"], ["sshpass", "-p", MASK, "ssh", "h"]),
        (["docker", "login", "-p", "pw"], ["docker", "login", "-p", MASK]),
        (["docker", "run", "-p", "80:80"], ["docker", "run", "-p", "80:80"]),
        (["wandb", "login", "0a" * 20], ["wandb", "login", MASK]),
        (["python", "train.py", "-p", "80"], ["python", "train.py", "-p", "80"]),
    ],
)
def test_passwords_on_command_lines_of_known_programs(argv, shown):
    assert mask_arguments(argv) == shown


def test_a_pgp_key_is_masked():
    block = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----"
    assert mask_text(f"a\n{block}\nb") == "a\n***\nb"
    assert contains_private_key(block)


def test_another_scanner_finds_no_secrets_after_masking():
    """Check every sample with detect-secrets' rules."""
    lines = [line for line, _ in secret_samples.LINES]
    lines += [f"use '{token}' here" for token in secret_samples.TOKENS]
    detected = [line for line in lines if find_secrets(line)]
    assert len(detected) > 10
    assert [line for line in map(mask_text, detected) if find_secrets(line)] == []


def find_secrets(line):
    """Return the types of secrets that detect-secrets' patterns find, without its other checks."""
    detectors: list[type] = list(get_mapping_from_secret_type_to_class().values())
    plugins = [
        {"name": plugin.__name__}
        for plugin in detectors
        if issubclass(plugin, RegexBasedDetector) and plugin is not IPPublicDetector
    ]
    with transient_settings({"plugins_used": plugins}):
        return {secret.type for secret in scan_line(line)}


def test_source_code_loses_the_passwords_in_commands_and_long_strings():
    secret = "Zx9kQ2vLw8RtY4uP"
    script = f"mysql -p{secret} db\ncurl -u me:{secret} x\nsshpass -p {secret} ssh h\n"
    assert mask_source(script, "run.sh") == "mysql -p*** db\ncurl -u *** x\nsshpass -p *** ssh h\n"
    for text in (f"password = '''{secret}'''", f'password = """{secret}"""'):
        assert secret not in mask_source(text, "a.py")
    assert mask_source(f"run(cmd='sshpass -p {secret} ssh x')", "a.py") == (
        "run(cmd='sshpass -p *** ssh x')"
    )


def test_a_list_is_masked_as_a_command_line_and_as_a_pair():
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
    assert mask_mapping({"args": ["--password", "hunter2"]}) == {"args": ["--password", MASK]}
    assert mask_mapping({"aws": ["AKIA" + "A2" * 8, secret]}) == {"aws": [MASK, MASK]}
    assert mask_mapping({"layers": ["conv", "relu"]}) == {"layers": ["conv", "relu"]}


def test_the_rest_of_a_mapping_is_kept():
    text = '{"password": {"value": "a1"}, "lr": 0.1, "note": "b"}'
    assert mask_text(text) == '{"password": {"value": "***"}, "lr": 0.1, "note": "b"}'
    yaml = "password:\n  - a1\nlr: 0.1\n"
    assert mask_text(yaml) == "password:\n  - ***\nlr: 0.1\n"


PARTS = [
    *secret_samples.TOKENS,
    *("_", "-", "+", ".", "/", "data", "run-1", "hooks.slack.com/services/", "T0/B0/x1y2z3w4"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=6).map("".join))
def test_a_path_is_masked_as_in_longer_text(path):
    """Text without spaces and marks such as `=` is searched only for tokens."""
    assert mask_text(f"{path} ") == f"{mask_text(path)} "

"""Secrets are hidden, and nothing else."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold.log.masking import (
    holds_private_key,
    mask_arguments,
    mask_mapping,
    mask_source,
    mask_text,
)
from runfold.log.secrets import MASK, is_secret

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
def test_a_value_with_the_name_of_a_secret_is_hidden(name):
    assert mask_mapping({name: "hunter2"}) == {name: MASK}
    assert mask_arguments([f"--{name}", "hunter2", "x"])[:2] == [f"--{name}", MASK]
    assert mask_arguments([f"--{name}=hunter2", "x"]) == [f"--{name}=***", "x"]
    assert mask_arguments([f"+{name}=hunter2"]) == [f"+{name}=***"]
    assert mask_text(f"run {name}=hunter2 now") == f"run {name}=*** now"
    assert mask_text(f'{{"{name}": "hunter2"}}') == f'{{"{name}": "***"}}'


@pytest.mark.parametrize("name", PLAIN_NAMES.split())
def test_other_names_are_let_be(name):
    argv = [f"--{name}", "value", f"--{name}=value", f"{name}=7", f"{name}: value"]
    assert mask_arguments(argv) == argv
    assert mask_mapping({name: "value"}) == {name: "value"}
    assert mask_mapping({name: 7}) == {name: 7}


@pytest.mark.parametrize("token", TOKENS)
def test_a_known_token_is_hidden_wherever_it_stands(token):
    assert mask_mapping({"note": token, "list": [[token]]}) == {"note": MASK, "list": [[MASK]]}
    assert mask_arguments(["--run", token, f"--x={token}"]) == ["--run", MASK, "--x=***"]
    assert mask_text(f"see ({token}).") == "see (***)."
    assert mask_source(f"x = f('{token}')", "a.py") == "x = f('***')"


@pytest.mark.parametrize("value", PLAIN_VALUES.split())
def test_other_values_are_let_be(value):
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


def test_arguments_of_every_shape():
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
def test_what_looks_drawn_is_hidden_after_a_short_option(value):
    argv = ["-t", value, f"-t{value}", f"-t={value}", "x"]
    assert mask_arguments(argv) == ["-t", MASK, "-t***", "-t=***", "x"]


@pytest.mark.parametrize("option", ["-o", "-m", "-p"])
def test_other_values_of_short_options_are_let_be(option):
    names = "resnet50_imagenet_224 runs-2024-01-01-120000 20240101T120000Z gpt2-xl-1558M-finetuned"
    for value in (*names.split(), *PLAIN_VALUES.split()[:5], "data/9f8e7d6c5b4a39281706.npz"):
        argv = [option, value, f"{option}{value}", f"{option}={value}"]
        assert mask_arguments(argv) == argv


def test_truth_values_and_none_stay_and_what_is_below_credentials_goes():
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


def test_a_name_that_may_mean_a_secret_hides_what_looks_random():
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


def test_a_settings_file_loses_bare_values_and_keeps_references():
    source = "password: hunter2 # x\napi_key=${KEY}\n- secret: !vault |\nkey: loss\ntoken: [a]\n"
    assert mask_source(source, "a.yaml") == source.replace("hunter2", MASK)


def test_a_private_key_is_seen_and_hidden():
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----"
    assert holds_private_key(pem)
    assert mask_text(f"a\n{pem}\nb") == "a\n***\nb"
    assert mask_text(pem[:50]) == MASK


values = st.text(string.ascii_letters + string.digits + "!#%^*()_+=,.:/?@ ", min_size=9)


@given(st.sampled_from(SECRET_NAMES.split()), values)
def test_no_part_of_a_named_secret_is_left(name, value):
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

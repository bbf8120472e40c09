"""Typical lines with a secret in them, and similar lines without one.

The random parts of the tokens are drawn on import, so that repository scanners do
not report this file as a leak.
"""

import random
import string

_DRAW = random.Random(7)
_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "h": "0123456789abcdef",
    "U": string.ascii_uppercase + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
}


def draw(alphabet: str, length: int) -> str:
    """Return a random word with letters and digits, like one that a vendor could have generated."""
    letters = _ALPHABETS[alphabet]
    while True:
        word = "".join(_DRAW.choices(letters, k=length))
        digits = sum(map(str.isdigit, word))
        if digits >= 3 and digits < length and word[0].isalnum() and word[-1].isalnum():
            return word


def _vendor_tokens() -> list[str]:
    shapes = """
        ghp_:a36 gho_:a36 github_pat_:w82 glpat-:w20 hf_:a34 sk-proj-:w64 sk-ant-api03-:w95
        sk-or-v1-:h64 AKIA:U16 ASIA:U16 AIza:w35 ya29.:w64 GOCSPX-:w28 xoxb-:w48 npm_:a36 pypi-:w90
        dop_v1_:h64 wandb_v1_:w40 dapi:h32 r8_:a37 gsk_:a52 xai-:a80 nvapi-:w64 lin_api_:a40
        figd_:w40 shpat_:h32 tskey-auth-:w30 hvs.:w90 glsa_:a41 sbp_:h40 lsv2_pt_:w43 pcsk_:w70
        tgp_v1_:w43 rpa_:a46 key-:h32 rdme_:a70 rubygems_:h48 pul-:h40 pnu_:a36 tfp_:a50 nfp_:a36
        tvly-:a32 jina_:a60 pplx-:a48 whsec_:a32 sk_live_:a24 rk_live_:a24 NRAK-:U27 xkeysib-:w80
        pscale_tkn_:w43 pscale_pw_:w43 PMAK-:w59 sntrys_:w80 ATATT3:w186 fo1_:w43 sq0atp-:a22
        dckr_pat_:w27 AGE-SECRET-KEY-1:U58 csk-:a48 fw_:a24 ntn_:a46 dp.pt.:a43 SK:h32 sk-lf-:w36
        LTAI:a20 EZAK:a54 gldt-:w20 glrt-:w20 HRKU-:a36 CLOJARS_:h60 AKCp:a69 doo_v1_:h64
    """
    tokens = []
    for shape in shapes.split():
        prefix, _, tail = shape.rpartition(":")
        tokens.append(prefix + draw(tail[0], int(tail[1:])))
    return [
        *tokens,
        f"SG.{draw('w', 22)}.{draw('w', 43)}",
        f"12345678:AA{draw('w', 33)}",
        f"{draw('h', 32)}-us12",
        f"pat{draw('a', 14)}.{draw('h', 64)}",
        f"{draw('a', 14)}.atlasv1.{draw('w', 67)}",
        f"a1b8Q~{draw('a', 34)}",
        f"eyJhbGciOiJIUzI1NiJ9.eyJ{draw('a', 20)}.{draw('w', 43)}",
        "ak-" + "aB3dE6gH9jK2mN5pQ8sT1v",
        "as-" + "zY3xW6vU9tS2rQ5pO8nM1l",
    ]


TOKENS = _vendor_tokens()

# (the line, the secret in it)
LINES = [
    ("{'password': b'" + "x1" * 5 + "'}", "x1" * 5),
    ('{"password": ["hunter2-a", "hunter2-b"]}', "hunter2-b"),
    ('{"password": ["hunter2-a", "hunter2-b"]}', "hunter2-a"),
    ("password = b'hunter2'", "hunter2"),
    ("password = r'hunter2'", "hunter2"),
    ('config = {"api_keys": ("hunter2", "hunter3")}', "hunter3"),
    ("Driver={ODBC 18};Server=db;UID=sa;PWD=Hunter2!", "Hunter2!"),
    ("UID=sa; PWD = Hunter2; Database=x", "Hunter2"),
    ("PWD=Hunter2;UID=sa", "Hunter2"),
    ("Server=db;User ID=sa;Password=Hunter2;", "Hunter2"),
    (f"https://a.blob.core.windows.net/c?sv=2024&sig={draw('a', 40)}%2Bx%3D", "%2Bx%3D"),
    (f"https://s3/x?X-Amz-Signature={'0f' * 32}&y=1", "0f" * 32),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=hunter2hunter2==", "hunter2hunter2"),
    ("curl -u me:hunter2 https://host/x", "hunter2"),
    ("curl -sS --user 'me:hunter2' https://host/x", "hunter2"),
    ("curl https://host/x -ume:hunter2", "hunter2"),
    ("os.system('mysql -h db -u root -phunter2 app')", "hunter2"),
    ("sshpass -p hunter2 ssh me@host", "hunter2"),
    ("docker login -u me -p hunter2 registry", "hunter2"),
    ("docker login --username me --password hunter2 registry", "hunter2"),
    ("redis-cli -h host -a hunter2 ping", "hunter2"),
    ("mongosh -u me -p hunter2 host", "hunter2"),
    ("ldapsearch -x -D cn=me -w hunter2 -b dc=x", "hunter2"),
    ("openssl rsa -in k.pem -passin pass:hunter2", "hunter2"),
    ("zip -P hunter2 out.zip file", "hunter2"),
    (f"wandb login {'0a' * 20}", "0a" * 20),
    (f"wandb login --relogin {'0a' * 20}", "0a" * 20),
    ("aws configure set aws_secret_access_key hunter2hunter2", "hunter2hunter2"),
    (f"keys = ['AKIA{'A2' * 8}', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCY{'EXAMPLEKEY'}']", "EXAMPLEKEY"),
    ("passwort: hunter2", "hunter2"),
    ("db_passwort=hunter2", "hunter2"),
    ("contraseña = 'hunter2'", "hunter2"),
    ("mot_de_passe=hunter2", "hunter2"),
    ("senha: hunter2", "hunter2"),
    ("пароль=hunter2", "hunter2"),
    ("密码: hunter2", "hunter2"),
    ("The password is hunter2.", "hunter2"),
    ("my API key is hunter2hunter2", "hunter2hunter2"),
    ("The password for admin was 'hunter2'", "hunter2"),
    ("Authorization: Basic aHVudGVyMjpodW50ZXIy", "aHVudGVyMjpodW50ZXIy"),
    ("-H 'X-Api-Key: hunter2hunter2'", "hunter2hunter2"),
    ("postgresql://me:hunter2@host/db", "hunter2"),
    ("export HF_TOKEN=hunter2hunter2", "hunter2hunter2"),
    ('{"password": {"value": "hunter2", "x": "hunter3"}}', "hunter3"),
    ("password:\n  - hunter2\n  - hunter3\n", "hunter3"),
    ("password:\n    value: hunter2\n", "hunter2"),
    ("password = 'hunter1' + 'hunter2'", "hunter2"),
    ("My password is: hunter2", "hunter2"),
    ("Driver={ODBC 18};Uid=sa;Pwd={hunter2};", "hunter2"),
    (f"huggingface-cli login --token {draw('a', 20)}x1", "x1"),
    (f"vault login {draw('a', 20)}x1", "x1"),
    ("ssh-keygen -N hunter2 -f key", "hunter2"),
    ("password: >\n  hunter2\nlr: 1\n", "hunter2"),
    ("password: |-\n    hunter2\n", "hunter2"),
    ('subprocess.run(["mysql", "-phunter2", "app"])', "hunter2"),
    ("['/usr/bin/curl', '-s', '-u', 'me:hunter2', 'x']", "hunter2"),
    ('os.environ.get("DB_PASSWORD", "hunter2")', "hunter2"),
    ('add_argument("--password", default="hunter2")', "hunter2"),
    ("[('password', 'hunter2')]", "hunter2"),
    ("{'name': 'password', 'value': 'hunter2'}", "hunter2"),
    ("- name: DB_PASSWORD\n  value: hunter2\n", "hunter2"),
    ("<password>hunter2</password>", "hunter2"),
    ("password => hunter2", "hunter2"),
    ("https://outlook.webhook.office.com/webhookb2/hunter2-hunter2/x", "hunter2-hunter2"),
    ("Authorization: Basic aHVudGVyMjE=", "aHVudGVyMjE"),
    ("password: aHVudGVyMjE=", "aHVudGVyMjE"),
    ("| password | hunter2 |", "hunter2"),
    ("| user | me | **password** | `hunter2` |", "hunter2"),
    ("│ db_password │ hunter2 │", "hunter2"),
    ("user\tme\npassword\thunter2\n", "hunter2"),
    ("net use \\\\host\\share hunter2 /user:me", "hunter2"),
    ("net use Z: \\\\host\\share /user:me hunter2", "hunter2"),
    ("net user me hunter2 /add", "hunter2"),
    ("echo hunter2 | docker login -u me --password-stdin registry", "hunter2"),
    ("printf '%s' 'hunter2' | podman login --password-stdin", "hunter2"),
    ("docker login --password-stdin <<< hunter2", "hunter2"),
    ("echo -n hunter2 | sudo -S apt update", "hunter2"),
    ("echo hunter2 | gh auth login --with-token", "hunter2"),
    ("helm install x --set password hunter2", "hunter2"),
    ("git config --global http.password hunter2", "hunter2"),
    ("redis-cli config set requirepass hunter2", "hunter2"),
    ("setx DB_PASSWORD hunter2", "hunter2"),
    ("ENV DB_PASSWORD hunter2", "hunter2"),
    ("machine host login me password hunter2", "hunter2"),
    ('$env:DB_PASSWORD = "hunter2"', "hunter2"),
    ('dotnet user-secrets set "Db:Password" "hunter2"', "hunter2"),
    ('ConvertTo-SecureString "hunter2" -AsPlainText', "hunter2"),
    ("CREATE USER me IDENTIFIED BY 'hunter2'", "hunter2"),
    ("ALTER USER me WITH PASSWORD 'hunter2';", "hunter2"),
    ("passwords:\n- hunter2\n- hunter3\n", "hunter3"),
    ("password: !!str hunter2", "hunter2"),
    ("password: &main hunter2", "hunter2"),
    ("- value: hunter2\n  name: DB_PASSWORD\n", "hunter2"),
    ('{"Key": "DB_PASSWORD", "Value": "hunter2"}', "hunter2"),
    ('<add key="password" value="hunter2"/>', "hunter2"),
    ('<password value="hunter2"/>', "hunter2"),
    ("['train.py', '--db-password', 'hunter2', '--lr', '1']", "hunter2"),
    ('add_argument("--password", type=str, help="x", default="hunter2")', "hunter2"),
    ("Config(password=SecretStr('hunter2'))", "hunter2"),
    ('password: str = Field(default="hunter2")', "hunter2"),
    ('password = os.environ.get("DB_PASSWORD") or "hunter2"', "hunter2"),
    ("const password = process.env.PASSWORD || 'hunter2';", "hunter2"),
    ("Password for me: hunter2", "hunter2"),
    ("password -> hunter2", "hunter2"),
    ("password：hunter2", "hunter2"),
    ("**password**: hunter2", "hunter2"),
    ("- **Password:** hunter2", "hunter2"),
    ("`password`: `hunter2`", "hunter2"),
    ("?next=password%3Dhunter2", "hunter2"),
]

HARMLESS = """
docker run -p 8080:80 -p 6006:6006 image
ssh -p 2222 me@host
curl -o out.tar.gz https://host/x
mysql --port=3306 app
PWD=/home/me OLDPWD=/home
PWD: value
the password is required
The secret is out
password is incorrect.
token: 50256
max_tokens=512, pad_token='<pad>'
epoch 3: loss=0.25 acc=0.91 lr=1e-4
sk-learn-based-model-with-many-words-in-its-name
glpat-is-the-prefix-of-gitlab-tokens
model fw_resnet hf_hub_download secret_sauce hf_transformersmodelname
use --api-key to authenticate, --password is required
set learning_rate 0.001
git commit d670460b4b4aece5915caf5c68d12f560a9fe3e4
key-value store with key-frames
as-is ak-47 pa-per
attention.key.weight: [768, 768]
import http; http.client
columns = ["password", "username", "email"]
parser.add_argument("--password", default="required")
<password>required</password>
run(["docker", "run", "-p", "80:80"])
az ml job create -p x.yml
zip -r out.zip runs
s3://bucket/runs/seed-1/events.out.tfevents.1794979678
max_tokens: 512
tokenizer: bpe
n_tokens 3
key: value
key=value
key: val/loss
key: input_ids
pass: 3
tokens_per_second: 51234.1
loss/token: 3.21
| tokens | 512000 |
| key | value12 |
| password | created_at | email |
| epoch | loss | token_acc |
tokens\t512000
key\tval_loss
key -> value
**key**: value
**tokens:** 512
--set max_tokens 512000
--key val_loss
ENV CUDA_VERSION 12.1
git config user.name bob123
echo hello123 | tee out.txt
echo $PASSWORD | docker login --password-stdin
echo "$PASSWORD" | docker login --password-stdin
the net user base grew by 123456
os.environ.get("MASTER_ADDR", "127.0.0.1")
add_argument("--max-tokens", type=int, default="512000")
add_argument("--key", type=str, default="val_loss")
{"name": "max_tokens", "value": "512000"}
password_hash_rounds=12
api_key_env: OPENAI_API_KEY
Epoch 1 | loss 0.3 | token acc 0.9 | 12s
""".strip().splitlines()

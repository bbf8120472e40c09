"""Secrets recognized by their form, such as `ghp_...` for a GitHub token.

Vendors mark their tokens so that scanners can find them. To add a token, add its prefix
to the group with its alphabet, and a sample to `tests/helpers/secret_samples.py`.
"""

from __future__ import annotations

import re

# Unique prefixes, followed by at least 16 letters and digits. A tail of only lowercase
# letters is a word: `hf_transformersmodel`.
_PLAIN = """
    ghp_ gho_ ghu_ ghs_ ghr_ hf_ api_org_ r8_ gsk_ xai- csk- lin_api_ lin_oauth_ shpat_ shpca_
    shppa_ shpss_ sbp_ rpa_ rdme_ rubygems_ pul- pnu_ tfp_ nfp_ ntn_ tvly- jina_ pplx- sk_live_
    sk_test_ rk_live_ rk_test_ whsec_ duffel_live_ duffel_test_ shippo_live_ shippo_test_ CLOJARS_
    fio-u- EZAK EZTK HRKU- LTAI AKIA ASIA ABIA ACCA dop_v1_ doo_v1_ dor_v1_ dapi npm_ sq0atp-
    NRAK- NRII- NRJS- NRAL- p8e- AKCp cmVmd
"""
# Unique prefixes, followed by a tail that can contain `-` and `_`. Such a tail needs two digits,
# because hyphenated words are common.
_DASHED = """
    github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- glffct-
    figd_ figo_ tskey- hvs. hvb. hvr. glsa_ glc_ lsv2_pt_ lsv2_sk_ lsv2_ls_ pcsk_ tgp_v1_ wandb_v1_
    nvapi- GOCSPX- ya29. pypi- xkeysib- xsmtpsib- pscale_tkn_ pscale_pw_ pscale_oauth_ PMAK-
    sntrys_ sntryu_ ATATT3 ATCTT3 fo1_ fm1_ fm2_ sq0csp- EAAA AQVN dckr_pat_ dckr_oat_ sk-lf-
    s-s4t2ud- s-s4t2af- mlsn. xapp- phx_ AIza
"""
_OTHERS = (
    r"sk-(?=[\w-]{0,80}\d)(?:[\w-]{40,}|[\w-]{0,60}?[A-Za-z0-9]{16,}[\w-]*)",
    r"sk_(?=[a-f]{0,40}\d)[0-9a-f]{40,}",
    r"xox[abeoprs](?:\.xox[a-z])?-[\w-]{10,}",
    r"eyJ[\w+/=-]{12,}(?:\.[\w=-]+)*",
    r"SG\.[\w-]{16,}\.[\w-]{16,}",
    r"\d{8,10}:AA[\w-]{30,}",  # Telegram
    r"SK[0-9a-f]{32}\b",  # Twilio
    r"key-[0-9a-f]{32}\b",  # Mailgun
    r"[0-9a-f]{32}-us\d{1,2}\b",  # Mailchimp
    r"a[ks]-(?=[A-Za-z0-9]{0,23}\d)(?=[A-Za-z0-9]{0,23}[a-z])(?=[A-Za-z0-9]{0,23}[A-Z])[A-Za-z0-9]{20,24}\b",
    r"secret_(?=(?:[A-Za-z0-9]{0,60}?\d){3})[A-Za-z0-9]{40,}",  # Notion
    r"fw_(?=(?:[A-Za-z0-9]{0,60}?\d){3})[A-Za-z0-9]{22,}",  # Fireworks
    r"pa-(?=(?:[\w-]{0,60}?\d){3})[\w-]{40,}",  # Voyage
    r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",  # Airtable
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    r"A3-[A-Z0-9]{6}-[A-Z0-9-]{20,}",  # 1Password
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}",  # Doppler
    r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}",  # Dynatrace
    r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}",  # Terraform
    r"[\w~.]{3}\dQ~[\w~.-]{31,34}",  # Azure
    r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}",  # Cloudflare
    r"1//0[\w-]{40,}",  # Google refresh token
    r"sl\.(?=(?:[\w-]{0,60}?\d){3})[\w-]{60,}",  # Dropbox
    r"y[0-3]_(?=(?:[\w-]{0,60}?\d){3})[\w-]{50,}",  # Yandex
    r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}",  # Discord
    r"(?<=hooks\.slack\.com/services/)[\w/-]{8,}",
    r"(?<=discord\.com/api/webhooks/)[\w/-]{8,}",
    r"(?<=webhook\.office\.com/webhookb2/)[\w/@-]{8,}",
)


def _compile_forms() -> re.Pattern[str]:
    plain = "|".join(map(re.escape, _PLAIN.split()))
    dashed = "|".join(map(re.escape, _DASHED.split()))
    forms = (
        rf"(?:{plain})(?=[A-Za-z0-9]{{0,200}}(?:\d|[A-Z]))[A-Za-z0-9]{{16,}}",
        rf"(?:{dashed})(?=(?:[\w=.-]{{0,60}}?\d){{2}})[\w=-]{{16,}}(?:\.[\w=-]{{8,}})*",
        *_OTHERS,
    )
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(forms)})")


TOKENS = _compile_forms()

BEARER = re.compile(r"\b(Bearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE)

_KEY_NAME = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?"
PRIVATE_KEY = re.compile(
    rf"-----BEGIN {_KEY_NAME}-----.*?(?:-----END {_KEY_NAME}-----|\Z)", re.DOTALL
)
KEY_BEGIN = re.compile(rf"-----BEGIN {_KEY_NAME}-----")
KEY_END = re.compile(rf"-----END {_KEY_NAME}-----")
# A line of a key or its headers: `Proc-Type: 4,ENCRYPTED`.
KEY_LINE = re.compile(r"|[A-Za-z0-9+/=]{1,100}|(?:Proc-Type|DEK-Info|Version|Comment|Hash): .*")
# The same at the end of a log line: `12:00 INFO MIIE...`.
KEY_TAIL = re.compile(r"(?<=\s)(?:[A-Za-z0-9+/]{32,100}={0,2}|[A-Za-z0-9+/]{1,100}={1,2})\s*\Z")

# URL signatures: Azure's `sig`, and the parameters of AWS and Google.
SIGNATURE = re.compile(
    r"([?&;](?:sig|signature|X-Amz-(?:Signature|Credential|Security-Token)"
    r"|X-Goog-(?:Signature|Credential)|AWSAccessKeyId)=)[^\s&\"'<>]{6,}",
    re.IGNORECASE,
)

# The secret that follows an AWS key, as in `["AKIA...", "wJalr..."]`.
AWS_PAIR = re.compile(
    r"((?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,}[\"']?[\s,;:=\"']{1,8})"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
)

# The password of an ODBC connection. In a shell, PWD is the working folder.
ODBC = re.compile(
    r"((?<=;)[ \t]*PWD[ \t]*=[ \t]*|\bPWD=(?=[^/;\s\"']{1,200};))(?:\{[^}\n]*\}|[^;\s\"']+)",
    re.IGNORECASE,
)

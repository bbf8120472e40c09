"""Passwords on the command lines of well-known programs, such as `curl -u me:password`.

The meaning of an option depends on the program: `-p` can be a port or a password.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from runfold._log.masking.secret_names import LIKELY, MASK, is_random, rank_name

if TYPE_CHECKING:
    from collections.abc import Sequence

# The options of each program that take a password, or a user name with a password.
_OPTIONS = {
    **dict.fromkeys(("curl",), ("-u", "-U", "--user", "--proxy-user", "--oauth2-bearer")),
    **dict.fromkeys(("http", "https", "xh"), ("-a", "--auth")),
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"), ("-p",)),
    **dict.fromkeys(("sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "az"), ("-p",)),
    **dict.fromkeys(("docker", "podman", "nerdctl", "helm", "skopeo", "oc"), ("-p",)),
    **dict.fromkeys(("7z", "7za", "unrar", "rar", "sqlcmd", "bcp"), ("-p", "-P")),
    **dict.fromkeys(("zip", "unzip"), ("-P",)),
    **dict.fromkeys(("ssh-keygen",), ("-N", "-P")),
    **dict.fromkeys(("openssl",), ("-k",)),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami"), ("-w",)),
    **dict.fromkeys(("redis-cli",), ("-a", "--pass")),
    **dict.fromkeys(("smbclient", "mount.cifs"), ("-U",)),
}
# For these, only `login` takes a password; in other subcommands `-p` is usually a port.
_ONLY_LOGIN = ("docker", "podman", "nerdctl", "helm", "skopeo", "oc", "az")

_PROGRAMS = "|".join(sorted(map(re.escape, _OPTIONS), key=len, reverse=True))
_COMMAND = re.compile(rf"(?<![\w.-])({_PROGRAMS})(?=[ \t])([^\n|;&]{{1,2000}})")
# The same commands, as a list of arguments: `["mysql", "-phunter2"]`.
_LIST = re.compile(
    rf"([\"'])(?:[\w./-]{{0,100}}/)?(?:{_PROGRAMS})\1(?:\s{{0,9}},\s{{0,9}}(?:\"[^\"\n]*\"|'[^'\n]*')){{1,40}}"
)
_ITEM = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_WORD = re.compile(r"\"(?:\\.|[^\"\\])*\"?|'[^']*'?|\S+")
_LOGIN = re.compile(
    r"(?<![\w.-])((?:wandb|vault|huggingface-cli)[ \t]+login(?:[ \t]+--\S+){0,5}[ \t]+)"
    r"(?=[\w.-]{0,60}\d)([\w.-]{16,})"
)
_PASS_PHRASE = re.compile(r"(-pass(?:in|out)?[ \t]+[\"']?pass:)([^\s\"']+)")
# `--password VALUE`, `--set password VALUE`, `git config http.password VALUE`,
# `ENV PASSWORD VALUE`, and `login me password VALUE` in the file .netrc.
_NAMED = re.compile(
    r"(?<![\w.-])((?:(?:--?)?set(?:x|env|-string)?[ \t]+"
    r"|config[ \t]+(?:(?:--\w+|set)[ \t]+){0,3}|ENV[ \t]+|login[ \t]+\S{1,80}[ \t]+|--?)"
    r"[\"']?([A-Za-z_][\w.:/-]{2,80})[\"']?[ \t]+[\"']?)([^\s=:\"'-][^\s\"']{3,})"
)
# A password on standard input: `echo VALUE | docker login --password-stdin`, `<<< VALUE`.
_STDIN = (
    r"(?:--pass(?:word|phrase)?-stdin|--stdin-pass|--with-token|sudo[ \t]{1,9}-S|chpasswd)(?![\w-])"
)
_PIPED = re.compile(
    r"(\b(?:echo|printf)[ \t]{1,9}"
    r"(?:-[neE]{1,3}[ \t]{1,9}|[\"']?%s(?:\\n)?[\"']?[ \t]{1,9}){0,3})"
    r"(\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s|\"'$]{1,200})"
    rf"(?=[ \t]{{0,9}}\|[^\n|;&]{{0,300}}?{_STDIN})"
)
_HERE_TEXT = re.compile(
    rf"({_STDIN}[^\n|;&]{{0,300}}?<<<[ \t]{{0,9}}[\"']?)(?!\$)[^\s\"']{{1,200}}"
)
# `net use \\host VALUE /user:me`, `net use \\host /user:me VALUE`, `net user me VALUE`.
_NET = re.compile(
    r"(?i)(\bnet[ \t]{1,9}(?:use[ \t]{1,9}(?:(?:[a-z]:|\*)[ \t]{1,9})?\\\\\S{1,200}"
    r"|user[ \t]{1,9}[^\s/]\S{0,80}(?=[ \t]{1,9}\S{0,80}[^\sa-z]))"
    r"(?:[ \t]{1,9}/user:\S{1,100})?[ \t]{1,9})(?![/*])\S{1,200}"
)
# SQL and PowerShell.
_CLAUSE = re.compile(
    r"(?i)(\bidentified[ \t]{1,9}by[ \t]{1,9}|\bpassword[ \t]{1,9}"
    r"|ConvertTo-SecureString[ \t]{1,9}(?:-String[ \t]{1,9})?)(['\"])[^'\"\n]{1,200}\2"
)


def mask_commands(text: str) -> str:
    """Return text with the passwords passed to known programs replaced by `***`."""
    text = _COMMAND.sub(lambda match: match[1] + _mask_words(match[1], match[2]), text)
    text = _LIST.sub(_mask_list, text)
    text = _LOGIN.sub(rf"\g<1>{MASK}", text)
    text = _PASS_PHRASE.sub(rf"\g<1>{MASK}", text)
    text = _PIPED.sub(_mask_piped, text)
    text = _HERE_TEXT.sub(rf"\g<1>{MASK}", text)
    text = _NET.sub(rf"\g<1>{MASK}", text)
    text = _CLAUSE.sub(rf"\g<1>\g<2>{MASK}\g<2>", text)
    return _NAMED.sub(_mask_named, text)


def find_password_arguments(argv: Sequence[str]) -> dict[int, str]:
    """Return the arguments that contain a password, masked, by position."""
    masked: dict[int, str] = {}
    options: tuple[str, ...] = ()
    for position, argument in enumerate(argv):
        program = os.path.basename(argument)
        if program in _OPTIONS:
            options = _options_of(program, argv[position + 1 :])
        elif program == "wandb" and list(argv[position + 1 : position + 2]) == ["login"]:
            rest = range(position + 2, len(argv))
            masked |= {number: MASK for number in rest if not argv[number].startswith("-")}
        elif position and argv[position - 1] in options:
            masked[position] = MASK
        else:
            option = _attached(argument, options)
            if option:
                masked[position] = option + MASK
    return masked


def _options_of(program: str, rest: Sequence[str]) -> tuple[str, ...]:
    return () if program in _ONLY_LOGIN and "login" not in rest else _OPTIONS[program]


def _attached(argument: str, options: tuple[str, ...]) -> str:
    """Return the option, with any `=`, to which a value is attached; "" if there is none."""
    for option in options:
        if option.startswith("--"):
            if argument.startswith(f"{option}="):
                return f"{option}="
        elif argument.startswith(option) and len(argument) > len(option):
            return option
    return ""


def _mask_words(program: str, rest: str) -> str:
    words = list(_WORD.finditer(rest))
    options = _options_of(program, [word[0] for word in words])
    masked, kept = "", 0
    for before, word in zip([None, *words], words, strict=False):
        if before is not None and before[0] in options:
            quote = word[0][0] if word[0][0] in "\"'" else ""
            shown = quote + MASK + quote
        else:
            option = _attached(word[0], options)
            if not option:
                continue
            shown = option + MASK
        masked += rest[kept : word.start()] + shown
        kept = word.end()
    return masked + rest[kept:]


def _mask_list(match: re.Match[str]) -> str:
    """Hide the passwords in a list of quoted arguments."""
    items = list(_ITEM.finditer(match[0]))
    hidden = find_password_arguments([item[1] or item[2] or "" for item in items])
    masked, kept = "", 0
    for position, shown in sorted(hidden.items()):
        start, end = items[position].span()
        masked += match[0][kept : start + 1] + shown
        kept = end - 1
    return masked + match[0][kept:]


def _mask_piped(match: re.Match[str]) -> str:
    """Hide a value that is piped into a login, unless it is a variable."""
    quote = match[2][0] if match[2][0] in "\"'" else ""
    is_variable = quote != "'" and match[2].strip('"').startswith("$")
    return match[0] if is_variable else f"{match[1]}{quote}{MASK}{quote}"


def _mask_named(match: re.Match[str]) -> str:
    """Hide a value after a secret's name, unless it is a word: `--password is required`."""
    value = match[3].rstrip(".,;:!?)")
    rank = rank_name(match[2])
    is_hidden = is_random(value) if rank == LIKELY else rank > LIKELY and not value.isalpha()
    return f"{match[1]}{MASK}" if is_hidden else match[0]

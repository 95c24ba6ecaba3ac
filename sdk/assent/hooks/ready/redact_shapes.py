r"""What secrets look like in text: one `Shape` for each kind, and the names that values of secrets go by.

Every pattern takes linear time: it begins with a literal or a set of characters, or a look-behind that holds at few
places; what it repeats is bounded, or possessive (`*+` never gives back) up to a character that it cannot itself
contain, and what may fail behind a long repetition cannot begin again within it. What a pattern cannot tell (a
checksum, a placeholder, a name that is merely passed on) is told by the shape's `accept`.

Left alone on purpose: digests of commits and files, UUIDs, random ids without a known prefix, cursors of pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

Accept: TypeAlias = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """One kind of secret. What is taken out is the group `secret`, `quoted` or `plain`; without these, the match."""

    name: str
    """For options: `aws-key`."""
    kind: str
    """For people: `AWS key`."""
    hints: tuple[str, ...]
    """Lower-case texts; where none of them occurs, the pattern is not even tried. Empty: always try."""
    text: str
    """The pattern's."""
    accept: Accept | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """What it looks like; compiled when a text has one of the hints."""
        return _compiled(self.text)

    def span(self, match: re.Match[str]) -> tuple[int, int]:
        """Where the secret stands."""
        groups = (name for name in ("secret", "quoted", "plain") if match.groupdict().get(name) is not None)
        return match.span(next(groups, 0))


@cache
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII)


def _shape(name: str, kind: str, hints: str, pattern: str, *, accept: Accept | None = None) -> Shape:
    return Shape(name=name, kind=kind, hints=tuple(filter(None, hints.split("|"))), text=pattern, accept=accept)


def _token(name: str, kind: str, hints: str, body: str) -> Shape:
    """A token that a prefix gives away: it stands alone, neither the tail nor the head of a longer word."""
    return _shape(name, kind, hints, rf"(?<![A-Za-z0-9_-])(?:{body})(?![A-Za-z0-9_-])")


# --- values by name: password=…, "api_key": "…" -----------------------------------------------------------------------

# By first letters, a set of which stands first: so the search passes over most places without looking closer.
_NAME = (
    r"(?P<name>[ABCDEIPRSTVWabcdeiprstvw](?:(?i:(?<=p)(?:ass(?:word|wd|phrase|code)|wd|rivate[_-]?(?:key|token))"
    r"|(?<=c)(?:(?:lient|onsumer)[_-]?secret|(?<![a-z0-9].)redentials?)"
    r"|(?<=a)(?:pp[_-]?secret|pi[_-]?(?:key|secret|token)|ccess[_-]?(?:key|token)|ccount[_-]?key|uth[_-]?token)"
    r"|(?<=s)(?:igning[_-]?(?:secret|key)|ecret[_-]?(?:access[_-]?)?key|hared[_-]?access[_-]?key"
    r"|(?:ession|ecret)[_-]?token|(?<![a-z0-9].)ecret)"
    r"|(?<=w)ebhook[_-]?secret|(?<=e)ncryption[_-]?key|(?<=r)efresh[_-]?token|(?<=b)(?:earer|ot)[_-]?token"
    r"|(?<=i)d[_-]?token|(?<=d)eploy[_-]?token|(?<=v)erification[_-]?token"
    r"|(?<=t)(?<![a-z0-9_].)(?<!page-.)(?<!next-.)(?<!sync-.)oken)|(?<=_T)OKEN))"
)
_VALUE = (
    r"(?:(?P<quote>\\{0,2}[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\r\n]){4,2000}+)"
    r"|(?P<plain>[^\s\"'`,;&<>(){}\[\]|\\]{4,2000}+)(?P<rest>[ \t]{0,4}[^\s,;&})\]#|\"'`\\]?))"
)
_ASSIGNED = rf"{_NAME}(?:\\{{0,2}}[\"'`])?\]?[ \t]{{0,8}}(?P<sign>:=|=>|=(?!=)|:(?!:))[ \t]{{0,8}}{_VALUE}"
_OPTION = rf"(?<![^\s\"'`])--(?:[a-z0-9]{{1,20}}-){{0,3}}?{_NAME}(?P<sign>[ \t]){_VALUE}"
_NAME_HINTS = "pass|pwd|secret|key|token|credential"

_ENDS_IN_NAME = re.compile(rf"{_NAME}\Z", re.ASCII)
_LONGEST_KEY = 128
_SHORTEST, _SHORTEST_WEAK = 4, 12
_MOST_SPACES = 5
_WEAK = ("token", "secret", "credential", "credentials")
"""These names stand for other things as well: under them only what has letters and digits in it counts."""
_WORDS = frozenset(
    {
        "none", "null", "true", "false", "undefined", "string", "text", "bytes", "optional", "required", "missing",
        "empty", "hidden", "masked", "redacted", "default", "changed", "unchanged", "invalid", "expired",
        "incorrect", "wrong", "rejected", "accepted", "enabled", "disabled", "secretstr", "object", "number",
        "integer", "boolean", "file", "environment", "prompt",
    }
)  # fmt: skip
_PLACEHOLDER = re.compile(
    r"\$|%\(|%[A-Za-z_]|\{\{|\[redacted|•|\*{3}|<|x{3,}\Z|(?:self|os|process|env|settings|config)\."
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_PATH = re.compile(r"[~/.]|[A-Za-z]:[\\/]")


def find_secret_name(key: str) -> str | None:
    """Return what makes a member's name one of a secret (`DB_PASSWORD`: `PASSWORD`); None for other names."""
    found = _ENDS_IN_NAME.search(key[-_LONGEST_KEY:])
    return found["name"] if found else None


def worth_hiding(name: str, value: str) -> bool:
    """Say whether what stands under a secret's name is a value, and not a placeholder, a word about it, or prose."""
    name, word = _letters(name), value.casefold().strip(".!")
    if len(word) < _SHORTEST or word in _WORDS or _letters(word).endswith(name) or _PLACEHOLDER.match(value):
        return False
    if value.count(" ") > _MOST_SPACES or (name.endswith(("pwd", "key")) and _PATH.match(value)):
        return False
    if name not in _WEAK:
        return True
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and len(value) >= _SHORTEST_WEAK and " " not in value


def _letters(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def _is_value(match: re.Match[str]) -> bool:
    if match["quoted"] is not None:
        return worth_hiding(match["name"], match["quoted"])
    value, follows = match["plain"], match["rest"]
    if follows.startswith("(") or _DOTTED.match(value) or not worth_hiding(match["name"], value):
        return False  # `password = getpass()`, `password = row.password`: code that passes it on
    # After a colon a sentence may go on ("password: Please enter"): there, only a word that stands alone is a value.
    return match["sign"] != ":" or not follows.strip()


# --- what is checked besides its shape --------------------------------------------------------------------------------

_PRIVATE_KEY = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:\s|\\[rn]){1,8}[A-Za-z-]{1,40}: [^\r\n\\]{0,200}){0,8}"
    # What follows may be missing, so nothing here is ever given back; and a possessive choice is misread before 3.11.5.
    r"(?P<body>[A-Za-z0-9+/=\s\\]*(?:-(?!----)[A-Za-z0-9+/=\s\\]*)*)"
    r"(?:-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
)
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{24}")
_CARD = (
    r"(?<![\w.+/-])(?:\d{14,19}|\d{4}(?P<one>[ -])\d{4}(?P=one)\d{4}(?P=one)\d{4}(?:(?P=one)\d{3})?"
    r"|\d{4}(?P<two>[ -])\d{6}(?P=two)\d{4,5})(?![\w-]|\.\d)"
)
_ISSUERS = (
    (re.compile(r"4|62"), {16, 19}),
    (re.compile(r"5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)|6(?:011|5|4[4-9])|35(?:2[89]|[3-8])"), {16}),
    (re.compile(r"3[47]"), {15}),
    (re.compile(r"3(?:0[0-5]|[68])"), {14}),
)


_DOUBLED = str.maketrans("0123456789", "0246813579")
"""Luhn's: the sum of the digits of twice each."""


def _holds_key_material(match: re.Match[str]) -> bool:
    return _KEY_MATERIAL.search(match["body"]) is not None


def _is_card(match: re.Match[str]) -> bool:
    digits = match[0].replace(" ", "").replace("-", "")
    doubled = digits[-2::-2].translate(_DOUBLED)
    if sum(map(int, digits[-1::-2])) % 10 != -sum(map(int, doubled)) % 10:
        return False
    return any(issuer.match(digits) and len(digits) in lengths for issuer, lengths in _ISSUERS)


def _has_a_digit(match: re.Match[str]) -> bool:
    return any(c.isdigit() for c in match["secret"])


def _is_no_placeholder(match: re.Match[str]) -> bool:
    return not _PLACEHOLDER.match(match["secret"])


# fmt: off
SHAPES: tuple[Shape, ...] = (
    _shape("private-key", "private key", "private key", _PRIVATE_KEY, accept=_holds_key_material),
    _token("aws-key", "AWS key", "akia|asia|abia|acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _token("google-key", "Google key", "aiza|gocspx-|ya29.",
           r"AIza[\w-]{35}|GOCSPX-[\w-]{28}|ya29\.[\w.-]{20,}+"),
    _shape("azure-secret", "Azure secret", "q~",
           r"(?<![\w.~-])[A-Za-z0-9_~.]{3}[0-9]Q~[\w~.-]{31,34}(?![\w~.-])"),
    _token("alibaba-key", "Alibaba Cloud key", "ltai", r"LTAI[A-Za-z0-9]{12,26}"),
    _token("tencent-key", "Tencent Cloud key", "akid", r"AKID[A-Za-z0-9]{32}"),
    _token("github-token", "GitHub token", "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
           r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{36,255}"),
    _token("gitlab-token", "GitLab token", "glpat-|gldt-|glrt-", r"gl(?:pat|dt|rt)-[\w-]{20,100}"),
    _token("slack-token", "Slack token", "xox|xapp-", r"xox[abeoprs]-[\w-]{10,300}|xapp-\d-[\w-]{10,300}"),
    _shape("slack-webhook", "Slack webhook", "hooks.slack.com",
           r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]{10,300}+)"),
    _token("anthropic-key", "Anthropic key", "sk-ant-", r"sk-ant-[\w-]{20,300}"),
    _token("openai-key", "OpenAI key", "sk-",
           r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,300}|[A-Za-z0-9]{32,100})"),
    _token("stripe-key", "Stripe key", "k_live_|k_test_|whsec_",
           r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,255}"),
    _token("sendgrid-key", "SendGrid key", "sg.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    _token("npm-token", "npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", "PyPI token", "pypi-", r"pypi-AgE[\w-]{50,1000}"),
    _token("hugging-face-token", "Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,60}"),
    _token("digitalocean-token", "DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _token("vault-token", "Vault token", "hvs.|hvb.", r"hv[sb]\.[\w-]{24,300}"),
    _token("telegram-token", "Telegram token", ":aa", r"\d{8,10}:AA[\w-]{33}"),
    _token("assent-key", "Assent key", "ak_", r"ak_[a-z2-7]{16}_[a-z2-7]{52}_[0-9a-f]{6}"),
    _token("jwt", "JWT", "eyj", r"eyJ[\w-]{8,16000}+\.eyJ[\w-]{4,16000}+\.[\w-]*+"),
    _shape("bearer", "bearer token", "bearer",
           r"(?i:(?<![a-z0-9_-])bearer)(?:\s|%20){1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000}+)", accept=_has_a_digit),
    _shape("basic-auth", "basic credentials", "basic",
           r"(?i:authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?basic)\s{1,4}(?P<secret>[A-Za-z0-9+/=_-]{6,4000}+)"),
    _shape("url-password", "password in a URL", "://",
           r"://[^\s/:@?#\"'<>]{0,100}:(?P<secret>[^\s/@?#\"'<>]{1,500})@", accept=_is_no_placeholder),
    _shape("url-signature", "signature in a URL", "sig=|signature=",
           r"(?i:[?&;](?:sig|(?:x-amz-|x-goog-|x-oss-)?signature)=)(?P<secret>[\w%+/=.~-]{16,2000}+)"),
    _shape("assignment", "secret value", _NAME_HINTS, _ASSIGNED, accept=_is_value),
    _shape("option", "secret value", _NAME_HINTS, _OPTION, accept=_is_value),
    _shape("card-number", "card number", "", _CARD, accept=_is_card),
)
"""In the order in which they are tried: what says most exactly what it is comes first."""
# fmt: on

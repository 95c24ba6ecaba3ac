"""How names of the file are written: each pattern, and what it says in words."""

from __future__ import annotations

ORG = r"^[a-z0-9][a-z0-9_-]{0,62}$"
ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
NAME = r"^[^\s*]{1,200}$"
PATTERN = r"^\S{1,200}$"
FIELD_PATH = r"^[^\s.]+(\.[^\s.]+)*$"
LABEL = r"^\S([^\n]{0,38}\S)?$"
DOMAIN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$"
ACCOUNT = r"^[A-Za-z0-9_:@.-]{2,128}$"
PLATFORM_ID = r"^[A-Za-z0-9_-]{1,128}$"
VISIBLE = r"\S"
WORD = r"^\S+$"
ONE_LINE = r"^\S(.*\S)?$"

_WORDS = {
    ORG: "must be of small letters (a to z), digits, _ and -, begin with a letter or a digit, and have 63 at most",
    ID: "must be of letters (a to z, A to Z), digits, _, . and -, begin with a letter or a digit, and have 64 at most",
    NAME: "must be a name without spaces and without *, of 200 characters at most",
    PATTERN: "must be a name or a pattern without spaces, of 200 characters at most",
    FIELD_PATH: "must be an argument's name, or a path such as payee.name: no spaces, and a name around each dot",
    LABEL: "must be one line of 40 characters at most, without spaces around it",
    DOMAIN: "must be a whole domain in small letters, such as acme.example",
    ACCOUNT: "must be an account's id there: letters (a to z, A to Z), digits, _, :, @, . and -, from 2 to 128",
    VISIBLE: "must have something in it that can be seen",
    rf"^$|{VISIBLE}": "must have something in it that can be seen",
    WORD: "must be one word: no spaces and no line breaks",
    ONE_LINE: "must be one line, without spaces around it",
    PLATFORM_ID: "must be the platform's id: letters (a to z, A to Z), digits, _ and -, 128 at most",
}


def pattern_in_words(pattern: str) -> str:
    """Return what a pattern asks for, in words; that of another's model is shown as it is."""
    return _WORDS.get(pattern) or f"must be written as its channel type says: {pattern}"

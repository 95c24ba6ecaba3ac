"""A text of the file as the database remembers it: is it the version that it is kept as?"""

from __future__ import annotations

from app.domain.errors import BadJsonError
from app.domain.text.canonical import digest
from app.policies.file.policy_file import VERSION_LENGTH
from app.policies.marks.yaml_marks import read_yaml


def version_of(text: str) -> str | None:
    """Return the version that a text of the file makes; None if it makes none."""
    try:
        return digest(read_yaml(text, file="recorded").value)[:VERSION_LENGTH]
    except BadJsonError:
        return None

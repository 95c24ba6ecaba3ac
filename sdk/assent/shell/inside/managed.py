"""What programs that manage machines are told to bring about, as the commands that would do it.

`ansible all -m file -a 'path=/etc state=absent'`, `salt '*' user.add e uid=0`, `puppet apply -e 'file { "/etc": ensure => absent }'`.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_IS = r"[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[\"']?"
_ABSENT = re.compile(
    rf"(?:state|ensure){_IS}absent|action\s{{1,4}}:delete|\bfile\.(?:remove|absent|rmdir)\b|\bdelete\b.{{0,40}}recursive"
)
_PATH = re.compile(
    rf"\b(?:path|dest|name|target){_IS}((?:/|~)[^\s\"',}}]{{0,500}})|[\"'\s]((?:/|~/)[^\s\"',:}}]{{0,500}})"
)
_GROUPS = re.compile(rf"\bgroups?{_IS}\[?[\"']?([\w,-]{{1,200}})")
_ROOT = re.compile(rf"\buid{_IS}0\b")
_MODE = re.compile(rf"\bmode{_IS}([0-7]{{3,5}}|[ugoa]*[+=][rwxXst]+)")
_WRITES = re.compile(
    r"\b(?:content|line|block|text|source|src)\s{0,4}(?:=>|[:=])|\bfile\.(?:write|append|replace|copy|line|managed)\b|\bcp\.get_file\b|-m\s{0,2}(?:copy|lineinfile|template)\b"
)


def managed_texts(said: str) -> Iterator[str]:
    """Yield commands that would bring about what the words say."""
    paths = [found[1] or found[2] for found in _PATH.finditer(said)]
    path = shlex.quote(paths[0]) if paths else ""
    if path and _ABSENT.search(said):
        yield f"rm -rf {path}"
    if path and (found := _MODE.search(said)):
        yield f"chmod {found[1]} {path}"
    if path and _WRITES.search(said):
        yield f"tee {shlex.quote(paths[-1])}"
        yield f"tee {path}"
    if found := _GROUPS.search(said):
        yield f"usermod -aG {shlex.quote(found[1])} user"
    if _ROOT.search(said):
        yield "useradd -o -u 0 user"

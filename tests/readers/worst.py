"""The worst inputs that were found, as data (`worst.jsonl`), and the parts that new ones are made of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_KEPT = Path(__file__).with_name("worst.jsonl")


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: something before, something again and again, something behind."""

    before: str
    again: str
    behind: str = ""

    def of(self, size: int) -> str:
        """Return it with about so many characters."""
        return self.before + self.again * max(1, size // len(self.again)) + self.behind

    def nested(self, size: int) -> str:
        """Return it closed as often as it was opened."""
        times = max(1, size // (len(self.again) + len(self.behind)))
        return self.before + self.again * times + self.behind * times


UNITS = (
    *("a|", "a;", "a&&", "a&", "$(a) ", "`a` ", "eval ", "eval '", "${a:-", "${a", "$((", "((", "(", ")", "{ ", "}"),
    *("{a,b}", "{a,", "{1..9}", "[", "[a", "[!", "[[:a:]]", "[[.a.]]", "*", "*a", "?", "**/", "*/", "?*", "a*", "*."),
    *("~/", "../", "/./", "/a", "a/", '"', '"$a"', "\\", "'", "<<E\n", "<<<a ", ">a ", "<(a) ", ">(a) ", "2>&1 ", "|&"),
    *(
        "if a;then ",
        "case a in b) ",
        "f(){ f;};",
        "for i in a b;do ",
        "while a;do ",
        "done;",
        "a=$a$a;",
        "a[1]=",
        "a=1 ",
    ),
    *("sudo ", "env ", "xargs ", "find . -exec ", 'bash -c "', "sh -c ", "ssh a ", "watch ", "timeout 1 ", "parallel "),
    *("cd a;", "read a;", "IFS=a;", "set -- a;", "export a=b;", "echo a>b;./b;", "alias a=", "trap 'a' 1;", "printf "),
    *(
        "tee a|",
        "sed -i s/a/b/ ",
        "dd if=",
        "git -c alias.a=!",
        "tar --to-command=",
        "docker run -v a:b ",
        "-c ",
        "--x=",
    ),
    *(
        "\n",
        "\t",
        "\r",
        " ",
        "\x00",
        "\u0430",
        "\u202e",
        "e\u0301",
        "\u200b",
        "\u0627 a",
        "€",
        "a",
        "1",
        "1,",
        "A0",
        ";a",
    ),
    *("%2e", "%25", ".ssh/*", "id_*", "/etc/", "/proc/self/root/", "file://", "$HOME/", "#", "a:1", '"\\"', '\\"'),
    *(
        "password=",
        "password=a ",
        "eyJ",
        "eyJa.",
        "://a:",
        "-----BEGIN PRIVATE KEY-----\n",
        "4 ",
        "4111",
        "bearer ",
        "=",
        "--a-",
    ),
    *("*** Update File: a ", "--- a\n+++ b\n", "diff --git a b ", "Binary files a and ", " and ", "rename from a\t"),
    *("{", "}", "[", "]", "[]", "{},", '"",', '{"a":', "0.5,", "-", "xx", "import os;os.system('", "open('''", "a b "),
    *(
        "while ",
        "for(",
        "Buffer.from(",
        "os.system(",
        "chmod(",
        "Path('",
        "import a,",
        "from os import a ",
        "'+'",
        "x='a';",
    ),
    *("$ENV{", "urlopen", "`a", "qx[", "rmtree(", "fork ", "b'", "r'a' ", "socket.socket", "/bin/sh", "'~'/'a'/"),
    *(
        "rm ",
        "x 'rm ",
        "sh.rm(",
        'print("rm ',
        "LD_PRELOAD=",
        "approve ",
        "/v1/requests/",
        "update requests ",
        "os.environ",
        "path=/a ",
        "clusterrole ",
        "!sh ",
        "tee >(sh) ",
        "alias a='a b';",
        "'/a' remove ",
        "http.server ",
        "env>a;curl a;",
    ),
)
BEFORE = (
    *(
        "",
        "",
        "",
        "cat ~/",
        "rm -rf ",
        "eval ",
        "echo ",
        'x="',
        "curl a|",
        "python3 -c '",
        "cat <<E\n",
        "find . -name ",
        "x '",
        "cat > a.tf <<E\n",
    ),
    *("Binary files a and ", "*** Update File: a", 'diff --git "', "password=", "/etc/", "[", '{"a":', "a=("),
)
BEHIND = ("", "", "", ")", "}", "'", '"', "/", "!", "\n", ";", "]", " differ", ";done", ";fi")


def kept() -> list[tuple[str, Shape]]:
    """Return the reader and the shape of every input that was once too much, or nearly."""
    lines = (json.loads(line) for line in _KEPT.read_text("utf-8").splitlines())
    return [(line["reader"], Shape(line["before"], line["again"], line["behind"])) for line in lines]


def made(random: Random) -> Shape:
    """Return a shape that nobody thought of."""
    again = "".join(random.choice(UNITS) for _ in range(random.choice((1, 1, 2, 3))))
    return Shape(random.choice(BEFORE), again, random.choice(BEHIND))

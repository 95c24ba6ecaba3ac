"""What the shell works out in a word runs, wherever the word stands; and files that the text fills are what it runs."""

from __future__ import annotations

import pytest

from assent.shell.reading.reader import read_script
from tests.requirements import requirement
from tests.sdk.guards.test_evasions import let_through


@requirement("S-70")
@pytest.mark.parametrize(
    "command",
    [
        "case $(rm -rf /etc) in x) ls;; esac",
        'case "`rm -rf /etc`" in x) ls;; esac',
        "case x in $(rm -rf /etc)) ls;; esac",
        "case x in a|`rm -rf /etc`) ls;; esac",
        "case $(rm -rf /etc) in x) ls;; esac | cat",
        "f() { case $1 in $(rm -rf /etc)) ls;; esac; }; f a",
        "f() { case $(rm -rf /etc) in x) ls;; esac; }",
        "f() { ls; } > $(rm -rf /etc); f",
        "f() { ls; } > /etc/passwd; f",
        "a[$(rm -rf /etc)]=1",
        "x=${y:$(rm -rf /etc)}",
        "echo ${x//a/$(rm -rf /etc)}",
        "echo ${!x:-`rm -rf /etc`}",
        "unset 'a[$(rm -rf /etc)]'",
        "read 'a[$(rm -rf /etc)]' <<< 1",
        "declare 'a[`rm -rf /etc`]=1'",
        "printf -v 'a[$(rm -rf /etc)]' x",
    ],
)
async def test_what_is_worked_out_in_a_word_is_read_wherever_the_word_stands(command: str) -> None:
    assert await let_through([command]) == []
    harmless = command.replace("rm -rf /etc", "date +%s").replace("/etc/passwd", "/tmp/x")
    assert await let_through([harmless]) == [harmless]


@requirement("S-70")
@pytest.mark.parametrize(
    "command",
    [
        'x=([0]=rm [1]=-rf [2]=/etc); "${x[@]}"',
        "BASH_ALIASES[ls]='rm -rf /etc'; ls",
        "echo 'rm -rf /etc' | xargs -I{} bash -c {}",
        "tmux display-popup -E 'rm -rf /etc'",
        "fd -H . ~ -X rm -rf",
    ],
)
async def test_names_lines_and_windows_that_run_a_text_are_read(command: str) -> None:
    assert await let_through([command]) == []


@requirement("S-70")
@pytest.mark.parametrize(
    ("held", "left"),
    [
        ("echo 'rm -rf /etc' > a; cp a b; bash b", "echo 'rm -rf /etc' > a; cp a b; bash c"),
        ("echo 'rm -rf /etc' > a; mv a d/b; sh d/b", "echo 'rm -rf /etc' > a; mv a b; cat b"),
        ("install -m755 /dev/stdin /tmp/x <<< 'rm -rf /etc'; /tmp/x", "install /dev/stdin /tmp/x <<< 'ls'; /tmp/x"),
        ("cp <(echo rm -rf /etc) k; sh k", "cp <(echo ls) k; sh k"),
        ("mkdir d; echo 'rm -rf /etc' > d/k; cd d; sh k", "mkdir d; echo 'rm -rf /etc' > d/k; cd d; sh j"),
        ("dd of=/tmp/x <<< 'rm -rf /etc'; sh /tmp/x", "dd of=/tmp/x <<< 'ls'; sh /tmp/x"),
        (
            "printf 'x:\\n\\trm -rf /etc\\n' > sub/Makefile; make -C sub",
            "printf 'x:\\n\\tls\\n' > sub/Makefile; make -C sub",
        ),
        (
            "echo 'int main(){system(\"rm -rf /etc\");}' > x.c; gcc x.c -o x",
            "echo 'int main(){puts(\"rm -rf /etc\");}' > x.c; gcc x.c -o x",
        ),
        (
            "printf '[core]\\n\\tfsmonitor = rm -rf /etc\\n' >> .git/config",
            "printf '[user]\\n\\tname = x\\n' >> .git/config",
        ),
    ],
)
async def test_what_the_text_puts_into_files_that_are_run_is_read(held: str, left: str) -> None:
    assert await let_through([held, left]) == [left]


@requirement("S-61")
@pytest.mark.parametrize("text", ['9)"' * 6_000, "a)" * 9_000])
def test_what_closes_more_than_it_opens_is_refused_before_the_grammar_reads_it(text: str) -> None:
    assert read_script(text).unread == ("it closes more than it opens",)
    assert not read_script("case x in\n" + "a) ls;;\n" * 900 + "esac").unread

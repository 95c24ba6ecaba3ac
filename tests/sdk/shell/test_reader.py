from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.guards.command_guard import CommandGuard
from assent.shell.programs.files import files_touched
from assent.shell.reading.reader import _read_long, _read_short, read_script
from assent.shell.reading.walk import Reading
from tests.fixtures.examples import examples
from tests.fixtures.patience import HANGS


def calls(text: str, **variables: str) -> list[list[str]]:
    return [[word.text for word in command.argv] for command in read_script(text, variables=variables).commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a''b \"\" ''", [["ab", "", ""]]),
        (r"$'a\x41\t' b", [["aA\t", "b"]]),
        ("x=1; a $x ${x}2 '$x'", [["a", "1", "12", "$x"]]),
        ("x='a b'; c $x \"$x\"", [["c", "a", "b", "a b"]]),
        ("IFS=:; x=a:b; c $x", [["c", "a", "b"]]),
        ("a ${x:-d} ${x:+e}", [["a", "d", "e"]]),
        (
            "x=abc.tar.gz; a ${x%.gz} ${x%%.*} ${x#*.} ${x##*.} ${x/b/B} ${x:1:2} ${#x} ${x^}",
            [["a", "abc.tar", "abc", "tar.gz", "gz", "aBc.tar.gz", "bc", "10", "Abc.tar.gz"]],
        ),
        ("x=(a 'b c'); d \"${x[@]}\" ${x[1]}", [["d", "a", "b c", "b", "c"]]),
        ("a {b,c{d,e}} f{1..3} {} '{x,y}'", [["a", "b", "cd", "ce", "f1", "f2", "f3", "{}", "{x,y}"]]),
        ("a ~ ~/b '~' x~", [["a", "~", "~/b", "~", "x~"]]),
        ('a $(echo b c) "$(echo b c)"', [["echo", "b", "c"], ["echo", "b", "c"], ["a", "b", "c", "b c"]]),
        ("a `echo b`", [["echo", "b"], ["a", "b"]]),
        ("a $((1+2)) $?", [["a", "0", "0"]]),
        ("a | b && c || d; e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("for i in x y; do a $i; done", [["a", "x"], ["a", "y"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("case $x in a|b) c;; *) d;; esac", [["c"], ["d"]]),
        ('f() { a "$1"; }; f b; f c', [["a", "b"], ["a", "c"]]),
        ("f() { f; a; }; f", [["a"]]),
        ("if a; then x=1; else x=2; fi; b $x", [["a"], ["b", "1"], ["b", "2"]]),
        ("(x=1; a $x); b ${x:-none}", [["a", "1"], ["b", "none"]]),
        ("sudo -u me env A=1 nice -n 5 a b", [["a", "b"]]),
        ("env -S 'a b' c", [["a", "b", "c"]]),
        ("command -v a", [["command", "-v", "a"]]),
        ("set -- x y; a $2", [["set", "--", "x", "y"], ["a", "y"]]),
        ("read x <<< b; a $x", [["read", "x"], ["a", "b"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a \\\n b", [["a", "b"]]),
        ("[[ -f a && b < c ]]; d", [[":", " -f a && b < c"], ["d"]]),
        ("xargs -n1 a <<< 'b c'", [["a", "b", "c"]]),
        (
            "find x -name '*.y' -exec a {} +",
            [["find", "x", "-name", "*.y", "-exec", "a", "{}", "+"], ["a", "x/{}/*.y"]],
        ),
    ],
)
def test_a_text_is_read_as_the_shell_reads_it(text: str, expected: list[list[str]]) -> None:
    assert calls(text) == expected


@pytest.mark.process
@pytest.mark.parametrize(
    "text",
    [
        "printf '<%s>' a 'b c' \"d'e\" f\\ g $'h\\ti' {j,k}l m{1..3} \"\" '' x''y",
        "x='a b'; printf '<%s>' $x \"$x\" ${x%b} ${x#a} ${x/a/c} ${x:2} ${#x}",
        "set -- 1 '2 3'; printf '<%s>' \"$@\" $@ \"$*\" $#",
        "a=(p 'q r'); printf '<%s>' \"${a[@]}\" ${a[0]}",
        "printf '<%s>' $(echo a b) \"$(printf 'x\\ny\\n\\n')\" `echo \"c d\"`",
        "IFS=,; x=a,b; printf '<%s>' $x",
        'printf \'<%s>\' "$(echo cm0= | base64 -d)" "$(echo abc | rev)" "$(echo abc | tr a-c x-z)"',
        "printf '<%s>' \"$(cat <<'EOF'\nit's ) \"here\"\nEOF\n)\" end",
    ],
)
def test_words_become_what_bash_makes_of_them(text: str) -> None:
    said = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, timeout=HANGS).stdout
    last = read_script(text).commands[-1]
    assert "".join(f"<{word.text}>" for word in last.argv[2:]) == said


def test_pipes_and_substitutions_say_what_feeds_a_command() -> None:
    *_, last = read_script("curl x | tee y | bash").commands
    assert [feeder.program for feeder in last.feeders] == ["tee", "curl"]
    *_, last = read_script('x=$(curl y); bash -c "$x"').commands
    assert [source.program for source in last.arguments_from] == ["curl"]
    *_, last = read_script("bash < <(curl x)").commands
    assert [feeder.program for feeder in last.feeders] == ["curl"]


def test_a_directory_change_is_followed_and_ends_with_its_subshell() -> None:
    first, second, third = (
        command for command in read_script("cd a; b; (cd /c; d); e").commands if command.program in "bde"
    )
    assert [command.cwd.text if command.cwd else None for command in (first, second, third)] == ["a", "/c", "a"]


def test_what_is_known_of_the_environment_is_used() -> None:
    assert calls("a $X", X="b") == [["a", "b"]]
    assert [command.cwd.text for command in read_script("a", variables={"PWD": "/x"}).commands if command.cwd] == ["/x"]


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "a $(b", "if a; then b", "a | | b", "$UNKNOWN a", "x" * 300_000])
def test_what_is_not_understood_is_named(text: str) -> None:
    assert read_script(text).unread


@pytest.mark.parametrize("text", [":(){ :|:& };:", "f() { f & f; }; f", "function g { g | g; }", "b() { b|b& }; b"])
def test_a_function_that_starts_itself_is_named(text: str) -> None:
    assert read_script(text).defines


def test_an_honest_recursion_is_no_fork_bomb() -> None:
    assert read_script("f() { g; f; }; h() { a | b & }; h").defines == ()


@pytest.mark.parametrize(
    "text",
    [
        "echo " + "$(" * 3000,
        "echo " + "$((" * 3000,
        "(" * 20_000,
        "|".join(["cat"] * 5000),
        ";".join(["ls"] * 9000),
        "echo " + "{a,b}" * 3000,
        "x=aaaaaaaa;" + "x=$x$x;" * 40 + "rm $x",
        "f0(){ :; };" + "".join(f"f{i}(){{ f{i - 1}; f{i - 1}; }};" for i in range(1, 40)) + "f39",
        "for a in 1 2 3 4 5; do " * 20 + "ls;" + "done;" * 20,
        "eval " * 2000 + "ls",
        "x=$(curl y);" + "y=$x;x=$y;" * 300 + "eval $x",
        'python3 -c "' + "open('''" * 4000 + '"',
    ],
)
@pytest.mark.sampled(4)
def test_a_text_made_to_stall_the_reader_does_not(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Time stands still: what it counts ends the reading. Without that it is minutes, or never, and the test's limit.
    readings = list[Reading]()
    monkeypatch.setattr("assent.shell.reading.walk.time.thread_time", lambda: 0.0)
    monkeypatch.setattr(
        "assent.shell.reading.reader.Reading", lambda **given: readings.append(Reading(**given)) or readings[-1]
    )
    _read_short.cache_clear()
    _read_long.cache_clear()
    list(CommandGuard().findings(read_script(text)))
    assert all(reading.steps <= 10_001 and len(reading.commands) <= 2500 for reading in readings)
    assert all(reading.words <= 12_000 for reading in readings)
    assert 1 <= len(readings) <= 2  # a part of the limits first, then the whole


_TOKENS = st.sampled_from(
    [
        *"'\"`$(){}[]<>|&;#\\*?~!=+- \n\ta/é\x00\x02\ue000",
        *("$(", "${", "$((", "))", "<<EOF\n", "EOF\n", "<<<", "&&", "||", ">&", "<(", "[[ ", " ]]", "$x", "x="),
        *("if ", "then ", "fi", "for x in ", "do ", "done", "case x in ", "esac", "function f "),
        *("~", "~+/", "~-/a", "~me", "${x%", "${x:1:", "${!x}", "$'\\x", "{a,", "..3}", "printf -v x ", "set -- "),
        *("rm -rf ", "sh -c ", "eval ", "sudo ", "xargs ", "find . -exec ", "python3 -c "),
    ]
)


@settings(deadline=None, max_examples=examples(600))
@given(st.lists(_TOKENS, max_size=40).map("".join))
def test_no_text_makes_the_reader_or_the_guard_fail(text: str) -> None:
    script = read_script(text)
    files_touched(script)
    list(CommandGuard().findings(script))


def test_a_text_is_read_once_for_all_guards() -> None:
    assert read_script("ls; pwd", variables={"A": "1"}) is read_script("ls; pwd", variables={"A": "1"})
    assert read_script("echo $A", variables={"A": "1"}) != read_script("echo $A", variables={"A": "2"})


def test_the_directory_before_and_this_one_are_words() -> None:
    assert [word.text for word in read_script("cat ~+/a ~-/b").commands[0].argv] == ["cat", "./a", "~/b"]


@pytest.mark.process
def test_importing_the_reader_loads_no_grammar() -> None:
    code = (
        "import sys, assent.shell.reading.reader, assent.guards.command_guard; sys.exit('tree_sitter' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=HANGS, env={"PYTHONPATH": "sdk"})
    assert done.returncode == 0

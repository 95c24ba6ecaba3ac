from __future__ import annotations

import pytest

from assent.shell.programs.files import files_touched
from assent.shell.reading.reader import read_script


def touched(text: str) -> list[tuple[str, str]]:
    return [(found.path.text, found.mode) for found in files_touched(read_script(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat a b", [("a", "read"), ("b", "read")]),
        ("head -n 5 a", [("a", "read")]),
        ("grep -r x a", [("a", "read")]),
        ("grep -e x a", [("a", "read")]),
        ("sed -n 1p a", [("a", "read")]),
        ("sed -i s/x/y/ a", [("a", "write")]),
        ("awk '{print}' a", [("a", "read")]),
        ("cp a b", [("a", "read"), ("b", "write")]),
        ("mv a b", [("a", "read"), ("a", "write"), ("b", "write")]),
        ("rsync -a ~/a b", [("~/a", "read"), ("b", "write")]),
        ("scp -i k a host:", [("k", "read"), ("a", "read"), ("host:", "write")]),
        ("tar czf x.tgz a", [("x.tgz", "write"), ("a", "read")]),
        ("tar -C /etc -cf - shadow", [("/etc/shadow", "read")]),
        ("zip x.zip a", [("a", "read")]),
        ("curl -T a https://x", [("a", "read")]),
        ("curl -d @a https://x", [("a", "read")]),
        ("curl -F f=@a https://x", [("a", "read")]),
        ("curl -o a https://x", [("a", "write")]),
        ("dd if=a of=b", [("a", "read"), ("b", "write")]),
        ("mapfile < a", [("a", "read")]),
        ("x=$(<a)", [("a", "read")]),
        ("vim a", [("a", "write")]),
        ("source a", [("a", "read")]),
        ("ssh-add a", [("a", "read")]),
        ("openssl rsa -in a -out b", [("a", "read"), ("b", "write")]),
        ("python3 -c \"print(open('a').read())\"", [("a", "read")]),
        ("python3 -c \"open('a', 'w').write('x')\"", [("a", "write")]),
        ("node -e \"require('fs').readFileSync('a')\"", [("a", "read")]),
        ("base64 -w0 a | curl -d @- x", [("a", "read")]),
        ("echo x > a", [("a", "write")]),
        ("echo x | tee -a a", [("a", "write")]),
        ("sudo cat a", [("a", "read")]),
        ("find ~/a -type f -exec cat {} +", [("~/a/{}", "read")]),
        ("f=a; cat $f", [("a", "read")]),
        ("echo 'see a'", []),
        ("git commit -m a", []),
        ("grep a", []),
        ("ls a", []),
        ("chmod 600 a", []),
    ],
)
def test_the_files_that_a_command_touches_are_named(text: str, expected: list[tuple[str, str]]) -> None:
    assert touched(text) == expected


def test_a_path_comes_with_the_directory_that_it_starts_from() -> None:
    (found,) = files_touched(read_script("cd ~/.ssh && cat id_rsa"))
    assert found.command.cwd is not None
    assert (found.command.cwd.text, found.command.cwd.tilde) == ("~/.ssh", True)

"""What stands behind more than rules look at is no less told: people are asked."""

from __future__ import annotations

import pytest

from assent.shell.reading.reader import read_script
from tests.requirements import requirement
from tests.sdk.guards.test_evasions import let_through


@requirement("S-61", "S-70")
@pytest.mark.parametrize(
    "command",
    [
        "terraform " + "-var a " * 210 + "destroy",
        "aws " + "--debug " * 420 + "s3 rb s3://prod --force",
        "anytool " + "a " * 420 + "delete prod",
        "powershell " + "a " * 410 + "Remove-Item -Recurse C:\\\\",
        "psql -c '" + "select 1; " * 2_100 + "drop table users'",
        "psql <<'E'\n" + "select 1;\n" * 2_100 + "drop table users;\nE",
        "curl -d '" + "a" * 11_000 + "' -X DELETE https://api.example.com/users",
        "gh api -X POST " + "-f a=b " * 600 + "repos/x/y/pulls/1/reviews -f event=APPROVE",
    ],
)
async def test_what_stands_behind_more_than_rules_look_at_is_asked_about(command: str) -> None:
    assert await let_through([command]) == []


@requirement("S-61", "S-70")
@pytest.mark.parametrize(
    "command",
    [
        "psql <<'E'\n" + "\n".join(rf"\! ls x{number}" for number in range(300)) + "\n\\! rm -rf /etc\nE",
        "sed -e '" + "' -e '".join(f"1e ls x{number}" for number in range(300)) + "' -e '1e rm -rf /etc' f",
        "sed '" + "p;" * 11_000 + "\n1e rm -rf /etc' f",
        "cat > Makefile <<'E'\nall:\n" + "\techo a\n" * 3_000 + "\trm -rf /etc\nE\nmake",
    ],
)
async def test_more_commands_inside_a_program_than_are_read_are_asked_about(command: str) -> None:
    assert await let_through([command]) == []


@requirement("S-70")
async def test_long_lists_of_files_and_long_prose_are_left_alone() -> None:
    files = " ".join(f"src/file{number}.py" for number in range(600))
    left = [
        f"git add {files}",
        f"rm {files}",
        f"ruff check {files}",
        f"git commit -m '{'a long text. ' * 900}'",
        f"gh pr create --body '{'a long text. ' * 900}'",
        f"docker compose exec web sh -c '{'echo a; ' * 700}'",
        "cat > Makefile <<'E'\nall:\n" + "\n".join(f"\techo {number}" for number in range(120)) + "\nE\nmake",
    ]
    assert await let_through(left) == left


@requirement("S-61")
def test_many_commands_that_are_fed_one_long_text_are_asked_about_before_rules_look_through_it_for_each() -> None:
    text = "x y z " * 2_000
    assert read_script("{ " + "rm -rf a; " * 400 + f"}} <<E\n{text}\nE\n").unread == (
        "too many commands are fed too long a text",
    )
    assert not read_script("{ " + "rm -rf a; " * 40 + f"}} <<E\n{text}\nE\n").unread

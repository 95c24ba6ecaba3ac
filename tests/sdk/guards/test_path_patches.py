"""Patches: the guard sees each file that one touches, and no file that its text only talks about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.guards.paths.patches import patched_files
from tests.sdk.guards.path_calls import of_command, verdict

ENVELOPE = "*** Begin Patch\n{}\n@@\n-a\n+b\n*** End Patch\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENVELOPE.format("*** Update File: src/a.py"), {"src/a.py"}),
        (ENVELOPE.format("*** Add File: .env"), {".env"}),
        (ENVELOPE.format("  *** delete file:   ~/.bashrc  "), {"~/.bashrc"}),
        (ENVELOPE.format("*** Update File: a.txt\n*** Move to: .ssh/config"), {"a.txt", ".ssh/config"}),
        (ENVELOPE.format("*** Update File: a.txt").replace("\n", "\r\n"), {"a.txt"}),
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", {"a/x.py", "b/x.py", "x.py"}),
        ("--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+A=1\n", {"b/.env", ".env"}),
        ("--- .env\t2026-01-01 10:00:00\n+++ /dev/null\n@@ -1 +0,0 @@\n-A=1\n", {".env"}),
        ("+++ .env\n@@ -1 +1 @@\n", {".env"}),
        ("*** old.c\t2026\n--- new.c\t2026\n***************\n", {"old.c", "new.c"}),
        ('--- "a/sch\\303\\274tz.key"\n+++ "b/sch\\303\\274tz.key"\n', {"a/schütz.key", "b/schütz.key", "schütz.key"}),
        ("diff --git a/my key.pem b/my key.pem\nold mode 100644\n", {"a/my key.pem", "b/my key.pem", "my key.pem"}),
        ("diff --git a/x b/x\nrename from notes.txt\nrename to .npmrc\n", {"a/x", "b/x", "x", "notes.txt", ".npmrc"}),
        ('diff --git "a/t\\tx" b/y\n', {"a/t\tx", "t\tx", "b/y", "y"}),
        ("Index: .env\n=====\n", {".env"}),
        ("Binary files a/x.p12 and b/x.p12 differ\n", {"a/x.p12", "b/x.p12", "x.p12"}),
        ("no patch at all\n", set[str]()),
        ("", set[str]()),
    ],
)
def test_the_headers_name_the_files(text: str, expected: set[str]) -> None:
    assert set(patched_files(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        ENVELOPE.format("*** Update File: docs/a.md\n@@\n-see .env\n+*** Add File: .env"),
        "--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-cat ~/.ssh/id_rsa\n+cat /etc/shadow\n",
    ],
)
async def test_what_a_patch_only_talks_about_is_not_judged(text: str) -> None:
    assert await verdict("apply_patch", {"input": text}) == "pass"


@pytest.mark.parametrize("key", ["input", "patch", "diff", "content"])
async def test_a_patch_of_a_protected_file_is_denied_under_any_key(key: str) -> None:
    assert await verdict("apply_patch", {key: ENVELOPE.format("*** Update File: /home/mia/.profile")}) == "deny"


async def test_a_patch_as_the_words_of_a_command_is_read() -> None:
    patch = ENVELOPE.format("*** Add File: .env")
    assert await verdict("apply_patch", {"command": ["apply_patch", patch]}) == "deny"
    assert await of_command(["apply_patch", patch]) == "deny"


@pytest.mark.parametrize("program", ["apply_patch", "patch -p1", "git apply"])
async def test_a_patch_fed_to_a_program_is_read(program: str) -> None:
    patch = "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A\n+B\n"
    assert await of_command(f"{program} <<'EOF'\n{patch}EOF") == "deny"
    assert await of_command(f"{program} <<'EOF'\n{patch.replace('.env', 'x.py')}EOF") == "pass"


async def test_a_patch_is_seen_from_where_it_is_applied() -> None:
    patch = ENVELOPE.format("*** Update File: ../.ssh/config")
    assert await of_command(f"cd ~/work && apply_patch <<'EOF'\n{patch}EOF") == "deny"


@given(st.text(alphabet='*-+ "\\abAdd File:/dev/null@\n\t0123', max_size=200))
def test_no_text_makes_the_reading_of_patches_fail(text: str) -> None:
    assert all(patched_files(text))

"""The path guard: protected places in every spelling, ordinary files untouched."""

from __future__ import annotations

import string
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from assent.guards.path_guard import PathGuard
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision
from assent.hooks.engine.registry import HookRegistry
from tests.sdk.guards.judged import judged_otherwise
from tests.sdk.guards.path_calls import of_path, verdict
from tests.sdk.ready.moments import before

PROTECTED = """
/home/mia/.ssh/id_rsa · /home/mia/.ssh/config · /home/mia/.ssh/known_hosts · /root/.ssh/authorized_keys · id_ed25519
/srv/backup/id_rsa · /srv/deploy_ed25519 · /etc/ssh/ssh_host_ecdsa_key · /etc/ssh/sshd_config · C:/Users/mia/.ssh/id_dsa
/home/mia/.aws/credentials · /home/mia/.aws/config · /home/mia/.aws/sso/cache/a.json · /home/mia/.azure/tokens.json
/home/mia/.config/gcloud/application_default_credentials.json · /home/mia/.kube/config · /home/mia/.boto
/home/mia/.config/doctl/config.yaml · /home/mia/.terraform.d/credentials.tfrc.json · /srv/app/service-account-prod.json
/home/mia/.gnupg/private-keys-v1.d/a.key · /home/mia/.gnupg · /home/mia/.password-store/mail.gpg · /srv/vault.kdbx
/home/mia/.local/share/keyrings/login.keyring · /Users/mia/Library/Keychains/login.keychain-db
/Users/mia/Library/Application Support/Google/Chrome/Default/Login Data · /home/mia/.mozilla/firefox/x/logins.json
/etc/shadow · /etc/gshadow · /etc/shadow- · /etc/passwd · /etc/sudoers · /etc/sudoers.d/90-ops · /etc/pam.d/sshd
/etc/security/opasswd · /etc/master.passwd · /private/etc/master.passwd · /etc/krb5.keytab · /proc/self/environ
/srv/app/.env · .env · .env.local · /srv/app/.env.production · .env.test.local · /srv/app/prod.env · .envrc
/etc/ssl/private/site.key · server.pem · /home/mia/bundle.p12 · /home/mia/cert.pfx · app.jks · app.keystore · login.ppk
/home/mia/.openclaw/agents/main/agent/auth-profiles.json · /home/mia/.openclaw/credentials/whatsapp/default/creds.json
/home/mia/.claude/.credentials.json · /home/mia/.claude.json · /home/mia/.codex/auth.json
/home/mia/.gemini/oauth_creds.json · /home/mia/.qwen/oauth_creds.json · /home/mia/.minimax/oauth_creds.json
/home/mia/.config/github-copilot/apps.json · /home/mia/.local/share/opencode/auth.json
/home/mia/.openclaw/agents/main/sessions/a.jsonl · /home/mia/.claude/projects/p/a.jsonl
/home/mia/.codex/sessions/a.jsonl · /home/mia/.local/share/TelegramDesktop/tdata/key_datas
/home/mia/.config/Signal/sql/db.sqlite · bot.session
/srv/bot/.wwebjs_auth/session/Default · /srv/bot/auth_info_baileys/creds.json
/home/mia/.bashrc · .bash_profile · /home/mia/.profile · .zshrc · .zshenv · /etc/profile · /etc/profile.d/x.sh
/home/mia/.config/fish/config.fish · /home/mia/.bash_aliases
/home/mia/.netrc · /home/mia/_netrc · /srv/app/.npmrc · .pypirc · .git-credentials · /home/mia/.docker/config.json
.pgpass · .my.cnf · /home/mia/.vault-token · /var/www/.htpasswd · /home/mia/.config/gh/hosts.yml
/home/mia/.cargo/credentials.toml · /home/mia/.m2/settings.xml
/home/mia/.bash_history · .zsh_history · .python_history · /home/mia/.local/share/fish/fish_history
/home/mia/.netrc.bak · id_rsa.old · /home/mia/.bashrc~ · server.key.orig
"""
ORDINARY = """
/etc/hosts · /etc/os-release · /etc/nginx/nginx.conf · /etc/ssh/ssh_config · /home/mia/notes.md · /tmp/out.log
/project/src/app.keyboard.ts · /project/docs/valid_rsa_keys.md · /project/src/credentials.ts
/project/src/keys/index.ts · /project/src/env.ts · /project/env.d.ts · /project/.environment-notes.md
/project/src/shadow.css · /project/passwd.txt
/project/etc/shadow.md · /tmp/etc/passwd.txt · /project/monkey.py · /project/hotkeys.json · /project/pem.md
/project/src/profile.tsx · /project/docs/ssh/config.md · /project/src/aws/credentials.py
/project/.github/workflows/ci.yml · /project/.vscode/settings.json · /project/.gitignore
/project/.eslintrc.json · /project/src/session.ts
/project/docker/config.json · /project/config.json · /project/src/id_rsa.ts · /project/keystore/index.js
/project/.claude/settings.json · /project/.claude/commands/x.md · /home/mia/.openclaw/workspace/MEMORY.md
/project/README.md · src/main.py · . · / · /home/mia · Makefile · /project/history.md · /project/.env.d/readme.md
/home/mia/.config/nvim/init.lua · /project/token.json · /project/.env.example · .env.sample · .env.template
/home/mia/.ssh/id_rsa.pub · deploy_key.pub · /project/node_modules/lib/cert.pem · /project/node_modules/x/.npmrc
/project/tests/.env · /project/test/fixtures/server.key · /project/__tests__/id_rsa · /project/spec/fixtures/a.p12
/project/src/tls.test.ts · /project/src/server.spec.key · package-lock.json · yarn.lock · /project/.terraform.lock.hcl
https://example.com/.env
"""


def listed(text: str) -> list[str]:
    return [path.strip() for line in text.strip().splitlines() for path in line.split("·")]


async def each_way(path: str) -> str:
    """What is said of reading, writing and editing a file, in one text."""
    return " ".join([await verdict(tool, {"path": path}) for tool in ("read", "write", "edit")])


async def test_every_protected_file_is_neither_read_nor_written() -> None:
    assert await judged_otherwise(listed(PROTECTED), "deny deny deny", each_way) == {}


async def test_every_ordinary_file_is_left_alone() -> None:
    assert await judged_otherwise(listed(ORDINARY), "pass pass pass", each_way) == {}


@pytest.mark.parametrize(
    "path",
    [
        "/project/tests/../../home/mia/.ssh/id_rsa",
        "/project/node_modules/../.env",
        "node_modules/../.env",
        "~/.ssh/test/id_rsa",
        "~/.aws/fixtures/credentials",
        "/home/test/.netrc",
        "/Users/tests/.env",
        "/root/.ssh/x.test.key",
        "/etc/sudoers.d/tests/x",
        "/etc/ssl/private/fixtures/site.key",
        r"C:\Users\test\.ssh\id_rsa",
        "/home/mia/.ssh/package-lock.json",
        "/home/mia/.ssh/config.example",
    ],
)
async def test_an_exception_never_reaches_a_system_file_or_a_home(path: str) -> None:
    assert await of_path(path) == "deny"


@pytest.mark.parametrize(
    "path",
    [
        "~/.SSH/ID_RSA",
        "$HOME/.ssh/id_rsa",
        "${HOME}/.ssh/id_rsa",
        "${HOME:-/root}/.ssh/id_rsa",
        "~mia/.ssh/id_rsa",
        "~root/.ssh/id_rsa",
        "$UNSET/.ssh/id_rsa",
        r"%USERPROFILE%\.ssh\id_rsa",
        r"$env:USERPROFILE\.ssh\id_rsa",
        "$XDG_CONFIG_HOME/gh/hosts.yml",
        "$KUBECONFIG",
        r"\\?\C:\Users\mia\.ssh\id_rsa",
        r"\\localhost\c$\Users\mia\.ssh\id_rsa",
        r"C:\Users\mia\.ssh\id_rsa::$DATA",
        r"C:.ssh\id_rsa",
        r"\\wsl$\Ubuntu\etc\shadow",
        "/c/Users/mia/.ssh/id_rsa",
        "id_rsa.",
        "id_rsa  ",
        ".ssh /id_rsa",
        " /etc/shadow\n",
        '"/etc/shadow"',
        "'/etc/shadow'",
        "@/etc/shadow",
        "/etc/shadow:1",
        "/etc/shadow:1:20",
        "/etc/shadow#L3",
        "/etc/shadow?raw=1",
        "README.md\n/etc/shadow",
        "README.md, /etc/shadow",
        '["README.md", "/etc/shadow"]',
        "/etc//shadow",
        "//etc/shadow",
        "//./etc/shadow",
        r"\\.\C:\Windows\System32\config\SAM",
        "file:///C:/Windows/System32/config/SAM",
        "/etc/./shadow",
        "/etc/shadow/",
        "/etc/pam.d/../shadow",
        "/../../etc/shadow",
        "../../../../etc/shadow",
        "~/../../etc/shadow",
        "~/../etc/shadow",
        "/var/run/../etc/shadow",
        r"/a\b/../etc/shadow",
        "/proc/self/root/etc/shadow",
        "/proc/1/root/../etc/shadow",
        "/proc/self/task/1/root/etc/shadow",
        "/System/Volumes/Data/private/etc/master.passwd",
        "file:///etc/shadow",
        "FILE://localhost/etc/shadow",
        "file:/etc/shadow",
        "file:///etc/%73hadow",
        "/etc/%73hadow",
        "%2Fetc%2Fshadow",
        "/etc/%2573hadow",
        "%2e%2e/%2e%2e/etc/shadow",
        "/etc/shadow\0.png",
        "/etc/sha\0dow",
        "/etc/\u017fhadow",
        "/etc/sh\u200badow",
        "\uff0fetc\uff0fshadow",
        "/x\uff0fy/../etc/shadow",
        "HEAD:.env",
        "host:/etc/shadow",
    ],
)
async def test_no_spelling_gets_round_the_guard(path: str) -> None:
    assert await of_path(path) == "deny"


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("id_x", "/home/mia/.ssh", "deny"),
        ("shadow", "/etc", "deny"),
        ("etc/shadow", "/", "deny"),
        ("../.ssh/config", "/home/mia/project", "deny"),
        ("../../../etc/shadow", "/home/mia/project", "deny"),
        ("shadow", "/proc/self/root/etc", "deny"),
        ("/proc/self/cwd/shadow", "/etc", "deny"),
        ("shadow", "~/notes", "pass"),
        ("etc/shadow", "/project", "pass"),
        ("../etc/shadow", "/project/src", "pass"),
        ("server.pem", "/project/tests", "pass"),
        ("../server.pem", "/project/tests", "deny"),
    ],
)
async def test_a_relative_path_is_seen_from_the_working_directory(path: str, cwd: str, expected: str) -> None:
    assert await of_path(path, cwd=cwd) == expected


@pytest.mark.parametrize(
    "args",
    [
        *(
            {key: "~/.ssh/id_rsa"}
            for key in ("path", "file_path", "filePath", "filename", "file", "target", "FILE-PATH")
        ),
        *(
            {key: "~/.ssh/id_rsa"}
            for key in ("target_file", "notebook_path", "absolutePath", "old_path", "destination")
        ),
        {"paths": ["README.md", "~/.ssh/id_rsa"]},
        {"files": ("README.md", "~/.ssh/id_rsa")},
        {"files": [{"path": "README.md"}, {"path": ".env"}]},
        {"files": {"README.md": "text", ".env": "A=1"}},
        {"file": {"value": ".env"}},
        {"edits": [{"file_path": "src/a.py", "old": "x"}, {"file_path": "~/.bashrc"}]},
        {"options": {"input": {"file": ".env"}}},
        {"uri": "file:///etc/shadow"},
        {"path": b"/etc/shadow"},
        {"arguments": '{"path": "/etc/shadow"}'},
        {"diff": "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A\n+B\n"},
    ],
)
async def test_every_argument_that_may_carry_a_path_is_read(args: dict[str, Any]) -> None:
    assert await verdict("edit", args) == "deny"


@pytest.mark.parametrize(
    "args",
    [
        {"path": "notes.md", "content": "/etc/shadow"},
        {"path": "notes.md", "content": "see\n~/.ssh/id_rsa\n"},
        {"files": [{"path": "notes.md", "content": ".env"}]},
        {"path": "notes.md", "old_string": "--- a/.env\n+++ b/.env\n@@\n", "new_string": ".env"},
        {"path": "notes.md", "command": "cat ~/.ssh/id_rsa"},
        {"path": None, "limit": 3},
        {},
    ],
)
async def test_text_that_is_no_path_is_not_judged(args: dict[str, Any]) -> None:
    assert await verdict("write", args) == "pass"


async def test_arguments_nested_beyond_reading_are_refused() -> None:
    args: Any = {"path": "README.md"}
    for _ in range(40):
        args = {"inner": [args]}
    assert await verdict("read", args) == "deny"


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("LS", {"path": "/home/mia/.gnupg/"}, "deny"),
        ("Grep", {"pattern": "x", "path": "~/.aws"}, "deny"),
        ("Grep", {"pattern": "id_rsa", "path": "src"}, "pass"),
        ("Grep", {"pattern": "x", "glob": ".env*"}, "deny"),
        ("Glob", {"pattern": "**/*.pem"}, "deny"),
        ("Glob", {"pattern": "sh?dow", "path": "/etc"}, "deny"),
        ("Glob", {"pattern": "src/**/*.ts"}, "pass"),
        ("Glob", {"pattern": "**/*"}, "pass"),
        ("mcp__filesystem__read_text_file", {"path": ".env"}, "deny"),
    ],
)
async def test_tools_that_list_and_search_are_judged_too(tool: str, args: dict[str, Any], expected: str) -> None:
    assert await verdict(tool, args) == expected


@pytest.mark.parametrize(
    "tool",
    ["Read", "Write", "MultiEdit", "apply-patch", "Bash", "LS", "Glob", "mcp__filesystem__move_file", "list_dir"],
)
async def test_it_is_registered_for_the_file_tools_under_any_name(tool: str) -> None:
    registry = HookRegistry(known_tools=["oa__purchase_pay"])
    registry.add(PathGuard())
    assert [entry.priority for entry in registry.get(before(tool).moment, tool=tool)] == [99]
    assert not registry.get(before(tool).moment, tool="oa__purchase_pay")


async def test_in_a_chain_it_denies_the_call() -> None:
    registry = HookRegistry()
    registry.add(PathGuard())
    ctx = before("Read", args={"file_path": "/home/mia/.netrc"})
    outcome = await run_chain(registry.get(ctx.moment, tool="Read"), ctx)
    assert outcome.decision is Decision.DENY


async def test_the_reason_names_the_path_in_visible_characters_and_the_kind() -> None:
    said = await PathGuard().execute(before("read", args={"path": "\u202e~/.ssh/id_rsa\n"}))
    assert said is not None
    assert said.error is not None
    assert said.error.startswith("\\u{202E}~/.ssh/id_rsa\\u{A} is an SSH key or setting: ")
    assert "This is final" in said.error
    assert said.error.isprintable()


async def test_a_long_path_is_cut_in_the_reason() -> None:
    said = await PathGuard().execute(before("read", args={"path": f"/{'a' * 5000}/.env"}))
    assert said is not None
    assert said.error is not None
    assert len(said.error) < 500
    assert "/.env is an environment file" in said.error


async def test_the_owner_extends_both_lists() -> None:
    guard = PathGuard(
        protect=["secrets/", "*.tfstate", "/srv/payroll/"], allow=[".npmrc", "~/.kube/cache/", "/etc/pam.d/login"]
    )
    denied = ["app/secrets/a.txt", "prod.tfstate", "/srv/payroll/x/y.csv", "tests/secrets/a", ".env", "/etc/pam.d/sshd"]
    passed = ["/srv/app/.npmrc", "/home/mia/.kube/cache/x", "/etc/pam.d/login", "app/secrets.md"]
    assert {path: await of_path(path, guard=guard) for path in denied} == dict.fromkeys(denied, "deny")
    assert {path: await of_path(path, guard=guard) for path in passed} == dict.fromkeys(passed, "pass")
    assert await of_path("/home/mia/.kube/config", guard=guard) == "deny"


async def test_an_allowed_folder_forgives_nothing_inside_a_protected_one() -> None:
    guard = PathGuard(allow=["scratch/"])
    assert await of_path("/project/scratch/.env", guard=guard) == "pass"
    assert await of_path("/home/mia/.ssh/scratch/id_rsa", guard=guard) == "deny"
    assert await of_path("/etc/sudoers.d/scratch/x", guard=guard) == "deny"


@pytest.mark.parametrize("pattern", ["", "*", "**", "/", "**/*", "a/../b", "~"])
def test_a_pattern_that_means_everything_or_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="no pattern of paths"):
        PathGuard(allow=[pattern])


@pytest.mark.parametrize("given_list", ["secrets/", [3], {"a": 1}, None])
def test_a_list_that_is_none_is_refused(given_list: Any) -> None:
    with pytest.raises(ValueError, match="protect is a list"):
        PathGuard(protect=given_list)


# --- properties -----------------------------------------------------------------------------------------------------

PLACES = ["/etc/shadow", "/etc/sudoers.d/x", "/home/mia/.ssh/id_rsa", "/home/mia/.aws/credentials", "/srv/app/.env"]
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=5).filter(
    lambda name: name not in {"test", "tests", "spec"}
)


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """A protected path in some other way of writing it."""
    parts = draw(st.sampled_from(PLACES)).split("/")[1:]
    written = ""
    for part in parts:
        detour = draw(
            st.sampled_from(["", "./", "/", ".//", f"{draw(NAMES)}/../", f"{draw(NAMES)}/{draw(NAMES)}/../../"])
        )
        cased = "".join(char.upper() if draw(st.booleans()) else char for char in part)
        coded = "".join(f"%{ord(char):02X}" for char in cased) if draw(st.booleans()) else cased
        written += f"/{detour}{coded}"
    written += draw(st.sampled_from(["", "/", "//", "/.", " ", "\n"]))
    written = draw(st.sampled_from(["", "/", "file://", "@", "/proc/self/root", f"/{draw(NAMES)}/.."])) + written
    if draw(st.booleans()):
        written = written.replace("/", "\\")
    return draw(st.sampled_from([written, f'"{written}"', quote(written), f"README.md\n{written}"]))


@given(spellings())
async def test_a_protected_path_is_denied_however_it_is_written(path: str) -> None:
    assert await of_path(path) == "deny"


WORDS = st.sampled_from(
    listed(
        """
        src · app · docs · lib · key · keys · keyring · env · environment · credentials · shadow · passwd · ssh · aws
        rsa · profile · session · secrets · config · bashrc · netrc · pem · cert · history · auth · token · keyboard
        hockey · monkey · id_rsa_guide · dotenv · gnupg · openclaw · claude · etc · security · sudoers · npmrc
        """
    )
)
ENDINGS = st.sampled_from(
    listed(".py · .ts · .tsx · .md · .json · .css · .go · .rs · .txt · .html · .yaml · .toml · .sh")
)


@given(st.lists(WORDS, min_size=1, max_size=5), WORDS, ENDINGS, st.sampled_from(["", "./", "/project/", "~/work/"]))
@example(["src"], "keyboard", ".ts", "/project/")
async def test_an_ordinary_project_path_passes_whatever_its_words(
    folders: list[str], stem: str, ending: str, start: str
) -> None:
    assume(stem + ending != "credentials.json")  # Google's name for a login, and protected by it
    assert await of_path(f"{start}{'/'.join(folders)}/{stem}{ending}") == "pass"


@given(st.text(max_size=60), st.text(max_size=20))
async def test_no_text_makes_the_guard_fail(path: str, cwd: str) -> None:
    assert await of_path(path, cwd=cwd) in {"pass", "deny"}


@given(st.lists(st.text(string.ascii_letters + string.digits + "-_ .", min_size=1, max_size=8), min_size=1, max_size=3))
async def test_no_name_beneath_a_protected_folder_gets_out(names: list[str]) -> None:
    inside = "/".join(name.replace("..", "") or "x" for name in names)
    assert await of_path(f"~/.gnupg/{inside}") == "deny"

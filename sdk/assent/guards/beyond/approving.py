"""Rules on acts in somebody's name: deciding, reviewing, speaking as a person. No such act ever counts as their own.

By three ways: programs (`assent requests approve`, `gh pr review --approve`, a word *approve* where a program has its
verbs), addresses (what is sent to a gateway, a forge, a chat), and the database that decisions are kept in.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, doubtful, shown
from assent.shell.inside.guessing import only_speaks
from assent.shell.lists import listed
from assent.shell.programs.programs import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command, Word

_FETCHERS = listed("uvx bunx pipx")
_FETCH_VALUES = listed("--from --with -p --package --python --spec --index --index-url")
_ASSENT = re.compile(r"(?:^|/|@)assent(?:$|/|@|-(?!hook)|\.)")
_ASSENT_VALUES = re.compile(r"-[a-zA-Z]|--(?:config|url|server|profile|key|org|host|env|database)")
_SAFE_GROUPS = listed(
    "check doctor demo init serve mcp proxy hook watch install setup slack feishu acp sandbox version help migrate work "
    "try report"
)
"""Commands of `assent` that decide nothing: they look, set up or serve."""
_SAFE_VERBS = listed("list show get evidence verify export check test explain replay status help propose segment")
_DECIDES = listed(
    "requests keys factors standing standing-approvals break-glass payees read-only pause outbox link reseal restored "
    "destroy-values approve deny reject decide audit request people approvers person guards sessions login"
)
_CHAT_PROGRAMS = listed(
    "lark-cli feishu-cli lark feishu slack slack-cli slackcat dws dingtalk dingtalk-cli wecom-cli m365 teams-cli "
    "signal-cli telegram-cli discord-cli"
)
_CHAT_DECIDES = re.compile(r"approve|approved|reject|agree|transfer|decide|refuse|/approve.*", re.IGNORECASE)
_USER_TOKEN = re.compile(
    r"\b(?:xoxp-|xoxe\.xoxp-|xoxc-|xoxd-|Bearer u-|u-[A-Za-z0-9]{8,}|eyJ|mfa\.)|SLACK_USER|USER_(?:ACCESS_)?TOKEN",
    re.IGNORECASE,
)
_VERBS = re.compile(r"approve|approvals?[:.]approve|approve-\w*(?:request|merge|review|deploy)\w*|lgtm", re.IGNORECASE)
_COMMENTED = re.compile(r"\s{0,20}/(?:approve|lgtm|merge|ok-to-test|override)\b")
_GATES = {
    # program: words of which one opens a gate that waits for a person
    "argo": listed("resume"),
    "bk": listed("unblock"),
    "kubectl-argo-rollouts": listed("promote"),
    "vault": listed("sys/control-group/authorize"),
    "aws": listed("put-approval-result update-pull-request-approval-state approve-skill send-task-success"),
    "gerrit": listed("+2"),
    "xdotool": listed("key type click mousemove"),
    "ydotool": listed("key type click"),
    "wtype": listed("-k -M"),
    "cliclick": listed("c:. t:"),
}
_ANY = re.compile(r"")
_FORGES: dict[str, tuple[tuple[frozenset[str], re.Pattern[str]], ...]] = {
    # program: words that it must have, and what one word must look like
    "gh": (
        (listed("pr review"), re.compile(r"^--approve(?:=(?:true|1|t))?$|^-[a-z]*a[a-z]*$")),
        (listed("merge"), re.compile(r"^--admin$")),
        (listed("run approve"), _ANY),
        (listed("alias set"), re.compile(r"--approve|approve\b")),
    ),
    "glab": ((listed("mr approve"), _ANY), (listed("mr revoke"), _ANY), (listed("approve"), _ANY)),
    **dict.fromkeys(
        ("tea", "gitea", "forgejo", "bb", "bitbucket"),
        ((listed("approve"), _ANY), (frozenset[str](), re.compile(r"^--approve$"))),
    ),
    "az": ((listed("set-vote"), re.compile(r"^approve(?:-with-suggestions)?$")),),
    "gcloud": tuple((listed(f"approve {kind}"), _ANY) for kind in ("deploy", "access-approval", "builds")),
    "gerrit": ((listed("approve"), _ANY), (frozenset[str](), re.compile(r"^(?:\+2|--code-review=\+2|2)$"))),
    "git": ((frozenset[str](), re.compile(r"refs/for/\S*(?:Code-Review|Verified)\+\d")),),
    "ssh": ((listed("gerrit"), re.compile(r"\+2")),),
    **dict.fromkeys(
        ("kubectl", "oc"), ((listed("certificate approve"), _ANY), (frozenset[str](), re.compile(r"^approvaltask")))
    ),
}
_SENDERS = listed(
    "curl wget http https xh curlie httpie hurl nc ncat netcat socat telnet openssl restish aria2c grpcurl websocat ab hey"
)
_GATEWAY = re.compile(
    r"/v1/(?:requests/[^/\s\"']{1,200}/(?:decisions?|decide|approve|deny|reject|lift|extend|reopen|reconcile|hand-over|questions/[^/\s]{1,200}/answer)"
    r"|break-glass|standing[\w-]{0,40}|factors|payees|switches)\b|/console/(?:requests|admin|pulse|rules)/|/me/(?:passkeys|app|sessions)\b"
)
_GATEWAY_KEYS = re.compile(r"/v1/keys\b")
_ROOM = re.compile(r"/(?:requests?|approvals?|inbox|console|decisions?|decide|callbacks?|callback|votes?|r|a)(?:/|\b)")
_VERDICT = re.compile(
    r"(?:verdict|decision|status|state|action|action_id|value|verb|vote|event|outcome)[\"'\\]{0,4}\s{0,4}[:=]{1,2}\s{0,4}[\"'\\]{0,4}(?:approv|reject|den(?:y|ied))"
    r"|[?&](?:verdict|decision|action)=|-d\s{1,4}[\"']?(?:approve|deny)\b|/(?:approve|deny|reject)\b(?![\w.-])",
    re.IGNORECASE,
)
_WRITES = re.compile(
    r"(?:^|\s)-[a-zA-Z]{0,4}(?:X\s?|d|F)|--(?:data|json|form|request|method|post|body|raw)|\b(?:POST|PUT|PATCH|DELETE|post|put|patch)\b|\s\w[\w.-]{0,40}:?=",
)
_LOCAL = re.compile(r"(?://|\s|^)(?:localhost|127\.0\.0\.1|\[::1\])|(?:^|\s):\d")
_APPROVES = re.compile(
    r"https?://[^\s\"']{0,300}approv\w{0,12}|/actions/apply\b|/transitions\b.{0,200}approv", re.IGNORECASE
)
_CHATS = re.compile(
    r"https?://(?:[\w.-]+\.)?(?:slack\.com/api|open\.feishu\.cn/open-apis|open\.larksuite\.com/open-apis|graph\.microsoft\.com"
    r"|discord(?:app)?\.com/api|api\.telegram\.org|oapi\.dingtalk\.com|qyapi\.weixin\.qq\.com)"
)
_CHAT_ROUTES = re.compile(
    r"/(?:approval/v4/(?:tasks|instances)/(?:approve|reject|specify|transfer)|approvals?/[^/\s]+/(?:approve|decide)|approve\b|decisions?\b|votes?\b)"
)
_AGREES = re.compile(
    r"(?:result|action|decision|status)[\"'\\]{0,3}\s{0,4}[:=]\s{0,4}[\"'\\]{0,3}(?:agree|refuse|approv|reject)"
)
_REVIEWS = re.compile(
    r"(?:pulls|merge_requests|pull-?requests|deployments)/[^/\s]+/(?:reviews|approve|approvals?)\b|runs/[^/\s]+/(?:pending_deployments|approve)\b"
)
_REVIEWED = re.compile(r"APPROVE|/approve\b|(?:state|status).{1,6}approved")
_PROTECTION = re.compile(r"branches/[^/\s]+/protection|required_pull_request_reviews|protected_branches|/rulesets/")
_GRAPHQL_DECIDES = re.compile(
    r"\b(?:(?:add|submit)PullRequestReview\b.{0,400}\bAPPROVE\b|approveDeployments|mergeRequestApprove)", re.DOTALL
)
_SQL = re.compile(
    r"\b(?:update|insert\s{1,4}(?:or\s{1,4}\w{1,10}\s{1,4})?into|delete\s{1,4}from|replace\s{1,4}into|truncate(?:\s{1,4}table)?|alter\s{1,4}table|drop\s{1,4}table)\s{1,4}"
    r"(?:only\s{1,4})?(?:[\"`\[]?\w{1,40}[\"`\]]?\.)?[\"`\[]?(?P<table>\w{1,60})",
    re.IGNORECASE,
)
_TABLES = listed(
    "decisions audit_events audit_heads audit_log trail_cuts standing_approvals confirmation_requests approvals "
    "console_sessions platform_tokens value_keys seen_clicks"
)
_TABLES_OF_A_GATEWAY = listed(
    "requests grants executions api_keys accounts factors passkeys payees switches policies sessions outbox deliveries"
)
_OUR_DATABASE = re.compile(r"assent|gateway|approv", re.IGNORECASE)
_CLICKS = re.compile(
    r"(?:click|press|tap|keystroke)\W{1,10}.{0,80}(?:approv|/requests/|Return)|\bkeystroke\b", re.IGNORECASE
)
_CODE_DECIDES = re.compile(
    r"\bapp\.cli\b.{0,200}approve|(?:create_?[rR]eview|submit_?[rR]eview|pulls?|PullRequest)\b.{0,200}\bAPPROVE\b|merge_?requests?\b.{0,120}\.approve\("
    r"|(?:slack_sdk|WebClient|chat_?[pP]ostMessage|lark_oapi|feishu).{0,400}(?:USER_(?:ACCESS_)?TOKEN|SLACK_USER|xoxp-|xoxc-)"
    r"|(?:USER_(?:ACCESS_)?TOKEN|SLACK_USER|xoxp-|xoxc-).{0,400}(?:slack_sdk|WebClient|chat_?[pP]ostMessage)",
    re.DOTALL,
)
_LONGEST = 10_000


def on_approving(command: Command) -> Iterator[Finding]:
    """Deciding, or speaking, in the name of a person: whatever the keys, it never counts as that person's own act."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    words = [text for text in texts if not text.startswith("-")]
    into_net = any(redirect.target.text.startswith("/dev/tcp/") for redirect in command.redirects)
    if not command.argv or not program or (only_speaks(program) and not into_net):
        return
    if program in _FETCHERS and (ran := _ran_by(command)):
        yield from on_approving(replace(command, argv=ran))
        return
    said = f"{program} {' '.join(words[:3])}"[:80]
    if _ASSENT.search(command.argv[0].text):
        yield from _assent(said, texts)
    elif "-m" in texts and (at := texts.index("-m") + 1) < len(texts) and re.match(r"assent\b|app\.cli\b", texts[at]):
        yield from _assent(said, texts[at + 1 :])
    elif program in _CHAT_PROGRAMS or command.argv[0].text.startswith("@larksuite/"):
        if _speaks_as_a_person(command, texts):
            yield blocked(f"{said} acts in the name of a person")
    elif _forge_approval(program, words, texts):
        yield blocked(f"{said} approves in the name of a person")
    else:
        yield from _deciding(command, said, words, texts)


def _deciding(command: Command, said: str, words: list[str], texts: list[str]) -> Iterator[Finding]:
    """By an address, a database, a hand on the screen, or a program's verb."""
    program = command.program
    language = language_of(program)
    sent = _sent(command, texts)
    if (
        program in _SENDERS
        or "/dev/tcp/" in sent
        or language
        or (program in {"gh", "glab", "hub", "az"} and words[:1] == ["api"])
    ):
        yield from _over_http(command, sent, by_code=bool(language) and language != "shell")
    if re.search(r"\bxox(?:p|c|d|e\.xoxp)-[\w-]", sent) and not _runs_scripts(program):
        yield blocked(f"{program} acts in a chat in the name of a person")
    if language and (
        _CLICKS.search(sent)
        or (re.search(r"\bassent\b", sent) and re.search(r"\.(?:approve|decide|deny)\(", sent))
        or _CODE_DECIDES.search(sent)
    ):
        yield blocked(f"{program} decides in the name of a person")
    if program not in _SENDERS:
        yield from _in_the_database(program, sent)
    if not language and not _runs_scripts(program) and any(map(_VERBS.fullmatch, words[:4])):
        yield doubtful(f"{said} may decide in the name of a person")


def _sent(command: Command, texts: list[str]) -> str:
    names = (name for word in command.argv for name in word.built_from)
    into = (redirect.target.text for redirect in command.redirects)
    ahead = (word.text for _, word in command.environment)
    return " ".join((*texts, *names, *into, *ahead, command.fed_text or ""))[:_LONGEST]


def _ran_by(command: Command) -> tuple[Word, ...]:
    """Return what a program runs that fetches it first: `uvx --from x x …`."""
    at, argv = 1, command.argv
    while at < len(argv) and (argv[at].text.startswith("-") or argv[at].text == "run"):
        at += 2 if argv[at].text in _FETCH_VALUES else 1
    return argv[at:]


def _assent(said: str, texts: list[str]) -> Iterator[Finding]:
    """Whatever is not known to look only is a person's to do."""
    if not texts or {"--help", "-h", "--version"} & set(texts):
        return
    words = [
        text
        for before, text in zip(("", *texts), texts, strict=False)
        if not text.startswith("-") and not (_ASSENT_VALUES.fullmatch(before))
    ]
    group, verb = (words[0] if words else ""), (words[1] if len(words) > 1 else "")
    if group in _SAFE_GROUPS or verb in _SAFE_VERBS or (group == "read-only" and verb == "on"):
        return
    if group in _DECIDES or {"approve", "deny", "create", "revoke"} & set(words[:4]):
        yield blocked(f"{said} decides in the name of a person: agents ask, people answer")
    else:
        yield doubtful(f"{said} is no command that is known to look only")


def _speaks_as_a_person(command: Command, texts: list[str]) -> bool:
    given = [*texts, *(word.text for _, word in command.environment)]
    if any(map(_CHAT_ROUTES.search, texts)) and any("approv" in text for text in texts):
        return True
    user = any(text in {"--as=user", "--user"} for text in texts) or ("--as" in texts and "bot" not in texts)
    decides = any(_CHAT_DECIDES.fullmatch(text) for text in texts if not text.startswith("-"))
    return user or decides or any(map(_USER_TOKEN.search, given))


def _runs_scripts(program: str) -> bool:
    """Whether the program's words are names of a project's own scripts, branches, files or packages."""
    return program in listed(
        "npm yarn pnpm bun make just task git ls cd mkdir cp mv rm touch docker code vim find pytest"
    )


def _forge_approval(program: str, words: list[str], texts: list[str]) -> bool:
    """Whether the program reviews, votes or opens a gate as a person does."""
    given = set(words)
    if program in {"gh", "glab", "hub", "tea", "bb", "az"} and any(map(_COMMENTED.match, texts)):
        return True
    if program in _FORGES:
        return any(needed <= given and any(map(shape.search, texts)) for needed, shape in _FORGES[program])
    return bool(_GATES.get(program, frozenset()) & set(texts)) or ("--approve" in texts and bool(words))


def _over_http(command: Command, sent: str, *, by_code: bool) -> Iterator[Finding]:
    program = command.program
    writes = bool(_WRITES.search(f" {sent}"))
    if _CHATS.search(sent) and (_USER_TOKEN.search(sent) or _CHAT_ROUTES.search(sent) or _AGREES.search(sent)):
        yield blocked(f"{program} acts in a chat in the name of a person")
    elif (
        (_GATEWAY.search(sent) and (writes or _VERDICT.search(sent)))
        or (_GATEWAY_KEYS.search(sent) and writes and re.search(r"scope|approver|admin", sent))
        or (_ROOM.search(sent) and _VERDICT.search(sent) and (writes or "?" in sent))
    ):
        yield blocked(f"{program} decides in the name of a person: agents ask, people answer")
    elif (_REVIEWS.search(sent) and _REVIEWED.search(sent)) or ("graphql" in sent and _GRAPHQL_DECIDES.search(sent)):
        yield blocked(f"{program} approves in the name of a person")
    elif program in {"gh", "glab", "hub"} and _PROTECTION.search(sent) and re.search(r"DELETE|PUT|PATCH|POST", sent):
        yield blocked(f"{program} changes who must review")
    elif (
        any(mark in sent for mark in "$\0")
        and not re.search(r"BOT|HOOK", sent)
        and _CHATS.search(sent)
        and re.search(r"approv", sent)
    ):
        yield doubtful(f"{program} {shown(command.argv[-1])} may act in the name of a person")
    elif not by_code and writes and _APPROVES.search(sent) and not _LOCAL.search(sent):
        yield doubtful(f"{program} {shown(command.argv[-1])} may decide in the name of a person")


def _in_the_database(program: str, sent: str) -> Iterator[Finding]:
    for found in _SQL.finditer(sent):
        table = found["table"].lower()
        ours = bool(_OUR_DATABASE.search(sent[: found.start()] + program))
        if table in _TABLES or (
            table in _TABLES_OF_A_GATEWAY and (ours or (table == "requests" and re.search(r"approv", sent)))
        ):
            yield blocked(f"{program} changes {table}, where decisions are kept")
            return

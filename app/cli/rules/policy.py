"""The commands about rules: why a call is answered so, cases that must hold, and the past under another file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from app.cli.options import HERE, Config, Org
from app.cli.progress import Progress

if TYPE_CHECKING:
    from app.policies.file.case_file import Case
    from app.policies.file.policy_file import LoadedPolicy
    from app.usecases.judging.explain import Explanation

policy_app = typer.Typer(no_args_is_help=True, help="Rules: explain, test, replay.")

AsJson = Annotated[bool, typer.Option("--json", help="one JSON object instead of text")]


@policy_app.command("explain")
def policy_explain(  # noqa: PLR0917 - options of a command
    tool: Annotated[str | None, typer.Option(help="the tool; left out: the call is JSON on standard input")] = None,
    args: Annotated[str, typer.Option(help="the arguments, as JSON")] = "{}",
    agent: Annotated[str, typer.Option(help="the agent")] = "",
    user: Annotated[str | None, typer.Option(help="e-mail of the person it acts for")] = None,
    session: Annotated[str | None, typer.Option(help="the session")] = None,
    at: Annotated[str | None, typer.Option(help="when, such as 2026-01-05T20:00 (the org's zone); now")] = None,
    config: Config = HERE,
    org: Org = None,
    *,
    verified: Annotated[bool, typer.Option("--verified", help="suppose that the person was proved to ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell which rules look at a call, with which values, which one decides, and whom it asks. Hooks are not run."""
    from pydantic import ValidationError

    from app.cli.rules.policy_views import explained_lines, view_explanation
    from app.clock import SystemClock
    from app.policies.file.case_file import CaseEntry, call_of, in_zone
    from app.policies.marks.value_words import refusal_in_words
    from app.usecases.judging.explain import explain

    loaded = _load(config, org)
    given = {"tool": tool, "args": _json(args, "--args"), "agent": agent, "user": user, "session": session, "at": at}
    given = {**given, "verified": True} if verified else given
    raw = given if tool is not None else _json(sys.stdin.read(), "standard input")
    known = {key: value for key, value in raw.items() if value is not None and key != "cwd"}
    try:
        entry = CaseEntry.model_validate({**known, "it": "-", "expect": "ask"})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = f'"{fault["loc"][0]}": ' if fault["loc"] else ""
        said, mend = refusal_in_words(fault)
        _refuse(f"this is no call: {where}{said}" + (f"; {mend}" if mend else ""))
    now = in_zone(entry.at, loaded.policy.zone) if entry.at else SystemClock().now()
    explanation = explain(loaded, call_of(entry, loaded.policy.org), now=now)
    if as_json:
        typer.echo(json.dumps(view_explanation(explanation)))
        return
    for line in explained_lines(explanation):
        typer.echo(_on_its_line(line))


@policy_app.command("test")
def policy_test(
    cases: Annotated[Path | None, typer.Argument(help="cases.yaml beside the configuration if left out")] = None,
    config: Config = HERE,
    org: Org = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Hold the rules to cases: a call, the verdict it must get, and the rule that must say so. Exit 1 if one fails."""
    from app.cli.rules.policy_views import failure_lines, view_explanation
    from app.policies.file.case_file import FILE_NAME, read_cases
    from app.policies.marks.faults import PolicyFaultsError
    from app.usecases.judging.explain import ARGUMENTS

    loaded = _load(config, org)
    if cases is None and config.is_dir():
        _refuse("say which file of cases: every .yaml beside the configurations of a directory is one of them")
    path = cases or config.parent / FILE_NAME
    policy = loaded.policy
    own = {"default", "unknown-tool", "requires-confirmation", "confirm-all-tools", ARGUMENTS}
    try:
        read = read_cases(
            path, org=policy.org, zone=policy.zone, rules=frozenset({*own, *(rule.id for rule in policy.rules)})
        )
    except PolicyFaultsError as error:
        _refuse(str(error))
    results = [_try(case, loaded) for case in read]
    failed = [(case, got, why) for case, got, why in results if why]
    if as_json:
        told = [
            {"it": case.it, "line": case.line, "ok": not why, "why": why, "got": view_explanation(got)}
            for case, got, why in results
        ]
        typer.echo(json.dumps({"version": policy.version, "failed": len(failed), "cases": told}))
    else:
        for case, got, why in failed:
            for line in failure_lines(case, got, f"{path}:{case.line}: {case.it}: {why}"):
                typer.echo(_on_its_line(line))
        typer.echo(f"{len(results)} cases: {len(results) - len(failed)} as expected, {len(failed)} not")
    raise typer.Exit(code=1 if failed else 0)


@policy_app.command("replay")
def policy_replay(
    new: Annotated[Path, typer.Argument(help="the changed file")],
    since: Annotated[str, typer.Option(help="how far back: 12h, 30d, 4w")] = "30d",
    config: Config = HERE,
    org: Org = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Judge recorded calls by a changed file: what would now ask, pass or be refused, and who would be asked."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.cli.rules.policy_views import replay_lines, view_replay
    from app.clock import SystemClock
    from app.policies.file.case_file import parse_span
    from app.usecases.judging.replay import Replay

    try:
        start = SystemClock().now() - parse_span(since)
    except (ValueError, OverflowError) as error:
        _refuse(f"--since {error}")

    async def run() -> None:
        async with beside_gateway(config, org) as at:
            loaded = _load(new, at.org)
            progress = Progress()
            replayed = await Replay(read=at.read)(loaded, since=start, tell=lambda seen: progress(seen, "calls judged"))
        if as_json:
            typer.echo(json.dumps(view_replay(replayed, loaded)))
        else:
            for line in replay_lines(replayed, loaded, since):
                typer.echo(_on_its_line(line))

    run_command(run())


@policy_app.command("propose")
def policy_propose(config: Config = HERE, org: Org = None, *, as_json: AsJson = False) -> None:
    """Write the rules that repeated approvals suggest, each narrower than what people approved, as YAML to copy."""
    from app.cli.beside_database import beside_gateway, run_command
    from app.cli.rules.policy_views import proposed_lines, view_proposed
    from app.clock import SystemClock
    from app.usecases.judging.propose_rules import ProposeRules

    async def run() -> None:
        async with beside_gateway(config, org) as at:
            found = await ProposeRules(read=at.read)(at.loaded.policy, now=SystemClock().now())
        if as_json:
            typer.echo(json.dumps({"rules": [view_proposed(each) for each in found]}))
            return
        for line in proposed_lines(found):
            typer.echo(line)

    run_command(run())


def _load(config: Path, org: str | None) -> LoadedPolicy:
    from app.policies.file.policy_book import load_all
    from app.policies.marks.faults import PolicyFaultsError
    from app.policies.marks.surroundings import AnyEnvironment
    from channels import registry

    try:
        found = load_all(config, environ=AnyEnvironment(), channel_types=registry.platforms_unread())
    except PolicyFaultsError as error:
        _refuse(str(error))
    if org is None and len(found) == 1:
        return next(iter(found.values()))
    if org not in found:
        told = f"the file is not about {org}, but about" if org else "say which org with --org:"
        _refuse(f"{told} {', '.join(found)}")
    return found[org]


def _on_its_line(line: str) -> str:
    """Keep what a call brought along from looking like a line of ours."""
    from app.domain.text.visible import on_one_line

    return line if line.isprintable() else on_one_line(line)


def _refuse(why: str) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(code=2)


def _json(text: str, what: str) -> dict[str, Any]:
    from app.domain.errors import BadJsonError
    from app.domain.text.canonical import parse_json

    try:
        value = parse_json(text.strip().encode())
    except BadJsonError as error:
        _refuse(f"{what}: not JSON: {error.detail}")
    if not isinstance(value, dict):
        _refuse(f"{what}: must be a JSON object")
    return value


def _try(case: Case, loaded: LoadedPolicy) -> tuple[Case, Explanation, str]:
    """Return the case, what came out, and what is wrong with that ("" for nothing)."""
    from app.domain.rules.condition import TIMES
    from app.policies.file.case_file import NOON
    from app.usecases.judging.explain import explain

    got = explain(loaded, case.call, now=case.at or NOON)
    if got.verdict is not case.expect or case.rule not in {None, got.rule}:
        return case, got, "another answer"
    if case.tier not in {None, got.tier}:
        return case, got, "another tier"
    if case.assurance is not None and (got.asking is None or got.asking.assurance is not case.assurance):
        return case, got, "another level of assurance"
    whens = {rule.id: rule.when for rule in loaded.policy.rules}
    seen = [when for step in got.trace if step.values and (when := whens.get(step.rule_id))]
    if case.at is None and any(when.needs & set(TIMES) for when in seen):
        return case, got, 'its answer hangs on the time: give it an "at"'
    return case, got, ""

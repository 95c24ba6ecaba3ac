"""What the small commands share: a clear refusal of bad settings, and the store beside a running gateway."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import typer
from pydantic import ValidationError

from app.clock import SystemClock
from app.domain.errors import AssentError, InvalidError
from app.domain.identity.api_key import AGENTS, Scope
from app.domain.identity.seals import Seals
from app.domain.trail.audit import Kind
from app.identifiers import RandomIds
from app.policies.file.policy_book import PolicyBook, config_check
from app.policies.marks.faults import PolicyFaultsError, near
from app.settings import Settings
from app.storage.engine.database_fault import database_fault
from app.storage.engine.dialect import dialect_for
from app.storage.make_store import make_store
from app.usecases.proving.factors import Factors
from app.usecases.reading.keys import Keys
from app.usecases.reading.read import Read
from channels import registry
from migrations.state import NEWEST, find_present

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Generator
    from pathlib import Path

    from app.domain.people.people import Directory
    from app.domain.trail.audit import AuditEvent
    from app.storage.engine.store import Store

NEW_DATABASE = "the database is new: `assent migrate` (or `assent serve --migrate`) makes its tables"

SENTENCES = {
    Kind.CREATED: "{actor} asked for {tool}{payment}; the rule {rule} {asks}{warned}",
    Kind.VOTE: "{actor} said {verdict} on {channel}{at_level}; more people have to",
    Kind.APPROVED: "{actor} approved it on {channel}{at_level}",
    Kind.DENIED: "{actor} denied it on {channel}: {reason}",
    Kind.EXPIRED: "nobody decided in time: it expired",
    Kind.CANCELLED: "{actor} withdrew it: {reason}",
    Kind.UNDELIVERABLE: "nobody could be reached: {reason}",
    Kind.HANDED_OVER: "{actor} handed their place over to {to}: {note}",
    Kind.APPROVER_ADDED: "{actor} wants {person} to approve it as well: {note}",
    Kind.ASKED_BACK: "{actor} asked: {text}",
    Kind.ANSWERED: "{actor} answered: {text}",
    Kind.REMINDED: "{actor} reminded those who had not decided yet",
    Kind.ESCALATED: "nobody had decided: {to} may decide it as well, and it was shown on {channels}",
    Kind.EXTENDED: "{actor} gave people time until {until}",
    Kind.REOPENED: "{actor} asked again for what had expired, as {successor}",
    Kind.CARD_LATE: "a card to {channel} is late: {why}",
    Kind.CARD_REROUTED: "the card was brought to {channels} and {people} instead: {why}",
    Kind.EDITED: "{actor} changed the arguments; what was voted so far counts no longer",
    Kind.REVIEWED: "{actor} looked at all of it, with a link from {via}",
    Kind.CLAIMED: "{actor} took the approval and began to run it",
    Kind.LAPSED: "the approval was not used in time and lapsed",
    Kind.REVOKED: "the approval was taken back: {why}",
    Kind.SUCCEEDED: "{actor} reported that it succeeded",
    Kind.FAILED: "{actor} reported that it failed: {error}",
    Kind.UNKNOWN: "nobody knows whether it ran: {error}",
    Kind.RECONCILED: "{actor} settled what became of it: {status}",
    Kind.ALLOWED: "{actor} was allowed {tool} by the rule {rule}",
    Kind.REFUSED: "{actor} was refused {tool} by {decided_by}",
    Kind.CLICK_REFUSED: "a click of {actor} on {channel} did not count: {why}",
    Kind.CARD_HELD: "its card waits until {until}: {why}",
    Kind.CARD_POSTED: "a card was posted to {channel}",
    Kind.CARD_RETIRED: "the card on {channel} was settled",
    Kind.CARD_FAILED: "a card could not be brought to {channel}: {why}",
    Kind.KEY_CREATED: "{actor} made the {scope} key {key} ({label})",
    Kind.KEY_REVOKED: "{actor} revoked the key {key}",
    Kind.POLICY_LOADED: "the configuration {policy_version} came into force",
    Kind.HOOK_BLOCKED: "the hook {hook} stopped {actor} at {moment}: {reason}",
    Kind.HOOK_FAULTED: "a hook failed at {moment} of {actor}, which its on_error lets pass or asks about: {hooks}",
    Kind.HOOK_NOTED: "a hook noted at {moment} of {actor}: {hooks}",
    Kind.SESSION_DETACHED: "{actor} began the session {session}, which inherits nothing of {parent_agent}",
    Kind.EVALUATION_BYPASSED: "{actor} was allowed {tool} without people, in an evaluation run: {reason}",
    Kind.SWITCH_SET: "{actor} set {switch} to {state} for {agent}{of_tool}: {reason}",
    Kind.LIFTED: "{actor} lifted the refusal: the call may be asked about again",
    Kind.APPROVER_LOCKED: "{person} gave {failures} wrong codes for {what} and is locked until {until}",
    Kind.FACTOR_INVITED: "{actor} invited {person} to set up a second factor",
    Kind.FACTOR_ADDED: "{actor} set up a second factor",
    Kind.FACTOR_REMOVED: "{actor} took the second factor of {person} away",
    Kind.STANDING_PROPOSED: "{actor} proposed the standing approval {standing}: {scope}",
    Kind.STANDING_CONFIRMED: "{actor} confirmed the standing approval {standing}: {scope}",
    Kind.STANDING_USED: "{actor} used the standing approval {standing}: {used} of {uses}",
    Kind.STANDING_REVOKED: "{actor} revoked the standing approval {standing}",
    Kind.GLASS_PROPOSED: "{actor} wants to break the glass, as {standing}: {scope}: {reason}",
    Kind.GLASS_BROKEN: "THE GLASS WAS BROKEN by {actor}, as {standing}, until {until}: {scope}: {reason}",
    Kind.GLASS_USED: "{actor} may run {tool} under the broken glass {standing}: nobody was asked",
    Kind.GLASS_ENDED: "{actor} ended the broken glass {standing}",
    Kind.GLASS_REVIEWED: "{actor} reviewed what was done under the broken glass {standing}: {review}",
    Kind.PAYEE_ADDED: "{actor} put the payee {payee} into the register",
    Kind.PAYEE_REMOVED: "{actor} took the payee {payee} out of the register",
    Kind.RESTORED: "{actor} declared that the database was restored from a backup (epoch {epoch}): {reason}",
}
"""What each kind of event means, for people; the names are facts of the event."""


ALLOWED_BY = "nobody was asked: {allowed_by} lets an executor run it: {reason}"
"""What an approval means that no person gave."""


class _Facts(dict[str, object]):
    """An event's facts; one that it has not reads "-"."""

    def __missing__(self, key: str) -> str:
        return "-"


def render_event(event: AuditEvent) -> str:
    """Tell an event in one line for people; what came from outside cannot begin another one."""
    facts = _Facts({name: _listed(value) for name, value in event.record.facts.items() if value is not None})
    facts["actor"] = event.record.actor
    facts["decided_by"] = f"the hook {facts['hook']}" if facts.get("hook") else f"the rule {facts['rule']}"
    facts["of_tool"] = f", the tool {facts['tool']}" if "tool" in facts else ""
    facts["at_level"] = f" at {facts['assurance']}" if "assurance" in facts else ""
    facts["payment"] = _paid(event.record.facts.get("payment"))
    facts["asks"] = "asks people about it" if event.record.facts.get("stages") != [] else "asks nobody"
    facts["asks"] = f"{facts['asks']}{facts['at_level']}"
    cautions = cast("list[str]", event.record.facts.get("cautions", []))
    facts["warned"] = f" ({', '.join(dict.fromkeys(cautions))})" if cautions else ""
    told = (ALLOWED_BY if "allowed_by" in facts else SENTENCES[event.record.kind]).format_map(facts)
    line = told if told.isprintable() else told.encode("unicode_escape").decode()
    return f"{event.at:%Y-%m-%d %H:%M:%S} UTC  {line}" + (f"  [{event.request_id}]" if event.request_id else "")


def _paid(payment: object) -> str:
    """Write what a call pays to whom."""
    if not isinstance(payment, dict):
        return ""
    bound = cast("dict[str, Any]", payment)  # the trail's own JSON: `bound_facts` writes it
    sums = " + ".join(f"{currency} {amount}" for currency, amount in bound["totals"].items())
    return f" ({sums} to {', '.join(bound['payees'])})"


def _listed(value: object) -> object:
    """Write a list of texts as people do; everything else stays as it is."""
    if not isinstance(value, list):
        return value
    each = cast("list[object]", value)  # the trail's own JSON
    return ", ".join(map(str, each)) if each and all(isinstance(one, str) for one in each) else each or "-"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Say how many there are, with the word in its number."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def read_settings() -> Settings:
    """Read the environment, or say which variable is at fault and end with 2."""
    try:
        return Settings()  # pyright: ignore[reportCallIssue] - its fields come from the environment
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            name = f"ASSENT_{'_'.join(str(step) for step in fault['loc'][:1])}".upper()
            typer.echo(f"{name}: {fault['msg'].removeprefix('Value error, ')}", err=True)
        if any(fault["loc"][:1] == ("secret",) for fault in error.errors()):
            typer.echo('mend: export ASSENT_SECRET="$(assent secret)", and keep it', err=True)
        raise typer.Exit(code=2) from None


def refuse_faults(config: Path, *, ending: str = "; nothing was started") -> None:
    """Say every fault of the configuration and end with 2, if there is one."""
    faults = config_check(config, environ=os.environ, channel_types=registry.platforms())
    for fault in faults:
        typer.echo(str(fault), err=True)
    if faults:
        typer.echo(f"{counted(len(faults), 'fault')}{ending}", err=True)
        raise typer.Exit(code=2)


def check_schema(url: str, *, migrate_first: bool) -> None:
    """End with 2 unless the database answers and is at the newest schema."""
    with database_or_exit(url):
        if migrate_first:
            from migrations import run  # Alembic is loaded only when it has something to do

            run.upgrade(url)
        present = find_present(url)
    if present is None:
        typer.echo(NEW_DATABASE, err=True)
        raise typer.Exit(code=2)
    if present != NEWEST:
        typer.echo(f"the database is at {present}, this gateway needs {NEWEST}: run `assent migrate`", err=True)
        raise typer.Exit(code=2)


@contextmanager
def database_or_exit(url: str) -> Generator[None]:
    """Say a fault of the database in one line that names its setting, and end with 2."""
    try:
        yield
    except Exception as error:
        why = database_fault(error, url)
        if why is None:
            raise
        typer.echo(f"ASSENT_DATABASE_URL: the database does not answer: {why}", err=True)
        raise typer.Exit(code=2) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a command works with, in the scope of one org."""

    org: str
    keys: Keys
    factors: Factors
    read: Read
    store: Store
    directory: Directory


@asynccontextmanager
async def beside_gateway(config: Path, org: str | None) -> AsyncGenerator[Beside]:
    """Open the store beside a running gateway, for one command."""
    settings = read_settings()
    check_schema(settings.database_url, migrate_first=False)
    refuse_faults(config)
    book = PolicyBook(config, environ=os.environ, channel_types=registry.platforms())
    orgs = list(book.orgs())
    if org is None and len(orgs) != 1:
        typer.echo(f"say which org with --org: {', '.join(orgs)}", err=True)
        raise typer.Exit(code=2)
    clock = SystemClock()
    directory = book.current(org or orgs[0]).policy.directory
    seals = Seals([secret.get_secret_value() for secret in settings.secret])
    with database_or_exit(settings.database_url):
        store = make_store(dialect_for(settings.database_url, clock), RandomIds())
        store.start()
        try:
            keys, read = Keys(store=store, seals=seals, clock=clock), Read(store=store, book=book)
            factors = Factors(store=store, book=book, seals=seals)
            yield Beside(org=org or orgs[0], keys=keys, factors=factors, read=read, store=store, directory=directory)
        finally:
            await store.stop()


def refuse_stranger(scope: Scope, person: str | None, directory: Directory) -> None:
    """Refuse an approver whom the file does not know (such a key could decide nothing); warn of such an owner."""
    if person is None or directory.find(person) is not None:
        return
    hint = near(person, [known.email for known in directory.people.values()], what="people")
    told = f"{person} is not under people in the configuration; {hint}"
    if scope is Scope.APPROVER:
        raise InvalidError(told, path="person")
    if scope in AGENTS:
        typer.echo(f"warning: {told}", err=True)


def run_command(work: Coroutine[object, object, None]) -> None:
    """Run a command's work; what it may not do is said in a sentence, with exit code 1."""
    try:
        asyncio.run(work)
    except AssentError as error:
        typer.echo(error.detail, err=True)
        raise typer.Exit(code=1) from None
    except PolicyFaultsError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(code=2) from None

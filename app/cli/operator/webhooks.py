"""`assent webhooks test`: a message to the receivers of the file, as the gateway would send it, and what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import HERE, Config, Org

# Everything else is imported where it runs: see `app.cli.commands`.
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from app.domain.trail.webhooks import Webhook

    Send = Callable[[Webhook, bytes, Mapping[str, str]], Awaitable[None]]

webhooks_app = typer.Typer(no_args_is_help=True, help="Receivers outside.")

_MENDS = (
    (
        ("status 401", "status 403"),
        "it does not take the signature: has it the `secret` of this webhook, whsec_ and all?",
    ),
    (("status 3",), "redirects are not followed: write the address that it leads to into `url`"),
    (("status 404", "status 405", "status 410"), "nothing takes a POST there: see the path in `url`"),
    (("status 429", "status 5"), "it is the receiver that is in trouble: its own log says why"),
    (("status ",), "it must answer 2xx; its own log says what it did not like"),
    (("its name",), "see the host in `url`, and whether this machine can look it up"),
    (("no answer",), "it must answer at once, and do its work afterwards"),
    (
        ("no connection (Connect",),
        "does it listen there, does its certificate hold for that name, and is a firewall between?",
    ),
    (("no connection",), "see `url`: the connection was made and then lost, or it does not speak HTTP"),
)


@webhooks_app.command("test")
def try_webhooks(
    name: Annotated[str | None, typer.Argument(help="which receiver; every one if left out")] = None,
    config: Config = HERE,
    org: Org = None,
) -> None:
    """Send each receiver a signed test message over the gateway's own path; say what came back, and what to mend.

    Its kind is `webhook.test`, which stands in no trail. Exit code 1 if one of them did not take it.
    """
    from app.cli.beside_database import refuse_faults, run_command

    refuse_faults(config, ending="; nothing was sent")
    run_command(_test(config, org, name))


async def _test(config: Path, org: str | None, name: str | None) -> None:
    from app.workers.outbound import Outbound

    chosen = _chosen(config, org, name)
    send = Outbound()
    results = [await _told(send, each_org, hook) for each_org, hook in chosen]
    if not all(results):
        raise typer.Exit(code=1)


def _chosen(config: Path, org: str | None, name: str | None) -> list[tuple[str, Webhook]]:
    """Find the receivers that are meant; where there is none, the command ends."""
    import os

    from app.policies.file.policy_book import PolicyBook
    from channels import registry

    book = PolicyBook(config, environ=os.environ, channel_types=registry.platforms())
    orgs = sorted(book.orgs())
    if org is not None and org not in orgs:
        typer.echo(f"there is no org {org}; the file has {', '.join(orgs)}", err=True)
        raise typer.Exit(code=2)
    found = [(each, hook) for each in orgs if org in {None, each} for hook in book.current(each).webhooks]
    chosen = [(each, hook) for each, hook in found if name in {None, hook.name}]
    if not chosen:
        known = ", ".join(hook.name for _, hook in found)
        said = f"there is no webhook {name}" if name else "there are no webhooks"
        typer.echo(f"{said}: {f'the file has {known}' if known else 'see docs/configuration.md#webhooks'}", err=True)
        raise typer.Exit(code=2)
    return chosen


async def _told(send: Send, org: str, hook: Webhook) -> bool:
    from app.clock import SystemClock
    from app.domain.text.visible import on_one_line
    from app.domain.trail.webhooks import body_of_test, headers_of
    from app.identifiers import RandomIds
    from app.usecases.platforms.send_webhooks import NotTakenError

    now, event_id = SystemClock().now(), RandomIds().new("evt")
    body = body_of_test(event_id, org=org, webhook=hook.name, now=now)
    try:
        await send(hook, body, headers_of(event_id, body, secrets=hook.secrets, now=now))
    except NotTakenError as fault:
        typer.echo(f"{hook.name}: not taken: {on_one_line(fault.why)} ({hook.url})")
        typer.echo(f"    {mend_for(fault.why)}")
        return False
    two = ", with two signatures (secret_old is set)" if len(hook.secrets) > 1 else ""
    typer.echo(f"{hook.name}: taken, as {event_id}{two} ({hook.url})")
    return True


def mend_for(why: str) -> str:
    """Say what to do about it."""
    found = (mend for beginnings, mend in _MENDS if why.startswith(beginnings))
    return next(found, "only addresses that the file allows are written to: see `url`, and `private`")

"""`assent init`: four questions, a first assent.yaml beside a file of secrets, and the next three commands."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from app.cli.firstrun.answers import Answers, Questions
    from app.spec import Need, Spec

FILE, SECRETS = "assent.yaml", ".env"

_OWNER_FIRST = """\
with the roles of deploy/roles.sh the gateway's own makes no tables: `assent migrate` first, for that command alone with
the ASSENT_DATABASE_URL of assent_owner; then `assent serve` without --migrate"""
_ABOUT_SECRETS = """\
# Made by `assent init`. Only you can read it; keep it out of git. Keep a copy of ASSENT_SECRET where you keep secrets:
# every later start needs this very one, and without it nobody can read what the database holds.
"""


def init(  # noqa: PLR0917 - options of a command
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="where to; made if it is not there")] = Path(),
    channel: Annotated[str | None, typer.Option(help="where people get their cards: a platform, or none")] = None,
    approver: Annotated[list[str] | None, typer.Option(help="e-mail of who approves; several times")] = None,
    ask: Annotated[list[str] | None, typer.Option(help='"pay" or "pay 1000 EUR": what asks; several times')] = None,
    database: Annotated[str | None, typer.Option(help="sqlite, or postgresql://…; ASSENT_DATABASE_URL")] = None,
    org: Annotated[str | None, typer.Option(help="the org's name; of the first e-mail if left out")] = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="take the usual for what is not said, and ask nothing")
    ] = False,
) -> None:
    """Write a first assent.yaml by asking four questions, and say the next three commands."""
    from app.cli.firstrun.answers import Given, Questions, WrongAnswerError

    given = Given(channel=channel, approvers=approver, asked=ask, database=database)
    person = sys.stdin.isatty() and not yes
    questions = Questions(given, person=person, usual=yes)
    try:
        folder = folder.absolute()
        with _made(folder):
            _write(folder, questions, org)
    except WrongAnswerError as wrong:
        _refuse(str(wrong))
    except OSError as error:
        _refuse(f"cannot write in {folder}: {error.strerror}; name a folder of yours: assent init DIR")


@contextmanager
def _made(folder: Path) -> Generator[None]:
    """Make a folder, before anybody answers anything; those that were not there go again if nothing is written."""
    new = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with suppress(OSError):  # what has something in it stays
            for each in new:
                each.rmdir()


def _write(folder: Path, questions: Questions, org: str | None) -> None:
    there = {name for name in (FILE, SECRETS) if os.path.lexists(folder / name)}
    if there != {FILE, SECRETS}:
        _refuse_silence(questions, only_database=FILE in there)
    for name in sorted(there, reverse=True):
        typer.echo(f"{folder / name} is there already: left alone")
    spec, needs = None, ()
    if FILE not in there:
        answers = questions.answers()
        if answers.platform is not None:
            spec, needs = answers.platform.spec, answers.platform.starter.needs
        database = None if SECRETS in there else _database(questions, folder)
        _make_file(folder / FILE, org or _org_of(answers), answers, needs)
    else:
        database = None if SECRETS in there else _database(questions, folder)
    if SECRETS not in there:
        _make_secrets(folder / SECRETS, database, needs)
    known = {**os.environ, **_read(folder / SECRETS)}
    unset = [need for need in needs if not known.get(need.name, "").strip()]
    if not any(known.get(name) for name in ("ASSENT_SECRET", "ASSENT_SECRET_FILE")):
        typer.echo(f'no ASSENT_SECRET in it: echo "ASSENT_SECRET=$(assent secret)" >> {folder / SECRETS}', err=True)
    if FILE in there:
        _check_old(folder / FILE, known)
    owner_migrates = known.get("ASSENT_DATABASE_URL", "").startswith("postgresql:")
    if owner_migrates:
        typer.echo(_OWNER_FIRST)
    typer.echo("\nnext:")
    for line in _commands(folder, spec, unset, owner_migrates=owner_migrates):
        typer.echo(f"  {line}")


def _refuse_silence(questions: Questions, *, only_database: bool) -> None:
    missing = questions.missing(only_database=only_database)
    if missing:
        also = "" if missing == ("--approver",) else ", or --yes for the usual of all but --approver"
        _refuse(f"nobody can be asked here (no terminal, or --yes): say {', '.join(missing)}{also}")


def _database(questions: Questions, folder: Path) -> str | None:
    """Return what the file of secrets says of it; None where the environment says the same already."""
    known = os.environ.get("ASSENT_DATABASE_URL")
    said = questions.database(folder, known)
    return None if said == known else said


def _org_of(answers: Answers) -> str:
    """Name the org after the first approver's domain: acme of wang@hq.acme.example."""
    parts = answers.approvers[0].rpartition("@")[2].split(".")
    name = re.sub(r"[^a-z0-9_-]", "", max(parts[:-1] or parts, key=len))
    return name if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,62}", name) else "main"


def _make_file(path: Path, org: str, answers: Answers, needs: tuple[Need, ...]) -> None:
    """Write it and check it as `assent config check` does; one with a fault does not stay."""
    from app.cli.firstrun.first_file import write_first_file

    _put(path, write_first_file(org, answers), mode=0o644)
    try:
        _check(path, {**{need.name: need.example for need in needs}, **{n: v for n, v in os.environ.items() if v}})
    except typer.Exit:
        path.unlink()
        typer.echo("nothing was written: answer what the lines above name differently", err=True)
        raise
    typer.echo(f"{path}: written, no faults")


def _check_old(path: Path, known: Mapping[str, str]) -> None:
    try:
        _check(path, known)
    except typer.Exit:
        typer.echo(f"mend that in {path} or {path.parent / SECRETS}, then: assent config check -c {path}", err=True)
        raise


def _check(path: Path, environ: Mapping[str, str]) -> None:
    from app.policies.file.policy_book import config_check
    from app.policies.marks.faults import told_lines
    from channels import registry

    faults = config_check(path, environ=environ, channel_types=registry.platforms())
    for line in told_lines(faults):
        typer.echo(line, err=True)
    if faults:
        raise typer.Exit(code=2)


def _make_secrets(path: Path, database: str | None, needs: tuple[Need, ...]) -> None:
    made: dict[str, tuple[str, str | None]] = {
        "ASSENT_SECRET": ("seals buttons and keys", secrets.token_urlsafe(48)),
        "ASSENT_DATABASE_URL": ("the database", database),
        **{need.name: (need.where, "") for need in needs},
    }
    lines = [_ABOUT_SECRETS]
    for name, (what, value) in made.items():
        if value is None or os.environ.get(name):
            lines.append(f"# {name} ({what}): from the environment, where it was when this was written\n")
        else:
            lines.append(f"# {what}\n{name}={shlex.quote(value) if value else ''}\n")
    _put(path, "".join(lines), mode=0o600)
    typer.echo(f"{path}: written, for you alone: it holds the master secret")


def _put(path: Path, text: str, *, mode: int) -> None:
    """Write a new file; what is there, a link included, is never written over."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as out:
        out.write(text)


def _read(path: Path) -> Mapping[str, str]:
    """Read the lines NAME=VALUE as a shell would; what is no such line is passed over."""
    with suppress(FileNotFoundError):  # a link may lead nowhere
        return dict(_pairs(path.read_text(encoding="utf-8", errors="replace")))
    return {}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, given, value = line.strip().removeprefix("export ").partition("=")
        if given and re.fullmatch(r"[A-Za-z_]\w*", name):
            try:
                yield name, " ".join(shlex.split(value, comments=True))
            except ValueError:
                continue


def _commands(folder: Path, spec: Spec | None, unset: list[Need], *, owner_migrates: bool) -> Iterator[str]:
    """Yield three lines for a shell, each of which works where the one before has."""
    there = "" if folder == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    serve = "assent serve" if owner_migrates else "assent serve --migrate"
    load = f"set -a && . ./{SECRETS} && set +a"
    if not unset or spec is None:
        yield f"{there}{load}"
        yield "assent doctor"
        yield serve
        return
    yield f"{there}{_setup(spec)}"
    yield f'"${{EDITOR:-vi}}" {SECRETS}    # {", ".join(need.name for need in unset)}'
    yield f"{load} && assent doctor && {serve}"


def _setup(spec: Spec) -> str:
    """Say the command that tells how the platform's app is made."""
    from app.cli.firstrun.first_file import CHANNEL

    if spec.setup is None:
        return f"cat {FILE}"
    receive = f" --receive {spec.setup.without_address}" if spec.setup.without_address else ""
    return f"assent {spec.kind} {spec.setup.name} --name {CHANNEL}{receive}"


def _refuse(why: str) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(code=2)

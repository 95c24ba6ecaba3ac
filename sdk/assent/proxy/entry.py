"""The command lines of the proxies."""

from __future__ import annotations

import argparse
import os
import secrets
from typing import TYPE_CHECKING

import anyio

from assent.command.faults import HookError
from assent.command.identity import load_identity
from assent.command.options import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import TaskGroup

    from assent.client.gateway import AsyncGateway
    from assent.proxy.calls import Send
    from assent.proxy.judge import Judge

_ABOUT = {
    "mcp": "Stand between an agent and an MCP server: each tools/call is judged by the gateway, all else passes.",
    "acp": "Stand between an editor and a coding agent: what the agent asks leave for is judged, all else passes.",
    "mcp-server": "Be an MCP server by which an agent asks people: request_approval, check_request. It only advises.",
}


_ADVISED_WITHIN = 50.0
"""Seconds after which `request_approval` says that people have not decided yet, unless it is told otherwise."""


def run(words: Sequence[str]) -> int:
    """Do what the command line says and return the exit code."""
    try:
        options = parser(words[0]).parse_args(words[1:])
    except SystemExit as ended:  # it has said why
        return int(ended.code or 0)
    if words[0] == "mcp" and bool(options.server) == bool(options.upstream):
        os.write(2, b"assent-hook mcp: give the server's command behind --, or --upstream URL\n")
        return 2
    try:
        if words[0] == "mcp-server":
            return _serve_asking(options)
        if words[0] == "acp":
            return _serve_acp(options)
        return _serve_http(options) if options.upstream else _serve_mcp(options)
    except (HookError, OSError) as fault:
        os.write(2, f"assent-hook {words[0]}: {fault}\n".encode(errors="replace"))
        return 2


def parser(name: str) -> argparse.ArgumentParser:
    """The options of a proxy."""
    made = argparse.ArgumentParser(prog=f"assent-hook {name}", description=_ABOUT[name])
    made.add_argument(
        "--config",
        metavar="FILE|env",
        help="where url and key are: a JSON file (.config/assent/agent.json in the account's home, not in $HOME, if "
        "left out), or the environment",
    )
    made.add_argument(
        "--session",
        help="the run under which the calls are filed; with one of your own a restart finds what still waits "
        "(--keep-pending)",
    )
    made.add_argument(
        "--keep-pending", action="store_true", help="leave what waits for people when the client cancels or is gone"
    )
    if name == "acp":
        _of_agent(made)
        return made
    made.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=seconds,
        help="answer by then, for clients with a short timer: the same call, made again, finds its request",
    )
    if name == "mcp":
        _of_proxy(made)
    return made


def _of_agent(made: argparse.ArgumentParser) -> None:
    made.add_argument("--name", required=True, help="the agent's name in rules: acp__NAME__execute and the like")
    made.add_argument(
        "--tools",
        metavar="GLOB",
        action="append",
        default=[],
        help="judge only these (execute, edit, write_text_file, terminal, ...); the others go to the client unasked",
    )
    made.add_argument("server", nargs="+", metavar="AGENT", help="behind --: the agent's command and arguments")


def _of_proxy(made: argparse.ArgumentParser) -> None:
    made.add_argument("--name", help="the server's name in rules (mcp__NAME__tool); else the one it gives itself")
    made.add_argument(
        "--tools",
        metavar="GLOB",
        action="append",
        default=[],
        help="judge only these tools, by their names at the server; may be given often; the others pass unasked",
    )
    made.add_argument("server", nargs="*", metavar="SERVER", help="behind --: the server's command and arguments")
    made.add_argument(
        "--upstream",
        metavar="URL",
        help="instead of SERVER: a server that speaks streamable HTTP; a batch with a call in it is refused, and "
        "Mcp-Param-... headers are not rewritten where people change a call",
    )
    made.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:8931",
        help="with --upstream: where clients find it, under the path of that URL (127.0.0.1:8931 if left out)",
    )
    made.add_argument(
        "--host",
        metavar="NAME[:PORT]",
        action="append",
        default=[],
        help="with --upstream: another name under which clients may call it, such as that of a proxy before it",
    )


def seconds(text: str) -> float:
    """Read a span. Raises `ValueError`."""
    span = float(text)
    if not 0 < span <= LONGEST:
        raise ValueError(text)
    return span


def _serve_mcp(options: argparse.Namespace) -> int:
    from assent.proxy.calls import Calls
    from assent.proxy.stdio import serve

    session = str(options.session or f"mcp-{secrets.token_hex(8)}")
    gateway = connect(options, session)

    def between(group: TaskGroup, to_client: Send, to_server: Send) -> Calls:
        judge = judge_of(options, gateway)
        return Calls(judge, group, to_client=to_client, to_server=to_server, session=session)

    async def through() -> int:
        async with gateway:
            return await serve(options.server, between)

    return anyio.run(through)


def _serve_acp(options: argparse.Namespace) -> int:
    from assent.gate.gate import Gate
    from assent.proxy.acp.calls import AcpCalls
    from assent.proxy.naming import plain
    from assent.proxy.stdio import serve

    session = str(options.session or f"acp-{secrets.token_hex(8)}")
    gateway = connect(options, session)
    gate = Gate(gateway, abandoned="keep" if options.keep_pending else "withdraw")
    name, tools = plain(options.name), tuple(options.tools)

    def between(group: TaskGroup, to_client: Send, to_server: Send) -> AcpCalls:
        ways = {"to_client": to_client, "to_server": to_server}
        return AcpCalls(gate, group, **ways, name=name, tools=tools, session=session)

    async def through() -> int:
        async with gateway:
            return await serve(options.server, between)

    return anyio.run(through)


def _serve_asking(options: argparse.Namespace) -> int:
    from assent.gate.gate import Gate
    from assent.proxy.asking.server import serve_asking
    from assent.proxy.asking.tools import Asking
    from assent.proxy.stdio import Stdio

    session = str(options.session or f"mcp-{secrets.token_hex(8)}")
    gateway = connect(options, session)

    async def through() -> int:
        async with gateway:
            gate = Gate(gateway, abandoned="keep" if options.keep_pending else "withdraw")
            asking, client = Asking(gate, deadline=options.deadline or _ADVISED_WITHIN, session=session), Stdio()
            await serve_asking(asking, client.receive, client.send)
        return 0

    return anyio.run(through)


def _serve_http(options: argparse.Namespace) -> int:
    from assent.proxy.http.serve import serve_http

    session = str(options.session or f"mcp-{secrets.token_hex(8)}")
    gateway = connect(options, session)

    async def through() -> int:
        async with gateway:
            return await serve_http(
                options.listen,
                options.upstream,
                lambda: judge_of(options, gateway),
                names=tuple(options.host),
                session=session,
            )

    return anyio.run(through)


def connect(options: argparse.Namespace, session: str) -> AsyncGateway:
    """The line to the gateway, as the hook has it. Raises `HookError`."""
    from assent.client.gateway import AsyncGateway

    identity = load_identity(options.config)
    if identity.ca is None:
        return AsyncGateway(identity.url, identity.key, session=session, requester_token=identity.requester_token)
    import ssl

    import httpx2

    transport = httpx2.AsyncHTTPTransport(verify=ssl.create_default_context(cafile=identity.ca))
    return AsyncGateway(
        identity.url, identity.key, session=session, transport=transport, requester_token=identity.requester_token
    )


def judge_of(options: argparse.Namespace, gateway: AsyncGateway) -> Judge:
    """The judge that these options ask for."""
    from assent.gate.gate import Gate
    from assent.proxy.judge import Judge
    from assent.proxy.naming import Naming

    gate = Gate(gateway, abandoned="keep" if options.keep_pending else "withdraw")
    try:
        folder = os.getcwd()  # noqa: PTH109 - as the system says it
    except OSError:
        folder = None
    named = Naming(options.name)
    return Judge(gate, named, tools=tuple(options.tools), deadline=options.deadline, folder=folder)

"""An MCP server by the official SDK: `python bank_server.py LEDGER` keeps what it was asked to do in that file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

LEDGER = Path(sys.argv[1])
server = MCPServer("Bank of Tests", log_level="ERROR")


def note(line: str) -> None:
    with LEDGER.open("a") as ledger:
        ledger.write(f"{line}\n")


class Purpose(BaseModel):
    text: str


async def purpose(ctx: Context[Any, Any]) -> Elicit[Purpose]:
    return Elicit("What for?", Purpose)


@server.tool()
def pay(payee: str, amount: int) -> str:
    note(f"pay {payee} {amount}")
    return f"paid {amount} to {payee}"


@server.tool()
def pay_for(payee: str, given: Annotated[ElicitationResult[Purpose], Resolve(purpose)]) -> str:
    said = given.data.text if isinstance(given, AcceptedElicitation) else "nothing"
    note(f"pay_for {payee} {said}")
    return f"paid for {said}"


@server.tool()
def fail() -> str:
    raise ToolError("the vault is closed")


@server.tool()
def die() -> str:
    note("die")
    os._exit(7)


@server.tool()
async def endless() -> str:
    note("endless")
    await anyio.sleep_forever()
    return ""


@server.tool()
def environment() -> list[str]:
    return sorted(name for name in os.environ if "ASSENT" in name)


if __name__ == "__main__":
    server.run(transport="streamable-http", port=int(sys.argv[2])) if len(sys.argv) > 2 else server.run()

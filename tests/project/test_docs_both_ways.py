"""What is documented exists, and what exists is documented: keys of the files, variables, routes, commands."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from typing import TYPE_CHECKING, Any

import pytest
import typer
from pydantic import BaseModel

import app.policies
from app.cli import commands as command_line
from app.policies.file.policy_file import _KEYS as TOP_KEYS
from app.settings import IN_FILES, Settings
from channels import registry
from tests.project.source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.fixtures.gateway import Gateway

DOCS = sorted((ROOT / "docs").rglob("*.md"))
CONFIGURATION = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
RULES = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
API = (ROOT / "docs/api.md").read_text(encoding="utf-8")


# --- keys of assent.yaml, and of a file of cases ----------------------------------------------------------------------


def models_of_files() -> dict[str, set[str]]:
    """Say which keys each model below `app/policies` takes, wherever there it stands, and those of the channels."""
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(app.policies.__path__, "app.policies.")]
    models = [
        model
        for module in modules
        for _, model in inspect.getmembers(module, inspect.isclass)
        if issubclass(model, BaseModel) and model.__module__ == module.__name__
    ]
    models += [spec.settings for spec in registry.platforms().values()]
    keys = {m.__name__: {field.alias or name for name, field in m.model_fields.items()} for m in models}
    return {name: found for name, found in keys.items() if found} | {"the top": set[str](TOP_KEYS)}


MODELS = models_of_files()
CASES = {"CaseEntry": MODELS.pop("CaseEntry")}


def unexplained(models: dict[str, set[str]], page: str) -> list[str]:
    """Find the keys that a page does not name."""
    return [f"{name}.{key}" for name, keys in models.items() for key in sorted(keys) if f"`{key}`" not in page]


def tables(page: str, first: str) -> Iterator[list[str]]:
    """Yield what stands in the first column of each table whose header starts so: words in backticks."""
    for rows in re.findall(rf"^\| {first}\b[^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n)+)", page, re.MULTILINE):
        yield [key for row in rows.splitlines() for key in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def invented(models: dict[str, set[str]], page: str) -> list[list[str]]:
    """Find the tables of keys that no model has: for each, what is not a key of the model that fits it best."""
    strays = [min((sorted(set(keys) - have) for have in models.values()), key=len) for keys in tables(page, "key")]
    return [stray for stray in strays if stray]


def test_every_model_of_the_files_is_looked_at() -> None:
    everywhere = {"StageEntry", "AttentionEntry", "BudgetEntry", "PaymentsEntry", "GlassEntry", "SlackSettings"}
    assert set(MODELS) > everywhere
    assert len(list(tables(CONFIGURATION, "key"))) >= 18


def test_every_key_of_the_configuration_is_explained() -> None:
    assert unexplained(MODELS, CONFIGURATION) == []


def test_every_key_of_a_case_is_explained() -> None:
    assert unexplained(CASES, RULES) == []


def test_every_key_that_the_page_explains_is_one() -> None:
    assert invented(MODELS, CONFIGURATION) == []


def test_a_key_on_one_side_alone_is_seen() -> None:
    assert unexplained(MODELS | {"BudgetEntry": {"per", "colour"}}, CONFIGURATION) == ["BudgetEntry.colour"]
    assert invented(MODELS, CONFIGURATION.replace("| `counts` |", "| `colour` |")) == [["colour"]]


# --- the variables of the environment ---------------------------------------------------------------------------------

VARIABLES = {f"ASSENT_{name.upper()}" for name in Settings.model_fields}


def documented_variables(page: str) -> set[str]:
    return {name for names in tables(page, "variable") for name in names if name.startswith("ASSENT_")}


def test_the_documented_variables_are_those_that_are_read() -> None:
    assert documented_variables(OPERATIONS) == VARIABLES


def test_the_documented_files_are_those_of_the_settings_that_are_secrets_and_of_the_key() -> None:
    named = set(re.findall(r"`(ASSENT_[A-Z_]+_FILE)[`=]", OPERATIONS))
    assert named == {f"ASSENT_{name.upper()}_FILE" for name in (*IN_FILES, "key")}


def test_a_variable_on_one_side_alone_is_seen() -> None:
    assert documented_variables(OPERATIONS.replace("`ASSENT_HOST`", "`ASSENT_HOTS`")) ^ VARIABLES == {
        "ASSENT_HOST",
        "ASSENT_HOTS",
    }


# --- routes -----------------------------------------------------------------------------------------------------------

OF_THE_FRAMEWORK = {"/openapi.json"}


def _plain(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path.partition("?")[0])


def documented_routes(page: str) -> set[str]:
    """Read the calls of a page: `GET/POST /v1/x` are two, and a lone `/y` stands for the last part of the one before.

    A lone path at the beginning of a row is one to be read.
    """
    found: set[str] = set()
    for rows in re.findall(r"^\| call [^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n)+)", page, re.MULTILINE):
        for row in rows.splitlines():
            found |= set(_calls_of(re.findall(r"`([^`]+)`", row.split(" | ")[0])))
    return found


def _calls_of(words: Iterable[str]) -> Iterator[str]:
    methods, last = "", ""
    for word in words:
        named, _, path = word.rpartition(" ")
        if named:
            methods, last = named, path
        else:
            last = last.rpartition("/")[0] + word if methods else word
        for method in (methods or "GET").split("/"):
            yield f"{method} {_plain(last)}"


def existing_routes(gateway: Gateway) -> set[str]:
    return {
        f"{method} {_plain(str(route.path))}"
        for route in gateway.app.routes
        for method in getattr(route, "methods", None) or ()
        if method not in {"HEAD", "OPTIONS"} and str(route.path) not in OF_THE_FRAMEWORK
    }


async def test_the_documented_calls_are_those_that_are_served(gateway: Gateway) -> None:
    existing, documented = existing_routes(gateway), documented_routes(API)

    assert len(existing) > 40
    assert sorted(documented - existing) == [], "documented, and not served"
    assert sorted(existing - documented) == [], "served, and not documented"


def test_a_row_of_calls_is_read_as_people_read_it() -> None:
    page = (
        "| call | key | what |\n| --- | --- | --- |\n"
        "| `GET/POST /v1/keys?all=true`, `DELETE /v1/keys/{id}` | admin | |\n"
        "| `POST /v1/requests/{id}/extend`, `/reopen` | approver | |\n"
        "| `/healthz`, `/readyz` | – | `POST /v1/none` |\n"
    )
    assert documented_routes(page) == {
        *("GET /v1/keys", "POST /v1/keys", "DELETE /v1/keys/{}"),
        *("POST /v1/requests/{}/extend", "POST /v1/requests/{}/reopen", "GET /healthz", "GET /readyz"),
    }


# --- commands ---------------------------------------------------------------------------------------------------------

OF_AN_EXAMPLE = {"paper"}  # docs/adding-a-channel.md writes this platform
SHOWN = re.compile(r"`assent ([^`\n]+)`|^\s*(?:\$ )?(?:\.venv/bin/)?assent (\S[^\n]*)", re.MULTILINE)


def tree_of(group: Any) -> dict[str, Any]:
    """Say which commands there are, groups as tables of theirs: the platforms' own are among them."""
    context = typer.Context(group)
    found: dict[str, Any] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found[name] = tree_of(command) if hasattr(command, "list_commands") else None
    return found


TREE = tree_of(typer.main.get_command(command_line.app))


def leaves(tree: dict[str, Any], *above: str) -> set[str]:
    """Name every command in full."""
    named = [leaves(below, *above, name) if below else {" ".join((*above, name))} for name, below in tree.items()]
    return set[str]().union(*named)


def shown_commands(page: str) -> Iterator[list[str]]:
    """Yield the words of every command line on a page; `keys create|list` are two."""
    for quoted, in_a_block in SHOWN.findall(page):
        words = (quoted or in_a_block).split()
        for name in words[1].split("|") if len(words) > 1 else ("",):
            yield [words[0], name]


def unknown_commands(page: str, tree: dict[str, Any]) -> set[str]:
    """Find the command lines of a page that lead nowhere."""
    unknown: set[str] = set()
    for name, below in shown_commands(page):
        if not re.fullmatch(r"[a-z][a-z-]*", name) or name in OF_AN_EXAMPLE:
            continue
        if name not in tree or (tree[name] and re.fullmatch(r"[a-z][a-z-]*", below) and below not in tree[name]):
            unknown.add(f"{name} {below}".strip())
    return unknown


def unshown_commands(pages: Iterable[str], tree: dict[str, Any]) -> set[str]:
    """Find the commands that no page shows."""
    shown = [words for page in pages for words in shown_commands(page)]
    return leaves(tree) - {" ".join(words) for words in shown} - {words[0] for words in shown}


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists(page: Any) -> None:
    assert unknown_commands(page.read_text(encoding="utf-8"), TREE) == set()


def test_every_command_is_shown_on_some_page() -> None:
    assert {"slack", "feishu"} <= set(TREE)
    assert unshown_commands([page.read_text(encoding="utf-8") for page in DOCS], TREE) == set()


def test_a_command_on_one_side_alone_is_seen() -> None:
    page = "```text\nassent keys create\n$ assent serve -c x\n```\nand `assent keys revive|list` or `assent fly`.\n"
    tree = {"keys": {"create": None, "list": None, "revoke": None}, "serve": None, "wash": None}
    assert unknown_commands(page, tree) == {"keys revive", "fly"}
    assert unshown_commands([page], tree) == {"keys revoke", "wash"}

"""The page of the rules: what runs, what it would say of a call or another file of the last ones, and who may look."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from app.usecases.console.office import rules_page
from app.usecases.console.office.proposed_file import MOST_TEXT
from tests.console.test_office import give, in_office, post, rows_of, seal_in
from tests.console.test_signed_in import ALICE, DAVE, OLGA, Person
from tests.fixtures.gateway import PAY
from tests.fixtures.review_visits import URL, ReadPage, with_url
from tests.fixtures.second_factors import STEPS_UP
from tests.fixtures.standing import STANDING_ACME, approved, standing
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway

SCHEMA = """\
  order:
    sensitive: [account]
    schema: {type: object, additionalProperties: false, required: [size], properties: {size: {type: integer},
      account: {type: string}, kind: {enum: [plain, gift]}, fast: {type: boolean}, lines: {type: array}}}
"""
RULES = (
    '  - {id: big, tools: [order], when: "args.size > 10", then: deny}\n  - {id: small, tools: [order], then: allow}\n'
)


@pytest.fixture
def config(config: Path) -> Path:
    text = STEPS_UP.replace("payments:", f"{SCHEMA}payments:", 1).replace("rules:\n", f"rules:\n{RULES}", 1)
    (config / "acme.yaml").write_text(text)
    return with_url(config)


async def send_file(person: Person, *, origin: str = URL, file: str | bytes = b"", **fields: str) -> httpx2.Response:
    headers = {"origin": origin, "cookie": f"assent-session={person.session}"}
    person.gateway.http.cookies.clear()
    files = {"file": ("assent.yaml", file, "application/x-yaml")}
    return await person.gateway.http.post("/console/rules/replay", data=fields, files=files, headers=headers)


def running(gateway: Gateway) -> str:
    return (gateway.config / "acme.yaml").read_text()


async def test_the_rules_are_read_in_one_language(gateway: Gateway) -> None:
    tiers = (
        "  - {id: paid, tools: [pay_L1], when: \"args.ref == 'x'\", tiers: [{up_to: {CNY: 500}, then: allow}, {}], "
        "channels: [api], stages: [{of: [finance]}]}\n"
    )
    names = "groups:\n  finance: {name: {en: Finance, zh: 财务}, members: "
    gateway.rewrite("rules:\n", f"rules:\n{tiers}")
    listed = next(line for line in running(gateway).splitlines() if line.startswith("  finance:"))
    gateway.rewrite(f"groups:\n{listed}", f"{names}{listed.partition(': ')[2]}}}")
    olga = await in_office(gateway, OLGA, "auditor")
    en, zh = [(await olga.get("/console/rules", accept_language=each)).text for each in ("en", "zh-CN")]
    assert "the tier up to CNY 500: allow; the highest tier: ask people (1 × Finance · L1)" in en
    assert "CNY 500 以内一档: 允许; 最高一档: 请人审批 (1 × 财务 · L1)" in zh
    assert "the tier" not in zh


@requirement("S-20", "S-43")
async def test_the_rules_are_for_whom_the_file_lets_and_each_look_is_in_the_trail(either_gateway: Gateway) -> None:
    gateway = either_gateway
    alice, olga = await Person.signed_in(gateway), await in_office(gateway, OLGA, "operator")
    before, theirs = gateway.content(), seal_in((await alice.get()).text)
    for answer in (
        await alice.get("/console/rules"),
        await alice.get("/console/rules/versions/0123456789ab"),
        await post(alice, "/console/rules/try", seal=theirs, tool="order"),
        await post(alice, "/console/rules/standing/sta_1/end", seal=theirs),
        await send_file(alice, seal=theirs, file=running(gateway)),
    ):
        assert answer.status_code == 403
        assert "This page is not for you" in answer.text
    assert gateway.content() == before
    page = await olga.get("/console/rules")
    assert page.status_code == 200
    assert len(page.content) < 60_000
    runs = gateway.container.book.current("acme").policy.version
    assert f"Version {runs} runs" in page.text
    assert rows_of(page.text)[:2] == ["big | order | deny | args.size > 10", "small | order | allow | always"]
    assert 'action="/console/rules/replay' not in page.text  # no question about calls that she may not read
    assert (await send_file(olga, seal=seal_in((await olga.get()).text), file=running(gateway))).status_code == 403
    kept = await olga.get(f"/console/rules/versions/{runs}")
    assert kept.text == running(gateway)
    assert (kept.headers["content-type"], kept.headers["x-content-type-options"]) == (
        "text/plain; charset=utf-8",
        "nosniff",
    )
    assert kept.headers["content-disposition"].startswith("attachment")
    for unknown in ("0123456789ab", "%22%0d%0aX-Evil:%201", "..%2f..%2fetc"):
        assert (await olga.get(f"/console/rules/versions/{unknown}")).status_code == 404
    await olga.get("/console/rules")
    assert [who for kind, who in gateway.trail() if kind == "rules.read"].count(OLGA) >= 2
    assert (await gateway.verify())[1] is None


async def test_a_call_is_tried_by_a_form_from_its_schema_and_nothing_comes_of_it(gateway: Gateway) -> None:
    olga = await in_office(gateway, OLGA, "operator")
    page = (await olga.get("/console/rules?tool=order")).text
    names = [str(a["name"]) for _, a in ReadPage(page).elements if str(a.get("name", "")).startswith("arg.")]
    assert names == ["arg.size", "arg.account", "arg.kind", "arg.fast", "arg.lines"]
    form = {"seal": seal_in(page), "tool": "order", "arg.size": "11", "arg.kind": '"gift"', "arg.fast": "true"}
    before = gateway.rows("SELECT count(*) FROM requests")
    said = await post(olga, "/console/rules/try", **form, **{"arg.account": "DE02-SECRET", "arg.lines": "[1]"})
    assert "size = 11" in said.text
    assert rows_of(said.text) == ["big  | ← decided | its condition is true | size = 11"]
    assert "small" in rows_of((await post(olga, "/console/rules/try", **form | {"arg.size": "9"})).text)[1]
    asked = (
        await post(olga, "/console/rules/try", seal=form["seal"], tool="pay", more='{"payee": "<i>", "amount": 1}')
    ).text
    assert "Asks 1 × finance" in asked
    assert "<i>" not in asked
    for wrong, why in (
        ({"arg.size": "many"}, "size: "),
        ({"more": "[1]"}, "must be an object"),
        ({"tool": " "}, "Tool"),
    ):
        answer = await post(olga, "/console/rules/try", **form | wrong)
        assert answer.status_code == 409
        assert why in answer.text
    assert (
        "does not satisfy"
        in (await post(olga, "/console/rules/try", **form | {"arg.kind": ""}, more='{"kind": 3}')).text
    )
    for lie, origin in (({"seal": "x"}, URL), ({}, "https://evil.example")):
        assert (await post(olga, "/console/rules/try", origin=origin, **form | lie)).status_code == 401
    assert gateway.rows("SELECT count(*) FROM requests") == before
    assert "DE02-SECRET" not in str(gateway.content())
    assert gateway.trail().count(("rules.read", OLGA)) == 3  # the page; two tools tried
    zh = (await olga.get("/console/rules?tool=order", accept_language="zh")).text
    assert "规则会怎么说" in zh


async def test_the_last_calls_are_judged_by_a_proposed_file_which_comes_into_force_nowhere(
    either_gateway: Gateway,
) -> None:
    gateway = either_gateway
    await gateway.ask("by_api", {"n": 1})
    await gateway.call("POST", "/v1/requests", {"tool": "order", "arguments": {"size": 3}})
    await gateway.call("POST", "/v1/requests", {"tool": "order", "arguments": {"size": 30}})
    olga = await in_office(gateway, OLGA, "auditor")
    seal = seal_in((await olga.get("/console/rules")).text)
    version = gateway.container.book.current("acme").policy.version
    said = await send_file(olga, seal=seal, file=running(gateway).replace("args.size > 10", "args.size > 2"))
    assert "3 calls, judged by version" in said.text
    assert rows_of(said.text) == ["allow | deny | 1", "ask people | ask people | 1", "deny | deny | 1"]
    assert "size = 3" in said.text
    pasted = await send_file(olga, seal=seal, text=running(gateway))
    assert "No call would be answered otherwise" in pasted.text
    assert gateway.container.book.current("acme").policy.version == version
    for wrong in ("", "org: [", "org: globex\ndefault: deny\n", "\0", b"\xff\xfe", "#" * (MOST_TEXT + 1)):
        answer = await send_file(olga, seal=seal, file=wrong)
        assert "Nothing was judged" in answer.text or answer.status_code == 401
    for lie, origin in (("x", URL), (seal, "https://evil.example")):
        assert (await send_file(olga, seal=lie, origin=origin, file=running(gateway))).status_code == 401
    assert gateway.trail().count(("rules.read", OLGA)) >= 3


@requirement("S-37", "S-96")
async def test_no_file_that_somebody_proposes_asks_what_a_sensitive_value_is_or_runs_anything(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSENT_CANARY", "canary-in-the-environment")
    await gateway.ask("pay", PAY)
    olga = await in_office(gateway, OLGA, "auditor")
    seal = seal_in((await olga.get("/console/rules")).text)
    open_tool = running(gateway).replace("    sensitive: [account]\n    money: [amount]\n", "    money: [amount]\n")
    assert open_tool != running(gateway)
    answers = set[str]()
    for guess in ("DE", "XX"):
        for condition in (f"args.account.startsWith('{guess}')", f"'{guess}' in args.account || args.amount > 0"):
            rule = f'rules:\n  - {{id: oracle, tools: [pay], when: "{condition}", then: allow}}\n'
            said = (await send_file(olga, seal=seal, file=open_tool.replace("rules:\n", rule, 1))).text
            answers.add(said[said.index('id="judged"') :].partition("</section>")[0].partition("</h2>")[2])
            assert "DE02-SECRET" not in said
            assert "Cannot be told" in said
    assert len(answers) == 1  # whatever is guessed, the answer is the same
    schema = open_tool.replace("    money: [amount]\n", '    schema: {properties: {account: {pattern: "^XX"}}}\n')
    told = (await send_file(olga, seal=seal, file=schema)).text
    assert "deny" not in "".join(rows_of(told))
    marker = tmp_path / "ran"
    both = f'{{on: PreToolUse, python: "this:s", command: "touch {marker}"}}'
    hook = f'hooks:\n  - {both}\n  - {{on: PreToolUse, python: "antigravity:fly"}}\n'
    loaded: list[str] = []
    monkeypatch.setattr("importlib.import_module", lambda name, *_: loaded.append(name))
    said = await send_file(olga, seal=seal, file=running(gateway).replace("rules:\n", f"{hook}rules:\n", 1))
    monkeypatch.undo()
    assert "judged by version" in said.text
    assert (loaded, marker.exists()) == ([], False)
    secret = running(gateway).replace("url:", 'webhooks: [{name: x, url: "https://${ASSENT_CANARY}.example"}]\nurl:')
    assert "canary-in" not in (await send_file(olga, seal=seal, file=secret)).text


@requirement("S-43")
async def test_a_standing_approval_is_ended_from_the_page_by_whom_it_concerns_and_by_no_operator(
    gateway: Gateway,
) -> None:
    (gateway.config / "acme.yaml").write_text(f"url: {URL}\n{STANDING_ACME}")
    await gateway.reload()
    made = await standing(gateway)
    await give(gateway, operator=DAVE, auditor=ALICE)
    alice, dave = await Person.signed_in(gateway, ALICE), await Person.signed_in(gateway, DAVE)
    page = (await dave.get("/console/rules")).text
    assert "never used" in page
    assert "Acme Ltd" not in page  # what an operator may not read
    path = f"/console/rules/standing/{made['id']}/end"
    assert path not in page
    refused = await post(dave, path, seal=seal_in((await dave.get()).text))
    assert "It was not ended" in refused.text
    page = (await alice.get("/console/rules")).text
    assert "Acme Ltd" in page
    assert path in page
    assert "It was not ended" in (await post(alice, path.replace("sta_", "sta_x"), seal=seal_in(page))).text
    assert (await post(alice, path, seal="")).status_code == 401
    assert ("standing.revoked", ALICE) not in gateway.trail()
    assert (await post(alice, path, seal=seal_in(page))).status_code == 303
    assert ("standing.revoked", ALICE) in gateway.trail()
    assert "ended by somebody" in (await alice.get("/console/rules")).text


async def test_the_page_says_that_there_are_more_standing_approvals_than_it_shows(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    (gateway.config / "acme.yaml").write_text(f"url: {URL}\n{STANDING_ACME}")
    await gateway.reload()
    base = await approved(gateway)
    await standing(gateway, base)
    await give(gateway, auditor=ALICE)
    alice = await Person.signed_in(gateway, ALICE)
    assert "There are more" not in (await alice.get("/console/rules")).text
    await standing(gateway, base)
    monkeypatch.setattr(rules_page, "MOST_STANDING", 1)
    page = (await alice.get("/console/rules")).text
    assert "There are more: assent standing list shows them." in page
    assert page.count("never used") == 1


async def test_rules_that_approvals_suggest_are_shown_to_who_may_read_the_calls_and_none_comes_into_force(
    gateway: Gateway,
) -> None:
    made = list[str]()
    for day in range(5):
        request = await gateway.ask("by_api", {"to": "<b>Ops</b>", "n": day % 2})
        await gateway.decide(request)
        await gateway.claim(request)
        await gateway.report(request)
        made.append(request["id"])
        await gateway.advance(timedelta(days=1))
    await give(gateway, operator=DAVE, auditor=OLGA)
    dave, olga = await Person.signed_in(gateway, DAVE), await Person.signed_in(gateway, OLGA)
    assert (await dave.get("/console/rules/proposed")).status_code == 403
    assert "/console/rules/proposed" not in (await dave.get("/console/rules")).text
    version = gateway.container.book.current("acme").policy.version
    page = (await olga.get("/console/rules/proposed")).text
    assert "Rests on 5 approvals on 5 days, by Alice" in page
    assert "args.n in [0, 1]" in "".join(ReadPage(page).texts)
    assert "<b>Ops" not in page
    assert all(f"/console/requests/{each}" in page for each in made)
    assert gateway.container.book.current("acme").policy.version == version
    answer = await gateway.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"to": "<b>Ops</b>", "n": 1}})
    assert answer.json()["decision"] == "ask"
    assert "None: what people approve" in (await nobodys(gateway, olga)).text


async def nobodys(gateway: Gateway, person: Person) -> httpx2.Response:
    """Deny a call that the rule would have covered, and look again."""
    await gateway.decide(await gateway.ask("by_api", {"to": "<b>Ops</b>", "n": 0}), "deny")
    return await person.get("/console/rules/proposed")


async def test_a_long_condition_stands_there_whole(gateway: Gateway) -> None:
    long = " || ".join(f"args.payee == 'Somebody {number}'" for number in range(40))
    gateway.rewrite("rules:\n", f'rules:\n  - {{id: endless, tools: [pay], when: "{long}", then: deny}}\n')
    await gateway.reload()
    olga = await in_office(gateway, OLGA, "auditor")
    page = "".join(ReadPage((await olga.get("/console/rules")).text).texts)
    assert long in page

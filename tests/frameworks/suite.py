"""The conformance suite: what every runtime must get right, whatever it is made of.

A case is a function of a `Stage` and is told in its docstring, which is its line of docs/runtimes.md.
"""

from __future__ import annotations

import inspect
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.frameworks.runtimes import Agent, Driver, Runtime, Said
    from tests.sdk.real_gateway import RealGateway

DONE = "done"
TICK = 0.02
SOON = 60.0
NEVER_SAID = ("Not run:", "try again", "Please")
POLICY = """
org: acme
default: allow
unknown_tools: deny
attention: {cool_down: 0s}
people:
  wang@acme.example: {name: Wang}
groups:
  finance: [wang@acme.example]
tools:
  {pay: {}, look: {}, drop: {}, hurry: {}, explode: {}, direct: {},
   mcp__t__pay: {}, mcp__t__look: {}, mcp__t__drop: {}, mcp__t__hurry: {}, mcp__t__explode: {}}
ask: {stages: [{of: [finance], allow_editor: true}], channels: [api]}
rules:
  - {id: gate, tools: [pay, mcp__t__pay, explode, mcp__t__explode, direct], then: ask}
  - {id: soon, tools: [hurry, mcp__t__hurry], then: ask, timeout: 10s}
  - {id: never, tools: [drop, mcp__t__drop], then: deny}
"""

CASES: dict[str, Callable[[Stage], None]] = {}


def case(check: Callable[[Stage], None]) -> Callable[[Stage], None]:
    """Add a case to the suite, under its function's name."""
    CASES[check.__name__] = check
    return check


def sentence(name: str) -> str:
    """What a case shows."""
    return (inspect.getdoc(CASES[name]) or "").splitlines()[0]


def call(tool: str, id: str = "call_1", **args: Any) -> dict[str, Any]:  # noqa: A002 - the wire's word
    """One call of a model's turn."""
    return {"id": id, "tool": tool, "args": args}


def pay(id: str = "call_1", amount: int = 7) -> dict[str, Any]:  # noqa: A002
    """The call that people are asked about."""
    return call("pay", id, payee="Acme", amount=amount)


@dataclass
class Stage:
    """One runtime before one gateway; each case has a folder and a session of its own."""

    runtime: Runtime
    driver: Driver
    real: RealGateway
    folder: Path
    session: str

    def start(self, *turns: Any, **scene: Any) -> Agent:
        """Start an agent whose model says these turns, and then that it is done."""
        told = {"url": self.real.url, "key": self.real.key, "session": self.session, "turns": [*turns, DONE]}
        return self.driver.start(self.folder, **{**told, **scene})

    def run(self, *turns: Any, **scene: Any) -> Said:
        """Run one to its end."""
        return self.start(*turns, **scene).ended()

    def waiting(self, count: int = 1) -> list[dict[str, Any]]:
        """The requests of this session that wait for people, once there are so many of them."""
        end = time.monotonic() + SOON
        while time.monotonic() < end:
            found = [request for request in self.requests() if request["state"] == "pending"]
            if len(found) >= count:
                return found
            time.sleep(TICK)
        raise TimeoutError(f"{count} requests did not come: {self.requests()}")

    def decide(self, verdict: str = "approve", **more: Any) -> dict[str, Any]:
        """Decide the one request that waits."""
        (only,) = self.waiting()
        self.real.decide(only, verdict, **more)
        return only

    def requests(self) -> list[dict[str, Any]]:
        """All requests of this session."""
        return [request for request in self.real.requests() if request["session"] == self.session]

    def as_agent(self, path: str) -> Any:
        """What the agent's key may read."""
        headers = {"Authorization": f"Bearer {self.real.key}"}
        return httpx2.get(f"{self.real.url}{path}", headers=headers, trust_env=False, timeout=SOON).json()

    def states(self) -> list[str]:
        """How they stand."""
        return sorted(request["state"] for request in self.requests())

    def settled(self, *states: str) -> None:
        """Wait until they stand so."""
        end = time.monotonic() + SOON
        while self.states() != sorted(states):
            assert time.monotonic() < end, self.requests()
            time.sleep(TICK)

    def ran(self) -> list[dict[str, Any]]:
        """What the tools did."""
        book = self.folder / "ran.jsonl"
        return [json.loads(line) for line in book.read_text().splitlines()] if book.exists() else []

    def paid(self, *amounts: int) -> None:
        """Exactly these were paid."""
        assert sorted(each["amount"] for each in self.ran()) == sorted(amounts)


def goes_on(said: Said) -> None:
    """The run did not end with an exception, and its model had the last word."""
    assert (said.error, said.final) == (None, DONE)


# --- the verdicts -----------------------------------------------------------------------------------------------------


@case
def allow(stage: Stage) -> None:
    """A call that a rule allows runs; nobody is asked."""
    said = stage.run([call("look", what="the sky")])
    goes_on(said)
    assert said.told == {"call_1": "seen the sky"}
    assert (stage.ran(), stage.requests()) == ([{"tool": "look", "what": "the sky"}], [])


@case
def deny(stage: Stage) -> None:
    """A call that a rule denies does not run; the model reads the refusal, word for word, and the run goes on."""
    said = stage.run([call("drop", what="it")])
    goes_on(said)
    assert said.told == {
        "call_1": "Not approved: rule 'never' forbids this call. Reason given: \"Rule never forbids it.\". This is "
        "final: do not retry or rephrase the call, and do not try to reach the same end another way. Tell the user."
    }
    assert stage.ran() == []


@case
def approve(stage: Stage) -> None:
    """Nothing runs before people approve; then it runs once."""
    agent = stage.start([pay()])
    (asked,) = stage.waiting()
    assert (asked["tool"], asked["arguments"]) == (
        stage.runtime.prefix + "pay",
        {"payee": "Acme", "amount": 7},
    )
    assert stage.ran() == []
    stage.decide()
    said = agent.ended()
    goes_on(said)
    assert said.told == {"call_1": "paid 7 to Acme"}
    stage.paid(7)


@case
def people_deny(stage: Stage) -> None:
    """People say no: the model reads who decided and why, and the run goes on with its next call."""
    agent = stage.start([pay()], [call("look", "call_2", what="the weather")])
    asked = stage.decide("deny", reason="not on a Friday")
    said = agent.ended()
    goes_on(said)
    assert said.told == {
        "call_1": 'Not approved: an approver denied this call. Reason given: "not on a Friday". '
        f"Request {asked['id']}, code {asked['code']}. This is final: do not retry or rephrase the call, and do not "
        "try to reach the same end another way. Tell the user.",
        "call_2": "seen the weather",
    }
    assert stage.ran() == [{"tool": "look", "what": "the weather"}]


@case
def edit(stage: Stage) -> None:
    """What people changed before they approved it is what runs, and the model is told."""
    agent = stage.start([pay()])
    stage.decide(arguments={"payee": "Acme", "amount": 5})
    said = agent.ended()
    goes_on(said)
    assert said.told["call_1"].startswith("paid 5 to Acme")
    assert "A person changed its arguments: amount: 7 → 5." in said.told["call_1"]
    stage.paid(5)


@case
def rule_times_out(stage: Stage) -> None:
    """Nobody decides in the rule's time: that is a no."""
    said = stage.run([call("hurry", what="now")])
    goes_on(said)
    assert "nobody decided before the deadline, and silence is not consent" in said.told["call_1"]
    assert (stage.ran(), stage.states()) == ([], ["expired"])


@case
def deadline(stage: Stage) -> None:
    """The adapter answers before its host's timer: the call still waits, the model reads so, and the run goes on."""
    said = stage.run([pay()], deadline=6.0)
    goes_on(said)
    assert "this call still waits for a person's decision" in said.told["call_1"]
    assert (stage.ran(), stage.states()) == ([], ["pending"])


# --- faults of the gateway --------------------------------------------------------------------------------------------


@case
def gateway_down(stage: Stage) -> None:
    """A gateway that is away means no."""
    said = stage.run([pay()], url="http://127.0.0.1:9", patience=0.3)
    goes_on(said)
    assert "the approval gateway could not be reached, and no answer means no" in said.told["call_1"]
    assert stage.ran() == []


@case
def gateway_restarts(stage: Stage) -> None:
    """The gateway is killed while people are asked, and comes back: the call waits on."""
    agent = stage.start([pay()])
    stage.waiting()
    stage.real.kill()
    stage.real.start()
    stage.decide()
    goes_on(agent.ended())
    stage.paid(7)
    assert stage.states() == ["succeeded"]


@case
def key_refused(stage: Stage) -> None:
    """A key that the gateway refuses means no."""
    said = stage.run([pay()], key="ak_" + "0" * 32)
    goes_on(said)
    assert "the gateway refused this agent's key" in said.told["call_1"]
    assert stage.ran() == []


# --- ends of the agent ------------------------------------------------------------------------------------------------


@case
def killed_while_pending(stage: Stage) -> None:
    """An agent that is killed while people are asked asks again: the same request, one card."""
    agent = stage.start([pay()])
    (asked,) = stage.waiting()
    agent.kill()
    again = stage.start([pay()], resume=True)
    assert stage.decide()["id"] == asked["id"]
    goes_on(again.ended())
    stage.paid(7)
    assert stage.states() == ["succeeded"]


@case
def approved_while_dead(stage: Stage) -> None:
    """Approved while the agent was dead: it runs once, when the agent is back."""
    agent = stage.start([pay()])
    stage.waiting()
    agent.kill()
    stage.decide()
    said = stage.run([pay()], resume=True)
    goes_on(said)
    assert said.told == {"call_1": "paid 7 to Acme"}
    stage.paid(7)
    assert stage.states() == ["succeeded"]


@case
def killed_after_claim(stage: Stage) -> None:
    """Killed when it had taken the approval: whether it ran is not known, and nobody runs it again."""
    for place in ("claimed", "ran"):
        started, session = f"{stage.session}-{place}", stage.session
        stage.session = started
        agent = stage.start([pay()], die=place)
        stage.decide()
        assert agent.died()
        before = len(stage.ran())
        said = stage.run([pay()], resume=True)
        goes_on(said)
        assert "it is not known whether it ran. It may be running still." in said.told["call_1"]
        assert not any(words in said.told["call_1"] for words in NEVER_SAID)
        assert len(stage.ran()) == before
        stage.session = session


@case
def killed_after_run(stage: Stage) -> None:
    """Killed behind its report: the replayed call gets the stored result, and does not run again."""
    agent = stage.start([pay()], die="reported")
    stage.decide()
    assert agent.died()
    said = stage.run([pay()], resume=True)
    goes_on(said)
    assert "paid 7 to Acme" in said.told["call_1"]
    assert not any(words in said.told["call_1"] for words in NEVER_SAID)
    stage.paid(7)
    assert stage.states() == ["succeeded"]


@case
def hook_killed(stage: Stage) -> None:
    """A gate that is killed while its host lives means no."""
    raise NotImplementedError(f"{stage.runtime.title} has no gate in another process")


@case
def cancelled(stage: Stage) -> None:
    """A cancelled run runs nothing, and leaves no card behind."""
    agent = stage.start([pay()], cancel_when="stop")
    stage.waiting()
    (stage.folder / "stop").touch()
    assert agent.ended().error == "CancelledError"
    assert (stage.ran(), stage.states()) == ([], ["cancelled"])


@case
def synchronous(stage: Stage) -> None:
    """Without an event loop the same holds: what is approved runs, of what is denied the model is told."""
    agent = stage.start([pay("call_1", 1)], [pay("call_2", 2)], blocking=True)
    stage.decide()
    stage.settled("succeeded", "pending")
    stage.decide("deny", reason="not this one")
    said = agent.ended()
    goes_on(said)
    assert said.told["call_1"] == "paid 1 to Acme"
    assert "an approver denied this call" in said.told["call_2"]
    stage.paid(1)


# --- several calls ----------------------------------------------------------------------------------------------------


@case
def three_parallel(stage: Stage) -> None:
    """Of three calls in one turn, each has its own request and its own answer."""
    agent = stage.start([pay(f"call_{number}", number) for number in (1, 2, 3)])
    for number, request in enumerate(sorted(stage.waiting(3), key=lambda each: each["arguments"]["amount"]), 1):
        verdict, reason = ("deny", "not this one") if number == 2 else ("approve", None)
        stage.real.decide(request, verdict, reason=reason)
    said = agent.ended()
    goes_on(said)
    assert (said.told["call_1"], said.told["call_3"]) == ("paid 1 to Acme", "paid 3 to Acme")
    assert "an approver denied this call" in said.told["call_2"]
    stage.paid(1, 3)


@case
def two_identical(stage: Stage) -> None:
    """Two calls with equal arguments in one turn are two requests, and run twice."""
    agent = stage.start([pay("call_1"), pay("call_2")])
    for request in stage.waiting(2):
        stage.real.decide(request, "approve")
    goes_on(agent.ended())
    stage.paid(7, 7)


@case
def sub_agent(stage: Stage) -> None:
    """A sub-agent's call names it, where people decide."""
    agent = stage.start([pay()], sub_agent="researcher")
    (asked,) = stage.waiting()
    events = stage.as_agent(f"/v1/requests/{asked['id']}/events")["items"]
    assert [event["facts"]["sub_agent"] for event in events if "sub_agent" in event["facts"]] == ["researcher"]
    stage.decide()
    goes_on(agent.ended())


# --- tools and their arguments ----------------------------------------------------------------------------------------


@case
def tool_raises(stage: Stage) -> None:
    """A tool's own error is the framework's matter, as without the gate; the outcome is recorded as failed."""
    agent = stage.start([call("explode", what="boom")])
    stage.decide()
    said = agent.ended()
    assert stage.runtime.says_of_errors in (said.error or said.told["call_1"])
    (request,) = stage.requests()
    assert request["state"] == "failed"
    assert "the bank is closed: boom" in request["execution"]["error"]


@case
def control_flow(stage: Stage) -> None:
    """What the framework raises through a tool to direct its own flow passes; done again, people are asked anew."""
    flow = stage.runtime.flow
    agent = stage.start(
        [call("direct", what="it")], *([[call("direct", "call_2", what="it")]] if flow == "retried" else [])
    )
    first = stage.decide()
    if flow == "resumed":
        assert agent.ended().error is None
        agent = stage.start([call("direct", what="it")], resume=True)
    assert stage.decide()["id"] != first["id"]
    goes_on(agent.ended())
    assert stage.ran() == [{"tool": "direct", "what": "it"}]
    assert stage.states() == ["failed", "succeeded"]
    assert stage.as_agent(f"/v1/requests/{first['id']}")["execution"]["error"].startswith("not run: ")


@case
def unknown_tool(stage: Stage) -> None:
    """A tool that the gateway's file does not name is judged by its rules for such."""
    said = stage.run([call("strange", what="it")])
    goes_on(said)
    assert said.told["call_1"].startswith("Not approved: ")
    assert stage.ran() == []


@case
def odd_arguments(stage: Stage) -> None:
    """Any script and a megabyte arrive as they were sent, and NUL too, or it is refused in words; the run goes on."""
    texts = {"call_1": "a\0b", "call_2": "付款 💸 é\u202e", "call_3": "x" * 1_000_000}
    said = stage.run([call("look", name, what=text) for name, text in texts.items()])
    goes_on(said)
    assert said.told["call_2"] == f"seen {texts['call_2']}"
    ran = [each["what"] for each in stage.ran()]
    assert texts["call_2"] in ran
    assert texts["call_3"] in ran  # what its model is shown of so long a result is the framework's matter
    assert (texts["call_1"] in ran) == (said.told["call_1"] == f"seen {texts['call_1']}"), said.told["call_1"][:300]
    assert texts["call_1"] in ran or said.told["call_1"].startswith("Not "), said.told["call_1"][:300]


@case
def outcome_recorded(stage: Stage) -> None:
    """The gateway knows how it ended, and what came of it."""
    agent = stage.start([pay()])
    stage.decide()
    goes_on(agent.ended())
    (request,) = stage.requests()
    request = stage.as_agent(f"/v1/requests/{request['id']}")
    assert request["state"] == "succeeded"
    assert "paid 7 to Acme" in json.dumps(request["execution"]["result"])


@case
def wrong_payload(stage: Stage) -> None:
    """Arguments that are no JSON are refused in words, and nothing runs."""
    said = stage.run([call("pay", payee="Acme", amount=stage.runtime.no_json)])
    goes_on(said)
    assert said.told["call_1"]
    assert (stage.ran(), stage.requests()) == ([], [])


@case
def example(stage: Stage) -> None:
    """Its clerk in `examples/frameworks` pays what people approve, and nothing else."""
    agent = stage.start([pay("call_1", 1)], [pay("call_2", 2)], form="example")
    asked = stage.decide()
    stage.settled("succeeded", "pending")
    stage.decide("deny", reason="not this one")
    said = agent.ended()
    goes_on(said)
    assert said.told["call_1"].startswith("paid 1 to Acme")
    assert "an approver denied this call" in said.told["call_2"]
    assert stage.as_agent(f"/v1/requests/{asked['id']}")["execution"]["status"] == "succeeded"


# --- suspended: nobody waits, and no process is needed ----------------------------------------------------------------


@case
def suspended(stage: Stage) -> None:
    """Suspended, the run ends, and no process waits; approved, another one carries on, and the call runs once."""
    agent = stage.start([pay()], form="suspend")
    assert len(agent.ended().waits) == 1
    assert (stage.ran(), stage.states()) == ([], ["pending"])
    stage.decide()
    said = stage.run([pay()], form="suspend", resume=True)
    goes_on(said)
    assert said.told == {"call_1": "paid 7 to Acme"}
    stage.paid(7)
    assert stage.states() == ["succeeded"]


@case
def suspended_too_early(stage: Stage) -> None:
    """Resumed before people have decided, it waits on; denied then, the model reads the refusal and the run goes on."""
    stage.run([pay()], form="suspend")
    again = stage.run([pay()], form="suspend", resume=True)
    assert len(again.waits) == 1
    stage.decide("deny", reason="not on a Friday")
    said = stage.run([pay()], form="suspend", resume=True)
    goes_on(said)
    assert 'an approver denied this call. Reason given: "not on a Friday"' in said.told["call_1"]
    assert stage.ran() == []


@case
def suspended_beside_others(stage: Stage) -> None:
    """Of three suspended calls in one turn each keeps its own answer; what nobody has to be asked about runs."""
    turn = [pay("call_1", 1), pay("call_2", 2), call("look", "call_3", what="the sky")]
    assert len(stage.run(turn, form="suspend").waits) == 2
    for request in stage.waiting(2):
        denied = request["arguments"]["amount"] == 2
        stage.real.decide(request, "deny" if denied else "approve", reason="not this one" if denied else None)
    said = stage.run(turn, form="suspend", resume=True)
    goes_on(said)
    assert (said.told["call_1"], said.told["call_3"]) == ("paid 1 to Acme", "seen the sky")
    assert "an approver denied this call" in said.told["call_2"]
    assert [each for each in stage.ran() if each["tool"] == "pay"] == [{"tool": "pay", "payee": "Acme", "amount": 1}]
    assert stage.states() == ["denied", "succeeded"]


@case
def suspended_judged(stage: Stage) -> None:
    """What a rule allows runs, and what it denies is told, without suspending anything; the run goes on."""
    said = stage.run([call("look", what="the sky"), call("drop", "call_2", what="it")], form="suspend")
    goes_on(said)
    assert (said.waits, said.told["call_1"]) == ([], "seen the sky")
    assert said.told["call_2"].startswith("Not approved: rule 'never' forbids this call.")
    assert (stage.ran(), stage.requests()) == ([{"tool": "look", "what": "the sky"}], [])


@case
def suspended_edited(stage: Stage) -> None:
    """What people changed of a suspended call is what runs, and the model is told."""
    assert len(stage.run([pay()], form="suspend").waits) == 1
    stage.decide(arguments={"payee": "Acme", "amount": 5})
    said = stage.run([pay()], form="suspend", resume=True)
    goes_on(said)
    assert said.told["call_1"].startswith("paid 5 to Acme")
    assert "A person changed its arguments: amount: 7 → 5." in said.told["call_1"]
    stage.paid(5)
    assert stage.states() == ["succeeded"]


@case
def suspended_killed(stage: Stage) -> None:
    """Killed while it carried on a suspended call, and resumed once more: it does not run a second time."""
    assert len(stage.run([pay()], form="suspend").waits) == 1
    stage.decide()
    assert stage.start([pay()], form="suspend", resume=True, die="ran").died()
    said = stage.run([pay()], form="suspend", resume=True)
    goes_on(said)
    assert stage.runtime.says_of_killed in said.told["call_1"]
    assert not any(words in said.told["call_1"] for words in NEVER_SAID)
    stage.paid(7)

"""The ledger: every promise that the tests must show, under a stable id.

A test says what it shows with ``@requirement("S-04")``. `tests/project/test_requirements_ledger.py` checks both ways:
no promise without a test, no id that is not written here.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What must hold, and who asks for it."""

    sentence: str
    source: str


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test with the promises that it shows."""
    return pytest.mark.requirement(*ids)


def _must(sentence: str, source: str = "threat model") -> Promise:
    return Promise(sentence=sentence, source=source)


def _survives(sentence: str) -> Promise:
    return Promise(sentence=sentence, source="fault experiment")


LEDGER: dict[str, Promise] = {
    # Against attackers.
    "S-01": _must("Nothing runs without a consumed grant of exactly this request, agent and tool.", "AISVS 9.2.1"),
    "S-02": _must(
        "An approval holds for the exact arguments that were shown; any changed leaf is refused.", "AISVS 9.2.3"
    ),
    "S-03": _must("Of any number of simultaneous claims of a grant, exactly one succeeds.", "AISVS 9.2.4"),
    "S-04": _must(
        "A callback that is not provably the platform's gets one uniform 401; without a secret nothing starts."
    ),
    "S-05": _must("Our own verifier stands before the platform's SDK on every route."),
    "S-06": _must("Every click is authorised; a refused one changes nothing and burns no token."),
    "S-07": _must("An empty or unresolvable set of approvers means that nobody may approve."),
    "S-08": _must(
        "The hook denies whatever goes wrong: gateway away, hang, nonsense, a killed hook, a wrong exit code."
    ),
    "S-09": _must("Nobody approves their own request, through whatever account or agent of theirs."),
    "S-10": _must("One function alone turns votes into a decision; every entrance goes through it."),
    "S-11": _must(
        "An approval that is not committed before the deadline never counts, however long it waited for a lock."
    ),
    "S-12": _must("A click settles exactly the request of its card, never another one that happens to wait."),
    "S-13": _must("What cannot be shown whole on a card cannot be approved there.", "AISVS 9.2.2"),
    "S-14": _must(
        "Another org's ids look like unknown ids, and the database itself shows an org only its rows.", "ASVS 8.4.1"
    ),
    "S-15": _must("GET, HEAD and OPTIONS never decide, whoever or whatever follows the link.", "ASVS 3.5.3"),
    "S-16": _must("An agent's key and an agent's own labels can neither decide nor weaken the rules."),
    "S-17": _must("If the audit event cannot be written, the change it tells of does not happen."),
    "S-18": _must(
        "No markup of an agent reaches a platform: no mention, link, image or style on a card is an argument's."
    ),
    "S-19": _must(
        "Invisible, turning and look-alike characters are visible on cards, and what may deceive is flagged."
    ),
    "S-20": _must("A replayed callback has one effect, before and after a restart, on any replica."),
    "S-21": _must(
        "Button tokens are sealed and bound to request, verdict, place and revision; they carry no arguments."
    ),
    "S-22": _must("A click on an outdated card decides nothing and shows the present state."),
    "S-23": _must("A quorum counts people: one vote each, whichever channels they use."),
    "S-24": _must("After a committed denial a request is never approved."),
    "S-25": _must("An approval is for one call: the same call again asks again, as a new request with a new card."),
    "S-26": _must(
        "A standing approval is narrow, counted, limited in time, made by two people (for a session by one, where the "
        "rule's author lets one), and gone when it is revoked."
    ),
    "S-27": _must("Authority is checked again when an approval is used: who may no longer approve does not count."),
    "S-28": _must("People are known by immutable account ids alone; no name, e-mail or look-alike stands for one."),
    "S-29": _must(
        "Above a threshold no chat click suffices: a typed amount or code, a second factor, a lock after wrong ones, a "
        "notice elsewhere."
    ),
    "S-30": _must(
        "Approvers are not worn down: budgets, digests, time to read, and no nagging after a denial.", "AISVS 2.4.2"
    ),
    "S-31": _must(
        "Splitting does not help: payments to one payee or ten, by one agent or three of one owner, ask at the sum."
    ),
    "S-32": _must(
        "Floods, oversized, slow and deeply nested bodies are cut off cheaply, and neighbours are still served."
    ),
    "S-33": _must("Callers are rejected before their bodies are parsed, and secrets are compared in constant time."),
    "S-60": _must("Verifying a trail is never green by accident: what is missing or cannot be read is a fault."),
    "S-63": _must(
        "What was approved is authenticated: a request, vote or grant that was changed in the database runs nothing.",
        "attack on the built gateway",
    ),
    "S-67": _must(
        "Files with secrets or arguments are their owner's alone, what calls carry is encrypted in them, and a "
        "wrong or retired secret ends nothing silently.",
        "attack on the built gateway",
    ),
    "S-74": _must(
        "A broken glass is bounded in uses and money, by the limits of the two and by what its rules take; somebody "
        "who is named reviews it."
    ),
    "S-75": _must("Replicas know each other: in what they differ is shown, and whichever is unfit is not ready."),
    "S-76": _must(
        "Every refused attempt leaves a trace: who tried what and why it was refused, and a counter.",
        "attack on the built gateway",
    ),
    "F-70": _must(
        "A phone shows amount, payee, warning, deadline and buttons of a card without a touch; a warned one looks it."
    ),
    "F-71": _must("One language a reader: no card, note, toast or page of one language says ours in the other."),
    "F-72": _must("No card is a dead end: what it cannot do the page can, and what is not known says where to look."),
    "S-64": _must(
        "Verifying a trail compares its rows with its events, and names the first place of each edit of the matrix.",
        "attack on the built gateway",
    ),
    "S-34": _must(
        "API keys are random, stored hashed, scoped, expiring, rotatable and revocable on every replica at once."
    ),
    "S-35": _must("No call names where we go: addresses are the file's, and no credential follows a redirect."),
    "S-80": _must(
        "A platform's access that ends is renewed in time by one replica for all, and stored sealed before it is used; "
        "what is lost with an answer is said at once, with its mend."
    ),
    "S-85": _must(
        "A passkey is made with an invitation alone, and signs one approval as it was shown, or one sign-in: on this "
        "site, by its person, once, within minutes; no copy of it and no row of somebody else's counts."
    ),
    "S-86": _must(
        "Whoever an issuer signs in is a person of the file by a verified address or a pinned subject, in the browser "
        "that began it, once; no other token, issuer, client, key, time or answer of any shape signs anybody in."
    ),
    "S-87": _must(
        "A person sees where they are signed in, and ends it, here or everywhere, with what cards' links have opened; "
        "who is named for nothing more sees nothing more."
    ),
    "S-88": _must(
        "Who asked is a fact only where an issuer of the file signed it, for a person, a client and an agent of the "
        "file, within its time; any other token leaves a claim, and where a rule takes the fact, the call is refused."
    ),
    "S-89": _must(
        "Only an administrator of the file opens the page of people and keys; what is done there bears their name, and "
        "what gives somebody more than they had takes a fresh second factor of theirs, for that alone."
    ),
    "S-96": _must(
        "A file that somebody proposes on a page comes into force nowhere, builds no hook, reads nothing of the "
        "environment, and cannot ask what a sensitive value is."
    ),
    "S-97": _must(
        "A rule that approvals suggest allows nothing but what people approved alike, and nothing that was denied, "
        "warned of, changed, of high risk or at L3; none comes into force by itself."
    ),
    "S-105": _must(
        "What a call brings along is a link in plain ASCII or a whole PDF, PNG or JPEG within bounds, nothing else; it "
        "is approved as shown, and handed out inert to who may see the request, as that very file or not at all."
    ),
    "S-36": _must(
        "What is told outside is signed, under two secrets while one is changed; the same event has the same id, and "
        "none is passed over."
    ),
    "S-38": _must("What is encrypted at rest opens only where it was put, whole, under a key that is still accepted."),
    "S-39": _must(
        "Pages run no script but their own and sit in no frame; only they press their buttons and read their cookies."
    ),
    "S-40": _must("What came from outside forges no line of a log, not in a traceback either, and drives no terminal."),
    "S-42": _must("The canonical form is what an independent implementation of the standard writes, byte by byte."),
    "S-56": _must("What is installed is pinned by hash, and what is built twice is the same to the byte."),
    "S-58": _must("Which gateway an agent trusts is its user's to say: no project, variable or stranger changes it."),
    "S-59": _must("The role that gateways connect as adds to the trail and reads it, and can do nothing else to it."),
    "S-37": _must("Secrets reach no card; what is hidden is counted, and what must be seen is not approved unseen."),
    "S-41": _must("Hostile JSON (duplicate keys, NaN, unsafe integers, lone surrogates) is refused, never repaired."),
    "S-43": _must(
        "Creating with the same idempotency key gives one request and one card; with other arguments it is refused."
    ),
    "S-44": _must(
        "The database's clock decides; a clock that is over 30 seconds from it is an alarm, and decides nothing."
    ),
    "S-45": _must("A click must come from the app, tenant, chat and message that the card was posted to."),
    "S-46": _must("The long connection checks exactly as strictly as the webhook."),
    "S-47": _must("Forwarded or copied cards decide nothing."),
    "S-48": _must("Bots, workers and keys without a verified person behind them cannot vote."),
    "S-49": _must(
        "A pause of a tool, an agent, an org or all stops calls and approvals on every replica within a second; an "
        "agent cannot lift it.",
        "AV 14.1",
    ),
    "S-50": _must(
        "Breaking the glass takes two people and a reason, lasts an hour at most, is told loudly, and is reviewed."
    ),
    "S-51": _must("Errors tell a caller nothing about secrets, signatures, SQL or stacks."),
    "S-52": _must("Ids are unguessable and tell no time; unknown and foreign ids look the same.", "ASVS 11.5.1"),
    "S-53": _must("Sweepers touch only what is pending and due; looking at a list writes nothing."),
    "S-54": _must("A person's name stands only on their own vote in time; all else is the system's, with its reason."),
    "S-55": _must("What the model is told of a refusal is final and unmistakable, and names no approver."),
    "S-57": _must("A configuration with any fault does not start, and all its faults are told at once."),
    "S-65": _must("Half-open clients starve nobody, and one that vanishes is no error."),
    "S-66": _must(
        "One key takes its share of streams, waits and cards in a chat, and what shows figures can be closed."
    ),
    "S-72": _must(
        "A service that asks its own people has not refused: its id is kept, the spend counts, it never runs again."
    ),
    "S-73": _must("An executor's key runs the tools that it names, and settles only what it claimed itself."),
    "S-77": _must(
        "Command hooks of a gateway run so many at once, see only what is named, and get no descriptor of its."
    ),
    "S-78": _must(
        "No client of a platform follows a redirect, and the long connection goes to the platform's hosts only."
    ),
    "S-79": _must("Every amount counts, a payment has one currency, and nobody who was only added has a veto."),
    "S-61": _must("No call costs more than 100 ms of the loop, 64 MiB and 1 s; what would is asked about or denied."),
    "S-62": _must("Patterns, unique items and conditions take linear time or are refused; a judgement has a deadline."),
    "S-68": _must("What an agent says of itself is shown as its words on every surface, and never as a fact."),
    "S-69": _must("Card, page, API, command line and the line that a phone shows warn of the same."),
    "S-70": _must("The guards hold 95 % of hostile commands in their scope and stop 2 % of harmless ones at most."),
    "S-71": _must("Where all is allowed and no hook is named, the ready guards stand; switching them off is written."),
    # Of the tests themselves.
    "D-31": Promise(
        sentence="Whatever guard is taken away, a test notices it: no sabotage of the tables survives unexplained.",
        source="release gate",
    ),
    # Against faults.
    "F-01": _survives("Killed at any write of create, decide, claim or audit: what was acknowledged is there."),
    "F-02": _survives("Killed between commit and card: exactly one live card afterwards."),
    "F-03": _survives("Killed between the platform's answer and its record: no second live card."),
    "F-04": _survives("Killed between callback and commit: the platform's retry has one effect."),
    "F-05": _survives("Killed between the decision's commit and its answer: the retry is told that it is decided."),
    "F-06": _survives(
        "Killed between the decision's commit and the wake-up: the waiter comes back to the same answer."
    ),
    "F-07": _survives("A killed agent that asks again finds the same request, not a second card."),
    "F-08": _survives("Killed between claim and side effect: reported as unknown, never repeated by itself."),
    "F-09": _survives("Killed between side effect and record: the downstream key keeps it at one payment."),
    "F-10": _survives("Sweepers killed in the middle and racing: one expiry each, claimed rows untouched."),
    "F-11": _survives("Killed while it notes how far the trail has come: the note is whole, and the next one goes on."),
    "F-12": _survives("Replicas restarted in turn under load: whoever waits asks again, and nobody is denied."),
    "F-13": _survives("A replica frozen inside a decision cannot write when it thaws."),
    "F-14": _survives("Approve and deny at once, on two replicas: one winner, and the loser is told who."),
    "F-15": _survives("Approve at the deadline against the sweeper: the audit's order equals the state."),
    "F-16": _survives("Approve against cancel and edit: no grant for a withdrawn request or a changed digest."),
    "F-17": _survives("Sixty-four clicks at once, over all channels: one vote a person."),
    "F-18": _survives("Many votes and a revocation at once: the quorum is crossed exactly at its threshold."),
    "F-19": _survives("A row lock held past the deadline: expired, always."),
    "F-20": _survives("The COMMIT's answer lost: the caller re-reads; nothing doubled, nothing lost."),
    "F-21": _survives(
        "The connection to the database breaks at any byte: callers are answered, and the next one works."
    ),
    "F-22": _survives("The database stopped at once under load: ready again by itself, nothing acknowledged is lost."),
    "F-23": _survives("A synchronous standby takes over: no acknowledged decision is lost, and approvals stay good."),
    "F-24": _survives(
        "A standby that lags takes over: what is lost is named, nothing of before is handed out or executed twice."
    ),
    "F-25": _survives("The old primary comes back and a client finds it: its grants are of an epoch that is over."),
    "F-26": _survives(
        "The disk takes no more: refused within the bound, nothing torn, and it goes on when there is room."
    ),
    "F-27": _survives("A sync of the disk fails: the store takes nothing more until it is opened anew."),
    "F-28": _survives("The power fails between any two writes, pages torn: all that was acknowledged is recovered."),
    "F-29": _survives(
        "A platform that answers 500, 429, late, half or not at all: nothing lost, no card twice, its limits kept."
    ),
    "F-30": _survives(
        "A channel that answers 200 and shows nothing, or shows twice: noticed within a minute; the copy is inert."
    ),
    "F-31": _survives("Callbacks come three times, in any order, to any replica: one effect each."),
    "F-32": _survives("A gateway is parted from its database, or an agent from the gateway: refused, never allowed."),
    "F-33": _survives(
        "A channel that refuses for good: the next way is tried, the others flow, and the cause is named."
    ),
    "F-34": _survives("A host's clock is wrong: outcomes are those of a right one, for time is the database's."),
    "F-35": _survives("A storm of deadlines at one instant: all expire soon, and clicks are answered meanwhile."),
    "F-36": _survives(
        "A gateway restarts under many who wait: they come back spread, all are held again and answered; memory holds."
    ),
    "F-37": _survives(
        "One agent floods, with huge, slow and deep bodies: memory stays bounded, and its neighbours are served."
    ),
    "F-38": _survives(
        "Connections, places or the database's speed run out: refused for now, and clicks still come in."
    ),
    "F-45": _survives(
        "Under a platform's hard limit a hundred cards all arrive, urgent ones first, with hardly a call refused."
    ),
    "F-46": _survives(
        "Half an answer of a platform bars nobody and loses nothing; what it withholds is named with its scope."
    ),
    "F-47": _survives(
        "The database fails over to its standby: the gateway finds the new primary by itself, and names what it lost."
    ),
    "F-48": _survives("The outcome cannot be reported, and the executor asks again: the tool is not called again."),
    "F-49": _survives("A burst at the bound of waiting requests, on every replica: as many open as may wait."),
    "F-50": _survives(
        "Whatever order changes of a shared message land in, it shows the present state in the end, and no old button."
    ),
    # The agent's one call (submit, wait and claim in one), cut at each of its steps.
    "F-51": _survives("Killed around the opening: under the same key there is one request, and it goes on."),
    "F-52": _survives("Killed while the call is held: it is pending as it was, and whoever comes back is handed it."),
    "F-53": _survives(
        "Killed between the decision and the claim: approved, unclaimed, and claimed once by who returns."
    ),
    "F-54": _survives("Killed between the claim and its answer, or the answer lost: the same claim, the same answer."),
    "F-55": _survives("The caller has gone when the decision comes: nothing is claimed for it, whatever it had sent."),
    "F-56": _survives("A proxy gives up before the wait is over: asked again under its key, and claimed once."),
    "F-57": _survives("A gateway stops, or a replica dies: callers are told pending, and another replica goes on."),
    "F-75": _survives(
        "Whoever made a call is gone while people are asked: no card is left behind, and made again it is asked anew."
    ),
    "F-76": _survives(
        "A server behind the proxy ends, or its client goes: what it had is unknown, and what it had not does not run."
    ),
    "F-40": _survives(
        "Restored from a backup: noticed, declared, nothing of before it runs; secrets rotate without a refused card."
    ),
    "F-41": _survives(
        "The database freezes, or its host vanishes: calls are answered, nothing is lost, it goes on by itself."
    ),
    "F-42": _survives("The wall clock steps, back or forward: what time brings goes on, and the step is logged."),
    "F-39": _survives("A migration beside gateways that work, killed at each step: no decision fails, and it goes on."),
    "F-43": _survives(
        "Two migrations at once: one waits. A newer schema is named; going back is done as asked, or refused with why."
    ),
    "F-44": _survives(
        "Writes are impossible: not ready, refused within the bound and not once for each, and it heals by itself."
    ),
}

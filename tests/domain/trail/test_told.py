"""Every kind of event has a sentence in every language, which says the same and needs the same facts."""

from __future__ import annotations

import string

import pytest

from app.domain.text.language import Language
from app.domain.trail.audit import Kind, Record
from app.domain.trail.told import NOTHING, told


def _fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_every_kind_has_a_sentence_in_both_languages_with_the_same_facts() -> None:
    for kind in Kind:
        # Who did nothing of their own (the gateway noticed it) need not be named.
        assert kind.en, kind
        assert any("\u4e00" <= letter <= "\u9fff" for letter in kind.zh), kind
        assert not any("\u4e00" <= letter <= "\u9fff" for letter in kind.en), kind
        assert _fields(kind.en) == _fields(kind.zh), kind
        assert kind.en.startswith("{actor} ") == kind.zh.startswith("{actor} ") or "hook" in kind, kind


def test_no_two_kinds_are_told_alike() -> None:
    for language in Language:
        said = [told(Record(kind=kind, actor="x", facts={}), language) for kind in Kind]
        assert len(set(said)) == len(said)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", Kind)
def test_a_fact_that_an_event_has_not_reads_as_nothing(kind: Kind, language: Language) -> None:
    said = told(Record(kind=kind, actor="bob@acme.example", facts={}), language)
    assert "{" not in said
    assert kind.value not in said
    assert "None" not in said


def _vote(verdict: str, **facts: object) -> Record:
    return Record(kind=Kind.VOTE, actor="bob@acme.example", facts={"verdict": verdict, "channel": "chat", **facts})


@pytest.mark.parametrize(
    ("record", "english", "chinese"),
    [
        (_vote("approve", assurance="L2"), "Bob approved on chat at L2", "Bob 通过 chat 批准（L2）"),
        (_vote("deny", reason="no"), "Bob denied on chat: no", "Bob 通过 chat 拒绝：no"),
        (_vote("withdraw", reason=None), "Bob took the vote back on chat", "Bob 通过 chat 撤回表决"),
        (
            Record(kind=Kind.UNKNOWN, actor="system", facts={"error": None}),
            "nobody knows whether it ran",
            "是否执行尚不清楚",
        ),
        (
            Record(kind=Kind.UNKNOWN, actor="system", facts={"error": "it hung up"}),
            "nobody knows whether it ran: it hung up",
            "是否执行尚不清楚：it hung up",
        ),
        (Record(kind=Kind.FAILED, actor="x", facts={}), "Bob reported that it failed", "Bob 报告执行失败"),
        (_vote("other"), f"Bob {NOTHING} on chat", f"Bob 通过 chat {NOTHING}"),
        (
            Record(kind=Kind.APPROVED, actor="rule:r", facts={"allowed_by": "rule:r", "reason": "small"}),
            "nobody was asked: the rule r lets an executor run it: small",
            "未询问任何人：规则 r 允许执行器执行：small",
        ),
        (
            Record(
                kind=Kind.APPROVED,
                actor="standing:sta_1",
                facts={
                    "allowed_by": "standing:sta_1",
                    "reason": "The standing approval sta_1 covers it (use 1 of 3).",
                },
            ),
            "nobody was asked, and an executor may run it: The standing approval sta_1 covers it (use 1 of 3).",
            "未询问任何人，执行器可执行：长期授权 sta_1 已涵盖（第 1 次，共 3 次）。",
        ),
        (
            Record(
                kind=Kind.APPROVED,
                actor="standing:gls_7",
                facts={
                    "allowed_by": "standing:gls_7",
                    "reason": "BREAK-GLASS gls_7: nobody was asked. w@x.example and d@x.example broke it: “payroll”",
                },
            ),
            "BREAK-GLASS gls_7: nobody was asked. w@x.example and d@x.example broke it: “payroll”",
            "紧急放行 gls_7：未经任何人审批。由 w@x.example、d@x.example 开启，原因：“payroll”",
        ),
        (
            Record(
                kind=Kind.STANDING_SESSION_USED,
                actor="agent:a",
                facts={"allowed_by": "w@x.example", "standing": "sta_1", "used": 1, "uses": 3},
            ),
            "Bob used the standing approval sta_1, which w@x.example gave for the session: 1 of 3",
            "Bob 使用 w@x.example 为本会话给出的长期授权 sta_1：第 1 次，共 3 次",
        ),
        (
            Record(kind=Kind.SIGNED_IN, actor="x", facts={"via": "cli"}),
            "Bob signed in to the console, by way of the command line",
            "Bob 经由 命令行 登录控制台",
        ),
        (_vote("deny", reason="no", channel="console"), "Bob denied on the console: no", "Bob 通过 控制台 拒绝：no"),
        (
            Record(
                kind=Kind.CREATED,
                actor="agent:a",
                facts={
                    "tool": "pay",
                    "rule": "dear",
                    "assurance": "L2",
                    "payment": {"totals": {"CNY": "4", "EUR": "5"}, "payees": ["X", "Y"]},
                    "cautions": ["first_payee", "first_payee"],
                    "stages": [{}],
                },
            ),
            (
                "Bob asked for pay (¥4.00 CNY + €5.00 EUR to X, Y); the rule dear asks people about it at L2 "
                "(First payment to them)"
            ),
            "Bob 请求调用 pay（¥4.00 人民币 + €5.00 欧元，付给 X, Y）；规则 dear 要求人工审批（L2）（首次付款）",
        ),
        (
            Record(kind=Kind.CREATED, actor="agent:a", facts={"tool": "pay", "rule": "dear", "stages": []}),
            "Bob asked for pay; the rule dear asks nobody",
            "Bob 请求调用 pay；规则 dear 无需询问任何人",
        ),
        (
            Record(kind=Kind.REFUSED, actor="agent:a", facts={"tool": "pay", "rule": "r", "hook": "h"}),
            "Bob was refused pay by the hook h",
            "Bob 调用 pay 被钩子 h 拒绝",
        ),
    ],
)
def test_a_sentence_says_what_is_so_of_this_event_and_no_more(record: Record, english: str, chinese: str) -> None:
    assert told(record, Language.EN, who="Bob") == english
    assert told(record, Language.ZH, who="Bob") == chinese


def test_beside_the_name_of_who_did_it_a_sentence_does_not_begin_with_it_again() -> None:
    record = Record(kind=Kind.REMINDED, actor="bob@acme.example", facts={})
    assert told(record, Language.EN, beside=True) == "reminded those who had not decided yet"
    broken = Record(kind=Kind.GLASS_BROKEN, actor="bob@acme.example", facts={})
    assert told(broken, Language.EN, who="Bob", beside=True).startswith("THE GLASS WAS BROKEN by Bob")


def test_facts_are_written_as_the_reader_wants_them() -> None:
    record = Record(
        kind=Kind.ESCALATED, actor="system", facts={"to": ["bob@acme.example", "cfo"], "channels": ["chat"]}
    )
    said = told(record, Language.EN, shown=lambda value: str(value).upper())
    assert said == "nobody had decided: BOB@ACME.EXAMPLE, CFO may decide it as well, and it was shown on CHAT"

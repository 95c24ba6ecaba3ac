"""Why a rule answers as it does, in the reader's language.

A ruling's reason is one text that is stored with the request, and read by models, logs and trails: English, and put
together of the file's own sentences, ours, and the words of others in quotation marks that they cannot close. People
read it in their language: the file's sentences as the file has them in it (`reason: {en, zh}`), ours from the table
below. What others say (a hook, an agent, a person) and how they call themselves is cut out first, so that no sentence
in it is taken for ours.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from app.domain.text.language import Language
from app.domain.text.visible import QUOTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ZH: Mapping[str, str] = {
    "the highest tier": "最高一档",
    "the tier up to {limits}": "{limits} 以内一档",
    "Rule {rule} asks for approval": "规则 {rule} 要求审批",
    "Rule {rule} allows it ({tier})": "规则 {rule} 可放行（{tier}）",
    "Rule {rule} allows it": "规则 {rule} 可放行",
    "Rule {rule} forbids it ({tier})": "规则 {rule} 禁止（{tier}）",
    "Rule {rule} forbids it": "规则 {rule} 禁止",
    "No rule matched, and the default is to deny": "没有适用的规则，默认拒绝",
    "The configuration does not know this tool": "配置中没有此工具",
    "; but there is nobody to ask": "；但无人可问",
    "; but people are asked, because of the warnings": "；因有警告，须由人决定",
    "The condition of rule {rule} could not be evaluated, so people are asked": "规则 {rule} 的条件无法判定，"
    "须由人决定",
    "No rule matched, and the default is to allow": "没有适用的规则，默认可放行",
    "No rule covers this call, so people decide": "没有规则涵盖此调用，须由人决定",
    " Besides: ": " 另外：",
    " (as for {agent}, whose rules bind this call as well)": "（{agent} 的规则同样适用于此调用）",
    "The tool {tool} always requires confirmation": "工具 {tool} 每次都须确认",
    "Every tool of the agent {agent} requires confirmation": "智能体 {agent} 的所有工具都须确认",
    "The hook {hook} wants people to be asked: ": "钩子 {hook} 要求由人决定：",
    "The agent's side asks for confirmation (its own words): ": "智能体一方要求确认（其原话）：",
    "The standing approval {permit} covers it (use {used} of {uses})": "长期授权 {permit} 已涵盖（第 {used} 次，"
    "共 {uses} 次）",
    "{allower} allowed it for the session, as the standing approval {permit} (use {used} of {uses})": "{allower} "
    "已允许本会话内的此类调用，长期授权 {permit}（第 {used} 次，共 {uses} 次）",
    "BREAK-GLASS {permit}: nobody was asked. {people} broke it: ": "紧急放行 {permit}：未经任何人审批。"
    "由 {people} 开启，原因：",
    "An evaluation run: nobody was asked. ": "试运行：未询问任何人。",
}
_PLACE = re.compile(r"\\{(\w+)\\}")  # as `re.escape` leaves it
_WORD = r"[^\s()]+?"
_HOLDS = {"people": r"[^:]+?", "tier": r"[^()]+?", "limits": r"[A-Z]{3} [0-9.]+(?:, [A-Z]{3} [0-9.]+)*"}
_ENDS = ".。"
_STOP = re.compile(r"(?<=[\u4e00-\u9fff）\0])\.(?=[\s;]|$)")
_KEPT = re.compile(r"\0([0-9]+)\0")
_UNQUOTED = r"(?:(?<=\(its own words\): )|(?<= broke it: ))(?!“).+"  # of requests from before words were quoted


def reason_in(text: str, language: Language, reasons: Iterable[Mapping[str, str]]) -> str:
    """Return a ruling's reason in a language. `reasons` are those of the file's rules, by language."""
    said = {each: by.get(language.value, each) for by in reasons for each in by.values()}
    # Something may have been put behind a sentence, and its full stop left out for that.
    said |= {each.rstrip(_ENDS): words.rstrip(_ENDS) for each, words in said.items() if each[-1:] in _ENDS}
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        words = found.group()
        unclosed = words.startswith("“") and words not in said and not words.endswith("”")
        kept.append(said.get(words, f"{words}”" if unclosed else words))
        return f"\0{len(kept) - 1}\0"  # a word that no text can have: PostgreSQL's have no NUL

    ours = sorted(map(re.escape, filter(None, said)), key=len, reverse=True)
    cut = re.compile("|".join([*(rf"(?<!\S){each}(?![^\s.;])" for each in ours), QUOTED, _UNQUOTED]), re.DOTALL)
    text = cut.sub(keep, text.replace("\0", "\\u{0}"))
    if language is Language.ZH:
        for pattern, words in _patterns():
            text = pattern.sub(lambda found, words=words: _put(words, found.groupdict()), text)
        text = _STOP.sub("。", text)
    return _KEPT.sub(lambda found: kept[int(found[1])], text)


def _put(words: str, values: Mapping[str, str]) -> str:
    return words.format(**{name: value.replace(" and ", "、") for name, value in values.items()})


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return each of our sentences as a pattern, and what it is in Chinese."""
    return tuple((re.compile(_pattern(en)), zh) for en, zh in _ZH.items())


def _pattern(sentence: str) -> str:
    ends = r"(?![^\s.;()。])" if sentence.endswith("}") else ""
    return _PLACE.sub(lambda place: f"(?P<{place[1]}>{_HOLDS.get(place[1], _WORD)})", re.escape(sentence)) + ends

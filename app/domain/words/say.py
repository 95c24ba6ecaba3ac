"""Every sentence that Assent says to people on cards and in answers to clicks, in each language.

One place, so that a wording can be read through, and so that no language lacks a sentence (a test compares the keys).
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING

from app.domain.text.language import Language
from app.domain.words import assurance as words_assurance
from app.domain.words import console as words_console
from app.domain.words import consultations as words_consultations
from app.domain.words import edit as words_edit
from app.domain.words import ladder as words_ladder
from app.domain.words import outcome as words_outcome
from app.domain.words import pauses as words_pauses
from app.domain.words import payments as words_payments
from app.domain.words import permits as words_permits
from app.domain.words.pages import admin as words_admin
from app.domain.words.pages import pulse as words_pulse
from app.domain.words.pages import rules as words_rules
from app.domain.words.pages import story as words_story
from app.domain.words.pages import trail as words_trail
from app.domain.words.people import relations as words_relations
from app.domain.words.people import signing_in as words_signing_in
from app.domain.words.people import trial_card as words_trial

if TYPE_CHECKING:
    from collections.abc import Mapping

_EN: Mapping[str, str] = {
    "headline.pending": "Approval needed",
    "headline.approved": "Approved",
    "headline.executing": "Running · approved",
    "headline.succeeded": "Done · approved",
    "headline.failed": "Failed · was approved",
    "headline.unknown": "Outcome unknown · was approved",
    "headline.pending_elsewhere": "Waits at the service · approved here",
    "headline.denied": "Denied",
    "headline.expired": "Expired",
    "headline.cancelled": "Cancelled",
    "headline.undeliverable": "Nobody could be reached",
    "headline.lapsed": "Not run · approval never used",
    "asks": "Asked by",
    "asks.value": "agent {agent} (no requester named)",
    "asks.sub": "{agent}, sub-agent {sub_agent}",
    "asks.for": "agent {agent}; it says: for {requester} (not verified)",
    "asks.proved": "agent {agent} for {requester} (signed in at {issuer})",
    "why": "Why you are asked",
    "rule": "Rule",
    "rule.value": "{rule} · {tripped}",
    "until": "Decide by",
    "until.value": "{time} · {then}",
    "until.exact": "Deadline",
    "until.exact.value": "{time} ({left} from being asked)",
    "unit.d": "d",
    "unit.h": "h",
    "unit.min": "min",
    "unit.s": "s",
    "claim": "The agent says (not verified)",
    "tool": "Tool",
    "evidence": "Evidence (from the agent, not verified)",
    "evidence.file": "{count} files",
    "evidence.file.one": "1 file",
    "evidence.link": "{count} links",
    "evidence.link.one": "1 link",
    "evidence.page": "{what}: “{control}” shows them\n{names}",
    "evidence.elsewhere": "{what}: ask the gateway for this request to see them\n{names}",
    "claim.omitted": "Left out: it is too long for this card ({size} characters).",
    "progress": "{have} of {need} approvals · {groups}",
    "progress.step": "Step {step} of {steps}: {text}",
    "progress.by": "Approved so far by {people}",
    "voted.for": "{person} (for {absent})",
    "voted.alone": "{person} (alone: their own call, and nobody else may decide)",
    "footer": "Code {code} · {request}",
    "outcome.approved": "✅ Approved by {by} · {at}{note}",
    "outcome.denied": "⛔ Denied by {by} · {at}{note}",
    "outcome.expired": "⌛ It did not run: nobody decided in time · {at}",
    "outcome.cancelled": "⌛ It did not run: withdrawn by {by} · {at}{note}",
    "outcome.undeliverable": "⌛ It did not run: nobody could be reached · {at}",
    "outcome.executing": "⏳ Running now. Approved by {by} · {at}",
    "outcome.succeeded": "✅ It ran once and succeeded. Approved by {by} · {at}",
    "outcome.failed": "❌ It ran once and failed. Approved by {by} · {at}",
    "outcome.unknown": "⚠️ Whether it ran is not known: look whether it happened before anybody repeats it. Approved by "
    "{by} · {at}",
    "outcome.pending_elsewhere": "⏳ Sent once; the service asks its own people. Approved by {by} · {at}",
    "outcome.lapsed": "⌛ It did not run: the approval was never used. Approved by {by} · {at}",
    "withheld.size": "Approve is not offered here: this card cannot show all of the call ({size} characters; "
    "{budget} fit). What follows “…” is missing. {review}",
    "withheld.hidden": "Approve is not offered here: {fields} must be seen, but looks like a secret and is not shown. "
    "{review}",
    "withheld.review": "To see it whole, ask the gateway's API for request {request}; you can still deny here.",
    "begins": "{text}… (whole below)",
    "cut": "{text}… [{count} more characters not shown]",
    "cut.facts": "{count} more not shown",
    "look.mixed": "{where}: “{shown}” mixes letters of different alphabets. It may imitate another name.",
    "look.borrowed": "{where}: “{shown}” is written in foreign letters that look like Latin ones.",
    "look.formed": "{where}: “{shown}” has letters or digits in an unusual form. It may imitate another text.",
    "look.digits": "{where}: “{shown}” has digits that are not 0–9.",
    "look.unseen": "{where}: has characters that cannot be seen or that turn the text; they stand as \\u{{…}}.",
    "look.turning": "{where}: has right-to-left letters; the order on your screen may not be the real one.",
    "look.disguised": "{where}: “{shown}” has an I, 0 or 1 where a letter is expected. Compare it with the real name.",
    "look.decimals": "{where}: more digits after the point than this currency has.",
    "look.unsearched": "{where}: of its {count} characters, only the first {most} were searched for look-alikes.",
    "look.more": "More warnings of this kind: {count}.",
    "approve": "Approve",
    "deny": "Deny",
    "deny.reason": "Why?",
    "deny.hint": "The agent sees it.",
    "confirm.title": "Approve this?",
    "confirm.text": "{title}\n\nIt runs once, exactly as shown. Code {code}.",
    "cancel": "Go back",
    "hidden": "Values hidden on this card: {count}. The call runs with the real ones.",
    "click.approved": "Recorded: approved. It may run once now.",
    "click.denied": "Recorded: denied. The agent has been told.",
    "click.counted": "Recorded. {have} of {need} approvals; more are needed.",
    "click.repeated": "You have already approved this.",
    "click.settled": "Nothing changed: {outcome}",
    "click.barred": "You asked for this, or the agent is yours: someone else must decide. The request still waits.",
    "click.not_eligible": "You are not among the people who decide this. The request still waits.",
    "click.unmapped": "This account is not linked to anyone who may decide. The request still waits.",
    "click.email_unverified": "You are in the group, but the platform vouches for no e-mail of yours that counts here. "
    "Confirm your work e-mail there, or ask an administrator to write you down. The request still waits.",
    "click.email_taken": "Your e-mail is known here by another account, so this one may not decide. Ask an "
    "administrator to correct that, there or here. The request still waits.",
    "click.inactive": "This account may not decide: it is a guest, a bot, or deactivated. The request still waits.",
    "click.unknown": "The platform does not say whether this account is active, so it may not decide. An administrator "
    "sees with `assent doctor` which permission is missing. The request still waits.",
    "click.unverified": "Your account could not be confirmed just now. Nothing was recorded; try again in a minute.",
    "click.copy": "This is a second copy of the card: what is pressed here does not count. {stands}",
    "click.stale": "This card is no longer the live one. Please use the newest card.",
    "click.other_secret": "This gateway does not know the key that signed this card, so nothing was recorded. "
    "Press again in a minute, or use the newest card; if it stays so, tell your operator (`assent doctor`).",
    "click.lacking_secret": "This request is sealed with a secret (id {secret_id}) that this gateway does not "
    "have: nothing was done. Tell your operator (`assent doctor`), and try again once it is back.",
    "review.lacking": "Not available just now",
    "review.lacking.why": "This request is sealed with a secret (id {secret_id}) that this gateway does not "
    "have: nothing was done. Tell your operator (`assent doctor`), and try again once it is back.",
    "click.unsealed": "What is stored of this request is not what was asked: nothing is done. Tell your operator.",
    "click.late": "Your click is being recorded. Look at the card in a moment; if nothing changed, press again.",
    "click.retry": "Nothing was recorded. Please press again in a moment.",
    "click.broken_off": "Nothing was recorded: the gateway does not know yet where this card arrived. "
    "Please press again in half a minute, on the newest card.",
    "click.reason_needed": "Please say why.",
}

_ZH: Mapping[str, str] = {
    "headline.pending": "待审批",
    "headline.approved": "已批准",
    "headline.executing": "执行中 · 已批准",
    "headline.succeeded": "已执行 · 已批准",
    "headline.failed": "执行失败 · 曾获批准",
    "headline.unknown": "结果未知 · 曾获批准",
    "headline.pending_elsewhere": "服务方待审批 · 此处已批准",
    "headline.denied": "已拒绝",
    "headline.expired": "已过期",
    "headline.cancelled": "已撤回",
    "headline.undeliverable": "无法送达审批人",
    "headline.lapsed": "未执行 · 批准未使用",
    "asks": "申请方",
    "asks.value": "智能体 {agent}（未说明申请人）",
    "asks.sub": "{agent}（子智能体 {sub_agent}）",
    "asks.for": "智能体 {agent}；自述代 {requester} 申请（未经核实）",
    "asks.proved": "智能体 {agent} 代 {requester} 申请（已在 {issuer} 登录核实）",
    "why": "审批原因",
    "rule": "规则",
    "rule.value": "{rule} · {tripped}",
    "until": "决定期限",
    "until.value": "{time} · {then}",
    "until.exact": "截止时间",
    "until.exact.value": "{time}（自申请起 {left}）",
    "unit.d": "天",
    "unit.h": "小时",
    "unit.min": "分钟",
    "unit.s": "秒",
    "claim": "智能体自述（未经核实）",
    "tool": "工具",
    "evidence": "附件与链接（智能体提供，未经核实）",
    "evidence.file": "{count} 个文件",
    "evidence.file.one": "1 个文件",
    "evidence.link": "{count} 个链接",
    "evidence.link.one": "1 个链接",
    "evidence.page": "{what}：点“{control}”查看\n{names}",
    "evidence.elsewhere": "{what}：请通过网关查看此请求\n{names}",
    "claim.omitted": "未显示：过长，卡片放不下（{size} 字）。",
    "progress": "已批准 {have} / {need} · {groups}",
    "progress.step": "第 {step} 步，共 {steps} 步：{text}",
    "progress.by": "目前已批准：{people}",
    "voted.for": "{person}（代 {absent}）",
    "voted.alone": "{person}（独自决定：本人的申请，且无他人可决定）",
    "footer": "核对码 {code} · {request}",
    "outcome.approved": "✅ {by} 已批准 · {at}{note}",
    "outcome.denied": "⛔ {by} 已拒绝 · {at}{note}",
    "outcome.expired": "⌛ 未执行：逾期无人决定 · {at}",
    "outcome.cancelled": "⌛ 未执行：{by} 已撤回 · {at}{note}",
    "outcome.undeliverable": "⌛ 未执行：无法联系到任何审批人 · {at}",
    "outcome.executing": "⏳ 正在执行。{by} 已批准 · {at}",
    "outcome.succeeded": "✅ 已执行一次，成功。{by} 已批准 · {at}",
    "outcome.failed": "❌ 已执行一次，失败。{by} 已批准 · {at}",
    "outcome.unknown": "⚠️ 是否执行尚不清楚：任何人重试之前，请先核实是否已执行。{by} 已批准 · {at}",
    "outcome.pending_elsewhere": "⏳ 已提交一次，服务方正在请其人员审批。{by} 已批准 · {at}",
    "outcome.lapsed": "⌛ 未执行：批准未被使用。{by} 已批准 · {at}",
    "withheld.size": "此处不提供“批准”：卡片无法完整显示这次调用（{size} 字，最多 {budget} 字），“…”之后的内容未显示。"
    "{review}",
    "withheld.hidden": "此处不提供“批准”：{fields} 必须可见，但其内容疑似密钥，已隐藏。{review}",
    "withheld.review": "请通过网关 API 查看请求 {request} 的全文；仍可在此拒绝。",
    "begins": "{text}…（全文见下）",
    "cut": "{text}… [另有 {count} 字未显示]",
    "cut.facts": "另有 {count} 项未显示",
    "look.mixed": "{where}：“{shown}”混用了不同文字的字母，可能在冒充其他名称。",
    "look.borrowed": "{where}：“{shown}”使用了形似拉丁字母的外文字母。",
    "look.formed": "{where}：“{shown}”含有特殊字形的字母或数字，可能在冒充其他文字。",
    "look.digits": "{where}：“{shown}”含有 0–9 以外的数字。",
    "look.unseen": "{where}：含有不可见或改变文字方向的字符，以 \\u{{…}} 标出。",
    "look.turning": "{where}：含有从右向左书写的文字，屏幕上的顺序可能与实际不同。",
    "look.disguised": "{where}：“{shown}”中有易混淆的 I、0 或 1，请与真实名称核对。",
    "look.decimals": "{where}：小数位数超过该货币的最小单位。",
    "look.unsearched": "{where}：共 {count} 个字符，只检查了前 {most} 个字符中的易混淆文字。",
    "look.more": "另有 {count} 条同类警告。",
    "approve": "批准",
    "deny": "拒绝",
    "deny.reason": "拒绝原因",
    "deny.hint": "智能体会看到。",
    "confirm.title": "确认批准？",
    "confirm.text": "{title}\n\n将按所示内容执行一次。核对码 {code}。",
    "cancel": "返回",
    "hidden": "本卡片隐藏了 {count} 个值；执行时使用真实值。",
    "click.approved": "已记录：批准。现在可以执行一次。",
    "click.denied": "已记录：拒绝。智能体已收到通知。",
    "click.counted": "已记录。批准 {have} / {need}，还需要其他人。",
    "click.repeated": "您已经批准过了。",
    "click.settled": "没有变化：{outcome}",
    "click.barred": "这是您本人的申请，或该智能体归您所有，须由他人决定。请求仍在等待。",
    "click.not_eligible": "您不在此请求的审批人之列。请求仍在等待。",
    "click.unmapped": "此账号没有对应的审批人。请求仍在等待。",
    "click.email_unverified": "平台未核实您可用的邮箱。请在平台上确认工作邮箱，或请管理员登记。请求仍在等待。",
    "click.email_taken": "您的邮箱在此对应另一个账号，此账号不能审批，请管理员更正。请求仍在等待。",
    "click.inactive": "此账号不能审批（访客、机器人或已停用）。请求仍在等待。",
    "click.unknown": "平台未告知此账号是否有效，不能审批。请管理员用 `assent doctor` 查看缺少的权限。请求仍在等待。",
    "click.unverified": "暂时无法确认您的账号，未做任何记录，请一分钟后再试。",
    "click.copy": "这是卡片的重复副本，在此点击无效。{stands}",
    "click.stale": "这张卡片已失效，请使用最新的卡片。",
    "click.other_secret": "本网关不认识签署这张卡片的密钥，未作任何记录。"
    "请稍后再点或使用最新的卡片；若仍如此，请告知管理员（`assent doctor`）。",
    "click.lacking_secret": "封存这条请求的密钥（编号 {secret_id}）本网关没有，未做任何操作。"
    "请告知管理员（`assent doctor`），恢复后再试。",
    "review.lacking": "暂时无法处理",
    "review.lacking.why": "封存这条请求的密钥（编号 {secret_id}）本网关没有，未做任何操作。"
    "请告知管理员（`assent doctor`），恢复后再试。",
    "click.unsealed": "这条请求的存储记录与提交时不符，已拒绝处理，请告知管理员。",
    "click.late": "已收到您的点击，正在记录。请稍后查看卡片；如没有变化，请再按一次。",
    "click.retry": "未做任何记录，请稍后再按一次。",
    "click.broken_off": "未做任何记录：网关尚未确认此卡片的送达位置。请半分钟后在最新的卡片上再按一次。",
    "click.reason_needed": "请填写原因。",
}

_PARTS = (
    words_admin,
    words_console,
    words_consultations,
    words_assurance,
    words_edit,
    words_ladder,
    words_outcome,
    words_pauses,
    words_payments,
    words_permits,
    words_pulse,
    words_relations,
    words_rules,
    words_signing_in,
    words_trial,
    words_story,
    words_trail,
)

CATALOGUE: Mapping[Language, Mapping[str, str]] = {
    Language.EN: dict(ChainMap({}, dict(_EN), *(dict(part.EN) for part in _PARTS))),
    Language.ZH: dict(ChainMap({}, dict(_ZH), *(dict(part.ZH) for part in _PARTS))),
}


def say(language: Language, key: str, **values: object) -> str:
    """Return one sentence in one language. `values` are put in as they are: make outside text visible first."""
    return CATALOGUE[language][key].format(**values)

"""What the page says on which the trail is looked through, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "trail.title": "What was asked, and what became of it",
    "trail.search": "Search",
    "trail.find": "Find",
    "trail.any": "any",
    "trail.payee": "Payee",
    "trail.least": "Amount from",
    "trail.most_paid": "Amount to",
    "trail.person": "Person (e-mail)",
    "trail.tool": "Tool",
    "trail.code": "Code",
    "trail.text": "Text in the trail",
    "trail.outcome": "Outcome",
    "trail.since": "Asked from",
    "trail.until": "Asked until",
    "trail.saved": "Filter",
    "trail.before": "Place",
    "trail.saved.all": "all",
    "trail.saved.unknown": "outcome unknown",
    "trail.saved.glass": "glass broken",
    "trail.saved.expired": "expired",
    "trail.saved.quick": "approved within 10 s",
    "trail.invalid": "Nothing was searched for: “{field}” cannot be read. Below is everything.",
    "trail.not": "Text is looked for in what the trail says: who, why, notes, and the payees and amounts of payments. "
    "Other arguments, the agent's own words and results cannot be searched: they may be encrypted where they are kept.",
    "trail.nothing": "Nothing was found as far back as this look went.",
    "trail.onward": "Further back, from {at}",
    "trail.end": "This is all, back to the first request that is kept.",
    "trail.csv": "As CSV (up to {most} rows of one look)",
    "trail.verify": "Is the trail whole?",
    "trail.verify.why": "Walks every event's hash, plays the events again, and holds the rows against them. Whoever "
    "has the database and the secret could write all of it anew: note the head down elsewhere.",
    "trail.verify.now": "Verify now",
    "trail.verify.running": "Begun at {at}: {seen} events walked so far.",
    "trail.verify.failed": "Begun at {at}, and broken off after {seen} events: nothing is known. Try again.",
    "trail.verify.broken": "Begun at {at}: NOT WHOLE. {seen} events were walked, and {count} places do not fit:",
    "trail.verify.whole": "Begun at {at}: {seen} events were walked, unbroken, and the rows say what they say.",
    "trail.verify.head": "Head:",
    "trail.verify.witness": "Held against {witness}.",
    "trail.verify.no_witness": "Held against nothing outside of the database: a cut tail would not show.",
    "trail.verify.cut": "It was walked from its last cut on; `assent audit verify --segments` walks all.",
}

ZH: Mapping[str, str] = {
    "trail.title": "请求及其结果",
    "trail.search": "搜索",
    "trail.find": "查找",
    "trail.any": "不限",
    "trail.payee": "收款方",
    "trail.least": "金额不低于",
    "trail.most_paid": "金额不高于",
    "trail.person": "人员（邮箱）",
    "trail.tool": "工具",
    "trail.code": "核对码",
    "trail.text": "审计记录中的文字",
    "trail.outcome": "结果",
    "trail.since": "申请日期从",
    "trail.until": "申请日期至",
    "trail.saved": "筛选",
    "trail.before": "位置",
    "trail.saved.all": "全部",
    "trail.saved.unknown": "结果未知",
    "trail.saved.glass": "紧急放行",
    "trail.saved.expired": "已过期",
    "trail.saved.quick": "10 秒内批准",
    "trail.invalid": "未进行搜索：“{field}”无法识别。以下为全部内容。",
    "trail.not": "文字搜索的范围是审计记录：何人、原因、备注，以及付款的收款方和金额。其他参数、智能体自述和执行结果"
    "无法搜索，它们在存储时可能已加密。",
    "trail.nothing": "在本次查找的范围内没有找到。",
    "trail.onward": "继续向前查找（{at} 以前）",
    "trail.end": "已到最早保存的请求。",
    "trail.csv": "导出 CSV（一次查找，最多 {most} 行）",
    "trail.verify": "审计记录是否完整？",
    "trail.verify.why": "逐条核对每个事件的哈希，重放全部事件，并与数据库中的记录比对。"
    "同时掌握数据库和密钥的人可以全部重写，请将链头另行记录。",
    "trail.verify.now": "立即核验",
    "trail.verify.running": "{at} 开始，目前已核对 {seen} 个事件。",
    "trail.verify.failed": "{at} 开始，核对 {seen} 个事件后中断，没有结论，请重试。",
    "trail.verify.broken": "{at} 开始：不完整。已核对 {seen} 个事件，有 {count} 处不符：",
    "trail.verify.whole": "{at} 开始：已核对 {seen} 个事件，链条完整，数据库中的记录与之相符。",
    "trail.verify.head": "链头：",
    "trail.verify.witness": "已与 {witness} 比对。",
    "trail.verify.no_witness": "未与数据库之外的任何记录比对：末尾若被截去将无法发现。",
    "trail.verify.cut": "从最近一次截断之后开始核对；`assent audit verify --segments` 可核对全部。",
}

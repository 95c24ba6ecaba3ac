"""The demo's own words, in both languages: its page speaks one of them at a time. Cards and pages bring their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.text.language import Language

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Mapping[str, tuple[str, str]] = {
    # --- the page ---
    "title": ("Assent · demo", "Assent · 演示"),
    "pitch": ("An AI agent wants to pay a supplier.", "AI 智能体要给供应商付款。"),
    "pitch.bold": ("It cannot, until a person says yes.", "有人同意之前，它付不了。"),
    "you": ("You are", "您是"),
    "language": ("Language", "语言"),
    "role.wang": ("finance lead", "财务主管"),
    "role.li": ("owns the agent", "智能体负责人"),
    "role.mallory": ("not an approver", "无审批权"),
    "feishu": ("Feishu", "飞书"),
    "feishu.room": ("Payment approvals", "付款审批群"),
    "feishu.bot": ("BOT", "机器人"),
    "feishu.own": ("Direct message · only you see it", "单聊 · 只有您看得到"),
    "feishu.error": ("Something went wrong, please try again later. code: 200340", "出错了，请稍后重试 code: 200340"),
    "slack.note": ("Only visible to you", "仅您可见"),
    "slack.own": ("Direct message to you", "发给您的私信"),
    "slack.app": ("APP", "应用"),
    "slack.edited": ("(edited)", "（已编辑）"),
    "slack.today": ("today at", "今天"),
    "slack.person": ("Select a person", "选择人员"),
    "slack.optional": ("(optional)", "（可选）"),
    "close": ("Close", "关闭"),
    "console": ("Console", "控制台"),
    "console.inbox": ("Inbox", "收件箱"),
    "console.newest": ("This request", "当前请求"),
    "console.tab": ("Own tab ↗", "新标签页 ↗"),
    "console.tab.why": (
        "Makes a sign-in link that works once, as `assent link` does, and opens it in a tab of its own.",
        "如 assent link 一样生成一次性登录链接，并在新标签页打开。",
    ),
    "console.away": ("The gateway does not answer: it has no page to show.", "网关没有响应，无页面可显示。"),
    "console.nobody": (
        "is not in the gateway’s file: no link signs in whom it does not know.",
        "不在网关的配置文件中：无法为其生成登录链接。",
    ),
    "app.of": ("Li Lei’s authenticator app", "李雷的验证器应用"),
    "app.used": ("used · the next one in", "已用 · 距下一个还有"),
    "behind": ("Behind the scenes", "幕后"),
    "gateway": ("Gateway", "网关"),
    "agent": ("Agent", "智能体"),
    "executor": ("Executor", "执行器"),
    "machine.running": ("pid {pid}", "进程 {pid}"),
    "machine.starting": ("starting…", "启动中…"),
    "machine.killed": ("killed", "已被杀死"),
    "machine.ended": ("ended with {code}", "已退出，代码 {code}"),
    "machine.none": ("not started", "未启动"),
    "start": ("Start it", "启动"),
    "ask": ("Ask the agent to…", "让智能体去…"),
    "log": ("The agent", "智能体"),
    "ledger": ("The bank’s ledger", "银行账本"),
    "ledger.none": ("Nothing was paid.", "没有任何付款。"),
    "ledger.rule": ("allowed by a rule", "规则放行"),
    "ledger.grant": ("grant", "批准"),
    "trail": ("Audit trail", "审计记录"),
    "ended": ("The demo has ended.", "演示已结束。"),
    "loading": ("Starting…", "启动中…"),
    "queue.one": ("1 order waits: ", "1 条指令在等待："),
    "queue.many": ("{count} orders wait: ", "{count} 条指令在等待："),
    "queue.dead": ("the agent is not running.", "智能体未运行。"),
    "queue.busy": ("the agent is busy.", "智能体正忙。"),
    "queue.busy.with": ("the agent is busy with #{number}.", "智能体正在处理 #{number}。"),
    # --- who speaks in the agent's log ---
    "log.user": ("User", "用户"),
    "log.assistant": ("Model", "模型"),
    "log.calls": ("Calls", "调用"),
    "log.tool": ("Answer", "结果"),
    "log.resumes": ("Resumes", "恢复"),
    "log.waits": ("Waits", "等待"),
    "log.asked": ("Asked", "被问"),
    "log.holds": ("Holds", "暂停"),
    "log.error": ("Error", "错误"),
    "log.started": ("started,", "已启动，"),
    "log.held": ("Waits for people until {until} UTC, code {code}.", "等待审批，截止 {until} UTC，确认码 {code}。"),
    "log.settled": ("No longer waits: {state}.", "不再等待：{state}。"),
    "log.open": ("a call of mine was open when I was killed", "我被杀死时，有一个调用尚未完成"),
    # --- the four steps, and where the newest call stands ---
    "step.1": ("The agent asks", "智能体请求"),
    "step.2": ("On hold, cards sent", "暂停，已发卡片"),
    "step.3": ("A person decides", "由人决定"),
    "step.4": ("It runs once, or not at all", "执行一次，或不执行"),
    "none": ("The agent is starting; its first payment comes in a moment.", "智能体正在启动，第一笔付款马上就到。"),
    "held": ("The call is on hold; its cards are on their way.", "调用已暂停，卡片正在发送。"),
    "wait": (
        "Press Approve or Deny: in either chat, or in the console. Or kill something first: nothing gets lost.",
        "请批准或拒绝：在任一聊天或控制台均可。也可先杀掉某个进程：什么都不会丢。",
    ),
    "wait.other": (
        "This one is Wang Fang’s to decide: what you press does not count, and the trail says that you tried.",
        "此项由王芳决定：您点了不算数，审计记录会留下您的尝试。",
    ),
    "wait.own": (
        "You own this agent and are alone with it: decide in the console, with the code and your app’s six digits.",
        "智能体归您所有，且只有您能定：请在控制台输入确认码和验证器的六位数字。",
    ),
    "wait.L2": (
        "A click is not enough here: type the amount or the card’s code, then approve. Or deny.",
        "这里点一下还不够：请输入金额或卡片上的确认码再批准，或拒绝。",
    ),
    "wait.L3": (
        "Li Lei is alone with this one. Be Li Lei: in the console, with the code and his app’s six digits.",
        "此项只有李雷能定。请切换为李雷，在控制台输入确认码和验证器的六位数字。",
    ),
    "wait.gateway": (
        "The gateway is dead; the question is not lost. Start it, and decide.",
        "网关已死，请求没有丢。启动它，再决定。",
    ),
    "wait.starting": ("The gateway starts…", "网关启动中…"),
    "wait.agent": (
        "The agent is dead, its question still stands. Decide now, and start it afterwards.",
        "智能体已死，请求仍然有效。现在决定，之后再启动它。",
    ),
    "approved": ("Approved. It is about to run.", "已批准，即将执行。"),
    "approved.gateway": (
        "Approved, and the gateway is dead. Start it: the approval is in the database.",
        "已批准，但网关已死。启动它：批准保存在数据库里。",
    ),
    "approved.agent": (
        "Approved while the agent is dead. Start the agent: it runs, once.",
        "批准时智能体已死。启动智能体：只执行一次。",
    ),
    "approved.executor": (
        "Approved while the executor is dead. Start the executor: it pays, once.",
        "批准时执行器已死。启动执行器：只付一次。",
    ),
    "runs": ("The approval is taken: it runs now.", "批准已被领取，正在执行。"),
    "runs.booked": (
        "The bank has booked it and is slow to say so: kill -9 the executor, now!",
        "银行已入账，但迟迟未答复：现在就 kill -9 执行器！",
    ),
    "runs.dead.booked": (
        "The bank has booked it; the executor died before it could say so. In ten seconds its time is over.",
        "银行已入账，执行器还没来得及报告就死了。十秒后期满。",
    ),
    "runs.dead": (
        "Whoever took the approval died. The ledger has no line for it; the gateway will say that it does not know.",
        "领取批准的进程已死。账本里没有这一笔；网关会说：结果未知。",
    ),
    "runs.dead.paid": (
        "Whoever took the approval died after it had paid: the ledger has it. It is not run again.",
        "领取批准的进程付款后死亡：账本里有这一笔。不会再次执行。",
    ),
    "paid": ("Paid once, exactly as approved: {what}.", "已付一次，与批准的完全一致：{what}。"),
    "paid.settled": ("Every card is settled.", "所有卡片均已办结。"),
    "paid.other": (
        "Reported as done, but the ledger does not have exactly what was approved. Look there.",
        "报告为完成，但账本与批准的不一致，请查看账本。",
    ),
    "paid.against": (
        "The ledger has a line for it although no approval of it stands. Look there.",
        "没有有效批准，账本里却有这一笔，请查看账本。",
    ),
    "ran": ("It ran, once, as approved.", "已按批准执行一次。"),
    "failed": ("It failed: nothing was paid for this one.", "执行失败：这一笔没有付款。"),
    "failed.booked": (
        "Reported as failed, yet the ledger has it. Look there.",
        "报告为失败，但账本里有这一笔，请查看账本。",
    ),
    "failed.ran": ("It failed. It is not tried again.", "执行失败，不会重试。"),
    "denied": (
        "Denied. The agent is told no, and why. This one was not paid.",
        "已拒绝，并告知智能体原因。这一笔没有付款。",
    ),
    "denied.agent": (
        "Denied, and not paid. The agent is dead; it is told when it starts.",
        "已拒绝，没有付款。智能体已死，启动后会被告知。",
    ),
    "denied.ran": ("Denied. The agent is told no, and why. Nothing ran.", "已拒绝，并告知智能体原因。没有执行。"),
    "expired": (
        "Nobody decided in time. Silence is not consent: this one was not paid.",
        "逾期无人决定。沉默不是同意：这一笔没有付款。",
    ),
    "expired.ran": (
        "Nobody decided in time. Silence is not consent: nothing ran.",
        "逾期无人决定。沉默不是同意：没有执行。",
    ),
    "cancelled": ("The question was taken back: nothing was paid or run for it.", "请求已撤回：没有付款，也没有执行。"),
    "undeliverable": (
        "Nobody could be reached: nothing was paid or run for it.",
        "无法联系到任何人：没有付款，也没有执行。",
    ),
    "lapsed": (
        "Approved, but the approval was not used in time: nothing was paid or run for it.",
        "已批准，但逾期未使用：没有付款，也没有执行。",
    ),
    "revoked": (
        "Approved, but the approval was taken back before it was used: nothing was paid or run for it.",
        "已批准，但在使用前被收回：没有付款，也没有执行。",
    ),
    "unknown": (
        "The gateway does not know whether it was paid. The executor asks the bank, and runs nothing twice.",
        "网关不知道是否已付款。执行器会询问银行，绝不重复执行。",
    ),
    "unknown.dead": (
        "The gateway does not know whether it was paid. Start the executor: it asks the bank, and runs nothing twice.",
        "网关不知道是否已付款。启动执行器：它会询问银行，绝不重复执行。",
    ),
    "unknown.agent.booked": (
        "The agent died while it paid: the ledger has it. It is never run again.",
        "智能体在付款途中死亡：账本里有这一笔。绝不再次执行。",
    ),
    "unknown.agent": (
        "The agent died after it took the approval: the ledger has no line for it. It is never run again.",
        "智能体领取批准后死亡：账本里没有这一笔。绝不再次执行。",
    ),
    "reconciled": ("Settled afterwards: the bank says that it was paid, once.", "事后核实：银行确认已付，仅一次。"),
    "reconciled.not": ("Settled afterwards: it was not paid.", "事后核实：没有付款。"),
    "elsewhere": ("The service asks its own people; their answer is awaited.", "对方正在请其人员审批，等待答复。"),
    "allowed": (
        "A rule allowed this one and nobody was asked. It is not in the ledger yet.",
        "这一笔由规则放行，未询问任何人。账本里还没有。",
    ),
    "allowed.paid": (
        "A rule allowed this one and nobody was asked. It is paid.",
        "这一笔由规则放行，未询问任何人。已付款。",
    ),
    "refused": (
        "A rule refused this one: nobody was asked, and nothing was paid or run for it.",
        "规则拒绝了这一项：未询问任何人，没有付款，也没有执行。",
    ),
}
NAMES = {Language.EN: "English", Language.ZH: "中文"}


def say(language: Language, key: str, **values: object) -> str:
    """Return one sentence. Raises KeyError for one that is not in the table."""
    en, zh = _WORDS[key]
    return (zh if language is Language.ZH else en).format_map(values)


def words(language: Language) -> dict[str, str]:
    """Return all of them, as the page fills them in."""
    return {key: zh if language is Language.ZH else en for key, (en, zh) in _WORDS.items()}

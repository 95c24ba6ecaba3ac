"""Who did what when: the kinds of events, each with its sentences, and what an event keeps."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


_NAME = re.compile(r"[a-z][a-z_]{0,40}\.[a-z][a-z_]{0,40}")


class Kind(StrEnum):
    """What an event is about, and the sentence that tells it in each language.

    The names in a sentence are facts of the event, or one of the phrases that `told` makes of them. A sentence that
    begins with who did it can also stand beside their name.
    """

    en: str
    zh: str

    def __new__(cls, value: str, en: str, zh: str) -> Self:
        """Make a kind of its name in the trail and its sentences."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.en, kind.zh = en, zh
        return kind

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """Return a kind that only a newer release knows: while both run, its events are read here, too."""
        if not (isinstance(value, str) and _NAME.fullmatch(value)):
            return None
        kind = str.__new__(cls, value)
        kind._name_ = kind._value_ = value
        kind.en, kind.zh = f"what only a newer release can tell: {value}", f"仅新版本可说明的事件：{value}"
        return kind

    CREATED = (
        "request.created",
        "{actor} asked for {tool}{payment}{proved}; the rule {rule} {asks}{warned}",
        "{actor} 请求调用 {tool}{payment}{proved}；规则 {rule} {asks}{warned}",
    )
    VOTE = (
        "request.voted",
        "{actor} {voted} on {channel}{at_level}{alone}{because}",
        "{actor} 通过 {channel} {voted}{at_level}{alone}{because}",
    )
    APPROVED = (
        "request.approved",
        "{actor} approved on {channel}{at_level}{alone}; that was enough",
        "{actor} 通过 {channel} 批准{at_level}{alone}，至此获准",
    )
    DENIED = (
        "request.denied",
        "{actor} denied on {channel}, and that ended it{because}",
        "{actor} 通过 {channel} 拒绝，至此终止{because}",
    )
    EXPIRED = ("request.expired", "nobody decided in time: it expired", "逾期无人决定，已过期")
    CANCELLED = ("request.cancelled", "{actor} withdrew it{because}", "{actor} 撤回{because}")
    UNDELIVERABLE = ("request.undeliverable", "nobody could be reached{because}", "无法联系到任何审批人{because}")
    HANDED_OVER = ("request.handed_over", "{actor} handed over to {to}: {note}", "{actor} 转交给 {to}：{note}")
    APPROVER_ADDED = (
        "request.approver_added",
        "{actor} added {person}, who must approve as well: {note}",
        "{actor} 加签 {person}：{note}",
    )
    ASKED_BACK = ("request.asked_back", "{actor} asked: {text}", "{actor} 询问：{text}")
    ANSWERED = ("request.answered", "{actor} answered: {text}", "{actor} 回复：{text}")
    REMINDED = ("request.reminded", "{actor} reminded those who had not decided yet", "{actor} 提醒尚未决定的人")
    ESCALATED = (
        "request.escalated",
        "nobody had decided: {to} may decide it as well, and it was shown on {channels}",
        "无人决定，通过 {channels} 增请 {to}",
    )
    EXTENDED = ("request.extended", "{actor} gave people more time, until {until}", "{actor} 延长时限至 {until}")
    EDITED = (
        "request.edited",
        "{actor} changed the arguments; what was voted so far counts no longer",
        "{actor} 修改了调用内容，此前的表决不再有效",
    )
    REVIEWED = ("request.reviewed", "{actor} looked at all of it, by way of {via}", "{actor} 经由 {via} 查看了全部内容")
    LINK_MADE = ("person.link_made", "{actor} made a sign-in link for {person}", "{actor} 为 {person} 生成了登录链接")
    SIGNED_IN = (
        "person.signed_in",
        "{actor} signed in to the console, by way of {via}",
        "{actor} 经由 {via} 登录控制台",
    )
    SIGNED_OUT = (
        "person.signed_out",
        "{actor} signed out of the console; sessions: {sessions}",
        "{actor} 退出控制台，会话 {sessions} 个",
    )
    SIGNED_OUT_BY = ("person.signed_out_by", "{actor} signed {person} out", "{actor} 使 {person} 退出登录")
    TRAIL_READ = (
        "trail.read",
        "{actor} looked through the trail ({form}): {search}",
        "{actor} 查阅审计记录（{form}）：{search}",
    )
    RULES_READ = ("rules.read", "{actor} looked at the rules ({form}): {what}", "{actor} 查看规则（{form}）：{what}")
    REOPENED = (
        "request.reopened",
        "{actor} asked again for what had expired, as {successor}",
        "{actor} 对过期的请求重新发起，新请求为 {successor}",
    )
    SEALED = (
        "request.sealed",
        "{actor} sealed it as it stood, with the key {key_id}",
        "{actor} 按当时状态加封，密钥 {key_id}",
    )
    FORGED = (
        "request.forged",
        "ITS ROWS ARE NOT WHAT THE GATEWAY WROTE, and nothing is done with it: {why}",
        "数据库中的记录与网关写入的不符，拒绝处理：{why}",
    )
    CLAIMED = ("grant.claimed", "{actor} took the approval and began to run it", "{actor} 领取批准并开始执行")
    LAPSED = ("grant.lapsed", "the approval was not used in time and lapsed", "批准逾期未使用，已失效")
    REVOKED = ("grant.revoked", "the approval was taken back: {why}", "批准被收回：{why}")
    SUCCEEDED = ("execution.succeeded", "{actor} reported that it succeeded", "{actor} 报告执行成功")
    FAILED = ("execution.failed", "{actor} reported that it failed{of_error}", "{actor} 报告执行失败{of_error}")
    UNKNOWN = ("execution.unknown", "nobody knows whether it ran{of_error}", "是否执行尚不清楚{of_error}")
    PENDING_ELSEWHERE = (
        "execution.pending_elsewhere",
        "{actor} reported that the service asks its own people, as {elsewhere}",
        "{actor} 报告服务方正在请其人员审批：{elsewhere}",
    )
    RECONCILED = (
        "execution.reconciled",
        "{actor} settled what became of it: {status}",
        "{actor} 核实了执行结果：{status}",
    )
    ALLOWED = (
        "call.allowed",
        "{actor} was allowed {tool} by the rule {rule}",
        "{actor} 获准调用 {tool}，依据规则 {rule}",
    )
    REFUSED = ("call.refused", "{actor} was refused {tool} by {decided_by}", "{actor} 调用 {tool} 被{decided_by} 拒绝")
    CLICK_REFUSED = (
        "click.refused",
        "{actor} pressed on {channel}; it did not count ({why})",
        "{actor} 通过 {channel} 点击，未生效（{why}）",
    )
    CARD_HELD = ("card.held", "its card waits until {until}: {why}", "卡片推迟至 {until} 发送：{why}")
    CARD_POSTED = ("card.posted", "a card was posted to {channel}", "已向 {channel} 发送卡片")
    CARD_RETIRED = ("card.retired", "the card on {channel} was settled", "{channel} 上的卡片已办结")
    CARD_FAILED = ("card.failed", "a card could not be brought to {channel}: {why}", "无法将卡片送达 {channel}：{why}")
    CARD_BARE = (
        "card.bare",
        "{channel} refused what the card said; it goes there without the call: {why}",
        "{channel} 拒绝卡片内容，改发不含调用内容的卡片：{why}",
    )
    CARD_MISSING = (
        "card.missing",
        "{channel} took a card and does not show it; it is posted anew",
        "{channel} 已收下卡片但并未显示，将重新发送",
    )
    CARD_LATE = ("card.late", "a card to {channel} is late: {why}", "卡片尚未送达 {channel}：{why}")
    CARD_REROUTED = (
        "card.rerouted",
        "the card was brought to {channels} and {people} instead: {why}",
        "改由其他途径发送：{channels}，{people}；{why}",
    )
    KEY_CREATED = (
        "key.created",
        "{actor} made the {scope} key {key} ({label})",
        "{actor} 创建了 {scope} 密钥 {key}（{label}）",
    )
    KEY_REVOKED = ("key.revoked", "{actor} revoked the key {key}", "{actor} 吊销了密钥 {key}")
    POLICY_LOADED = (
        "policy.loaded",
        "the configuration {policy_version} came into force",
        "配置 {policy_version} 生效",
    )
    HOOK_BLOCKED = (
        "hook.blocked",
        "the hook {hook} stopped {actor} at {moment}: {reason}",
        "钩子 {hook} 在 {moment} 阻止了 {actor}：{reason}",
    )
    HOOK_FAULTED = (
        "hook.faulted",
        "a hook failed at {moment} of {actor}, which its on_error lets pass or asks about: {hooks}",
        "{actor} 的 {moment} 时有钩子出错，按其 on_error 放行或询问：{hooks}",
    )
    HOOK_NOTED = (
        "hook.noted",
        "a hook noted at {moment} of {actor}: {hooks}",
        "{actor} 的 {moment} 时有钩子留下记录：{hooks}",
    )
    SESSION_DETACHED = (
        "session.detached",
        "{actor} began the session {session}, which inherits nothing of {parent_agent}",
        "{actor} 开始会话 {session}，不继承 {parent_agent} 的任何内容",
    )
    EVALUATION_BYPASSED = (
        "evaluation.bypassed",
        "{actor} was allowed {tool} without people, in an evaluation run: {reason}",
        "{actor} 在评测中获准调用 {tool}，未经人工审批：{reason}",
    )
    SWITCH_SET = (
        "switch.set",
        "{actor} set {switch} to {state} for {agent}{of_tool}: {reason}",
        "{actor} 将 {agent}{of_tool} 的开关 {switch} 设为 {state}：{reason}",
    )
    LIFTED = (
        "request.lifted",
        "{actor} lifted the refusal: the call may be asked about again",
        "{actor} 解除拒绝，可再次发起",
    )
    APPROVER_LOCKED = (
        "approver.locked",
        "{actor} gave {failures} wrong codes for {what} and is locked until {until}",
        "{actor} 为 {what} 输错验证码 {failures} 次，锁定至 {until}",
    )
    FACTOR_INVITED = (
        "factor.invited",
        "{actor} invited {person} to set up a second factor",
        "{actor} 邀请 {person} 设置第二因素",
    )
    FACTOR_ADDED = ("factor.added", "{actor} set up a second factor", "{actor} 设置了第二因素")
    FACTOR_REMOVED = (
        "factor.removed",
        "{actor} took the second factor of {person} away",
        "{actor} 移除了 {person} 的第二因素",
    )
    PASSKEY_ADDED = ("passkey.added", "{actor} set up the passkey {passkey}", "{actor} 设置了通行密钥 {passkey}")
    PASSKEY_REMOVED = (
        "passkey.removed",
        "{actor} took the passkey {passkey} of {person} away",
        "{actor} 移除了 {person} 的通行密钥 {passkey}",
    )
    STANDING_PROPOSED = (
        "standing.proposed",
        "{actor} proposed the standing approval {standing}: {scope}",
        "{actor} 提议长期授权 {standing}：{scope}",
    )
    STANDING_CONFIRMED = (
        "standing.confirmed",
        "{actor} confirmed the standing approval {standing}: {scope}",
        "{actor} 确认长期授权 {standing}：{scope}",
    )
    STANDING_ALLOWED = (
        "standing.allowed",
        "{actor} allowed for the session, beside an approval, as the standing approval {standing}: {scope}",
        "{actor} 在批准的同时允许本会话内的后续调用，长期授权 {standing}：{scope}",
    )
    STANDING_SESSION_USED = (
        "standing.session_used",
        "{actor} used the standing approval {standing}, which {allowed_by} gave for the session: {used} of {uses}",
        "{actor} 使用 {allowed_by} 为本会话给出的长期授权 {standing}：第 {used} 次，共 {uses} 次",
    )
    STANDING_USED = (
        "standing.used",
        "{actor} used the standing approval {standing}: {used} of {uses}",
        "{actor} 使用长期授权 {standing}：第 {used} 次，共 {uses} 次",
    )
    STANDING_REVOKED = (
        "standing.revoked",
        "{actor} revoked the standing approval {standing}",
        "{actor} 撤销了长期授权 {standing}",
    )
    GLASS_PROPOSED = (
        "break_glass.proposed",
        "{actor} wants to break the glass, as {standing}: {scope}: {reason}",
        "{actor} 申请紧急放行 {standing}：{scope}：{reason}",
    )
    GLASS_BROKEN = (
        "break_glass.broken",
        "THE GLASS WAS BROKEN by {actor}, as {standing}, until {until}: {scope}: {reason}",
        "紧急放行已生效：{actor}，{standing}，至 {until}：{scope}：{reason}",
    )
    GLASS_USED = (
        "break_glass.used",
        "{actor} may run {tool} under the broken glass {standing}: nobody was asked",
        "{actor} 凭紧急放行 {standing} 获准执行 {tool}，未经任何人审批",
    )
    GLASS_ENDED = (
        "break_glass.ended",
        "{actor} ended the broken glass {standing}",
        "{actor} 结束了紧急放行 {standing}",
    )
    GLASS_REVIEWED = (
        "break_glass.reviewed",
        "{actor} reviewed what was done under the broken glass {standing}: {review}",
        "{actor} 复核了紧急放行 {standing} 期间的操作：{review}",
    )
    PAYEE_ADDED = (
        "payee.added",
        "{actor} put the payee {payee} into the register",
        "{actor} 将收款方 {payee} 加入名册",
    )
    PAYEE_REMOVED = (
        "payee.removed",
        "{actor} took the payee {payee} out of the register",
        "{actor} 将收款方 {payee} 移出名册",
    )
    ACCESS_REFUSED = (
        "access.refused",
        "{actor} tried {what} and was refused ({why})",
        "{actor} 尝试 {what}，被拒绝（{why}）",
    )
    REPLICAS_DIFFER = (
        "replicas.differ",
        "the gateways of this database differ: {matters}",
        "同一数据库的网关实例不一致：{matters}",
    )
    REPLICAS_AGREE = (
        "replicas.agree",
        "the gateways of this database agree again; they are {replicas}",
        "同一数据库的网关实例已恢复一致，共 {replicas} 个",
    )
    SECRET_KNOWN = (
        "secret.known",
        "from here on rows are sealed with the key {key_id}; {requests} that stood were sealed as they were",
        "自此使用密钥 {key_id} 加封；{requests} 条既有记录按原样加封",
    )
    FAILED_OVER = (
        "database.failed_over",
        "another server of the database took over (timeline {timeline}, epoch {epoch}); nothing was lost",
        "数据库已由另一台服务器接管（时间线 {timeline}，第 {epoch} 纪元），没有丢失",
    )
    COMMITS_LOST = (
        "database.commits_lost",
        "THE DATABASE LOST WHAT WAS COMMITTED: events {first} to {last}, of the requests {requests}",
        "数据库丢失了已提交的记录：事件 {first} 至 {last}，涉及请求 {requests}",
    )
    MEMBER_JOINED = ("member.joined", "{channel} has {person} in {groups}", "{channel} 中 {person} 属于 {groups}")
    MEMBER_LEFT = ("member.left", "{channel} has {person} in no group any more", "{channel} 中 {person} 已不在任何组")
    ALARM_RAISED = ("alarm.raised", "ALARM: {alarm}", "告警：{alarm}")
    ALARM_OVER = ("alarm.over", "the alarm is over: {alarm}", "告警解除：{alarm}")
    VALUES_ENCRYPTED = (
        "values.encrypted",
        "what the calls of {requests} requests carry stood in clear, and was encrypted where it stands",
        "{requests} 条请求的调用内容此前以明文保存，现已就地加密",
    )
    VALUES_DESTROYED = (
        "values.destroyed",
        "{actor} destroyed what all calls until here carried, with the keys {keys}: {reason}",
        "{actor} 销毁密钥 {keys}，此前所有调用的内容不可再读：{reason}",
    )
    ROWS_REMOVED = (
        "rows.removed",
        "removed, as retention says, of before {until}: {requests} requests, {deliveries} cards, {outbox} errands",
        "按保留期限删除了 {until} 之前的记录：请求 {requests} 条、卡片 {deliveries} 张、发送任务 {outbox} 条",
    )
    TRAIL_CUT = (
        "trail.cut",
        "{actor} cut the trail off behind event {last}: events {first} to {last} are in {file}",
        "{actor} 将事件 {first} 至 {last} 导出到 {file}，并从数据库中移除",
    )
    WEBHOOK_SKIPPED = (
        "webhook.skipped",
        "the receiver {webhook} was never told of the events {first} to {last}: they were cut off before it came back",
        "接收方 {webhook} 未收到事件 {first} 至 {last}：在其恢复之前，这些事件已被移出数据库",
    )
    RESTORED = (
        "trail.restored",
        "{actor} declared that the database was restored from a backup (epoch {epoch}): {reason}",
        "{actor} 声明数据库已从备份恢复（第 {epoch} 纪元）：{reason}",
    )


class Record(Struct, frozen=True, kw_only=True):
    """What is to be said of one act.

    `facts` are texts, whole numbers, true, false, null, lists of them and objects of them with plain ASCII names; they
    hold no sensitive value.
    """

    kind: Kind
    actor: str  # e-mail of a person, "agent:<name>", "key:<id>" or "system"
    facts: Mapping[str, object]


class AuditEvent(Struct, frozen=True, kw_only=True):
    """One link of an org's chain."""

    org: str
    seq: int
    id: str
    at: datetime
    record: Record
    request_id: str | None
    request_version: int | None  # set on the one event of each change of a request
    prev_hash: str
    hash: str

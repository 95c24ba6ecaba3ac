"""Why a press, a vote or a code did not count, as the trail's reader is told it; the events keep the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.text.language import Language

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Mapping[str, tuple[str, str]] = {
    # Where it was pressed.
    "stale": ("the card is not the live one", "卡片已失效"),
    "copy": ("it was a second copy of the card", "卡片的重复副本"),
    "other_secret": ("the card was signed with a key that this gateway does not know", "卡片签名所用的密钥未知"),
    "lacking_secret": ("its secret is not given to this gateway", "本网关没有封存它的密钥"),
    "unsealed": ("what is stored is not what was asked", "存储的内容与申请不符"),
    "retry": ("where the card is was not known yet", "尚不知卡片位置"),
    "broken_off": (
        "the gateway that posted the card had ended before it knew where it is",
        "发送卡片的网关已中断，尚不知卡片位置",
    ),
    # Who pressed.
    "unmapped": ("the account is nobody who is known", "账号未对应任何人"),
    "email_unverified": ("the platform vouches for no e-mail of theirs that counts", "平台未核实其可用的邮箱"),
    "email_taken": ("their e-mail is another account's here", "其邮箱在此属于另一账号"),
    "inactive": ("the account is a guest's, a bot's or deactivated", "账号为访客、机器人或已停用"),
    "unknown": ("the platform does not say whether the account is active", "平台未说明账号是否有效"),
    "unverified": ("the account could not be confirmed just now", "暂时无法确认账号"),
    "not_eligible": ("this person does not decide it", "此人无权决定"),
    "barred": ("it is their own request, or their agent's", "本人或其智能体提出的申请"),
    "barred_editor": ("they changed the call themselves", "本人修改过调用内容"),
    "over_limit": ("it is above what they may approve", "超出其批准额度"),
    "no_view": ("they may not see all of it", "无权查看全部内容"),
    # What it takes.
    "step_up": ("it takes a typed code or a second factor", "需要输入验证码或第二因素"),
    "wrong_code": ("what was typed does not stand on the card", "输入内容与卡片不符"),
    "wrong_totp": ("the code of the second factor was wrong", "第二因素验证码错误"),
    "used_totp": ("the code of the second factor was used before", "第二因素验证码已用过"),
    "unreadable_factor": ("the second factor cannot be read: its secret is another one's", "第二因素无法读取"),
    "wrong_invitation": ("the invitation was wrong or over", "邀请码错误或已失效"),
    "wrong_passkey": ("the passkey did not sign this", "通行密钥签署的不是此内容"),
    "other_passkey_challenge": ("the passkey signed something else", "通行密钥签署的是其他内容"),
    "old_passkey_challenge": ("the passkey's answer was too old, or used before", "通行密钥的应答已过期或已用过"),
    "no_such_passkey": ("the passkey is not theirs, or not any more", "通行密钥不属于此人或已移除"),
    "copied_passkey": (
        "THE PASSKEY WAS COPIED: it counts fewer signatures than before",
        "通行密钥疑被复制：签名计数倒退",
    ),
    "nobody_of_the_file": ("the file does not have this person", "配置中没有此人"),
    "locked": ("they are locked after wrong codes", "输错次数过多，已锁定"),
    # When, and what.
    "outdated": ("today's rules would not let it run", "按现行规则不得执行"),
    "already_settled": ("it was settled by then", "申请已办结"),
    "repeated": ("they had said the same before", "重复表决"),
    "no_vote": ("there was no vote to take back", "没有可撤回的表决"),
    "too_early": ("it was too early", "为时过早"),
    "too_soon": ("it was too soon to have been read", "时间过短，不足以阅读"),
    "too_often": ("it was done often enough", "次数已达上限"),
    "unsuitable": ("the person who was named cannot decide it", "所选人员无法决定"),
    "no_question": ("there is no open question", "没有待回复的问题"),
    "edit_none": ("there is nothing to change", "没有可修改的内容"),
    "edit_withheld": ("what would be changed is not all shown there", "修改内容未能完整显示"),
    "edit_refused": ("the changed call was not allowed", "修改后的调用未获允许"),
    "not_approved": ("it is not approved", "尚未批准"),
    "revoked": ("too few of those who approved may still approve", "仍有效的批准不足"),
    "already_claimed": ("it was taken already", "批准已被领取"),
    "grant_lapsed": ("the approval was not used in time, or was taken back", "批准已逾期或已被收回"),
    "not_started": ("it has not begun", "尚未开始执行"),
    "outcome_conflict": ("something else was reported before", "此前已报告其他结果"),
}


def refused_words(code: str, language: Language) -> str:
    """Return why something did not count, in words; the code itself where an older or newer gateway wrote another."""
    en, zh = _WORDS.get(code, (code, code))
    return en if language is Language.EN else zh

"""What is said about what an approval takes: typed codes, second factors, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "level.L2": "Takes: a typed code",
    "level.L3": "Takes: a second factor",
    "level.L4": "Takes: two people with their second factor",
    "footer.level": "{footer} · {level}",
    "typed.code": "The card's code",
    "typed.either": "The code or the amount",
    "typed.hint": "As it stands on the card",
    "withheld.L3": "No click approves this. Approve it with your second factor, in a terminal: "
    "assent requests approve {request} (L3). You can deny it here.",
    "withheld.L4": "No click approves this. It takes two people, each with their second factor, in a terminal: "
    "assent requests approve {request} (L4). You can deny it here.",
    "withheld.L3.page": "No click approves this. Press “{control}”, and approve it there with your second factor (L3). "
    "You can deny it here.",
    "withheld.L4.page": "No click approves this. It takes two people: each presses “{control}”, and approves it there "
    "with their second factor (L4). You can deny it here.",
    "approved.headline": "You approved this",
    "approved.notice": "You approved this with your second factor at {at}. {then}",
    "approved.note": "You approved “{title}” with your second factor at {at}. {then}",
    "approved.then.page": "If that was not you, take it back at once on {page}: that stops it as long as it has not "
    "been taken to be run. And tell whoever runs the gateway.",
    "approved.then.terminal": "If that was not you, take it back at once, in a terminal: assent requests withdraw "
    "{request}. That stops it as long as it has not been taken to be run. And tell whoever runs the gateway, who can "
    "stop all that follows: assent pause.",
    "approved.then.ran": "It has been taken to be run, and can no longer be stopped here. If that was not you, tell "
    "whoever runs the gateway at once, who can stop all that follows: assent pause.",
    "approved.then.ended": "It will not run: that approval is over. If it was not you, tell whoever runs the gateway.",
    "click.type_needed": "Nothing was recorded: type the code of the card, and then approve.",
    "click.wrong_code": "That is not what stands on the card. Tries left: {left}.",
    "click.looked_at": "That was looked at already, and it is not what stands on the card.",
    "click.locked": "Too many wrong tries: nothing more is taken from you here until {until}. You can still deny, and "
    "others can decide.",
    "click.edited_press": "Changed. Now approve it on the card, as it stands there now.",
    "click.edited_step_up": "Changed. Now approve it on the card: type the code that stands there now, or the amount.",
    "click.edited_factor": "Changed. The changed call takes a second factor: the card says how to approve it.",
    "click.step_up": "Approving this takes more than a click. The request still waits.",
}

ZH: Mapping[str, str] = {
    "level.L2": "需要：输入核对码",
    "level.L3": "需要：二次验证",
    "level.L4": "需要：两人分别通过二次验证",
    "footer.level": "{footer} · {level}",
    "typed.code": "卡片核对码",
    "typed.either": "核对码或金额",
    "typed.hint": "按卡片所示输入",
    "withheld.L3": "点击不能批准此请求。请通过二次验证批准，在终端运行 assent requests approve {request}（L3）。"
    "可在此拒绝。",
    "withheld.L4": "点击不能批准此请求。需要两人分别通过二次验证批准，"
    "在终端运行 assent requests approve {request}（L4）。可在此拒绝。",
    "withheld.L3.page": "点击不能批准此请求。请点击“{control}”，并在打开的页面上通过二次验证批准（L3）。可在此拒绝。",
    "withheld.L4.page": "点击不能批准此请求。需要两人分别点击“{control}”，并在打开的页面上通过二次验证批准（L4）。"
    "可在此拒绝。",
    "approved.headline": "您已批准",
    "approved.notice": "您已于 {at} 通过二次验证批准。{then}",
    "approved.note": "您已于 {at} 通过二次验证批准“{title}”。{then}",
    "approved.then.page": "如非本人操作，请立即在 {page} 撤回：只要尚未被领取执行，即可阻止。并请联系网关管理员。",
    "approved.then.terminal": "如非本人操作，请立即在终端运行 assent requests withdraw {request} 撤回："
    "只要尚未被领取执行，即可阻止。并请联系网关管理员，由其运行 assent pause 阻止后续调用。",
    "approved.then.ran": "该调用已被领取执行，此处无法再阻止。如非本人操作，请立即联系网关管理员，"
    "由其运行 assent pause 阻止后续调用。",
    "approved.then.ended": "该调用不会执行，此批准已失效。如非本人操作，请联系网关管理员。",
    "click.type_needed": "未做任何记录：请先输入卡片上的核对码，再批准。",
    "click.wrong_code": "与卡片所示不符，还可尝试 {left} 次。",
    "click.looked_at": "刚才已核对过，与卡片所示不符。",
    "click.locked": "输入错误次数过多：{until} 之前不再接受您的批准。您仍可拒绝，其他人仍可决定。",
    "click.edited_press": "已修改。请按卡片现在的内容在卡片上批准。",
    "click.edited_step_up": "已修改。请在卡片上批准：输入卡片上的新核对码或金额。",
    "click.edited_factor": "已修改。修改后的调用需要二次验证，批准方法见卡片。",
    "click.step_up": "批准此请求不能只凭点击。请求仍在等待。",
}

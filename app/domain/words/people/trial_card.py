"""What a card says that tests a channel, and what is said of each step on which it is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "trial.title": "TEST of this channel: press Approve or Deny. Nothing runs because of it.",
    "trial.label": "This is a test",
    "trial.says": "Nothing is asked and nothing will run, whatever you press. It shows that cards arrive here and that "
    "your press is heard.",
    "trial.why": "Somebody who runs Assent tests this channel.",
    "trial.post": "Post a test card to {channel}",
    "trial.page": "Test card for {channel}",
    "trial.page.why": "The card says that it is a test; nothing runs because of it. Press it there, then look again.",
    "trial.again": "Look again",
    "trial.posted": "posted: {channel} took it",
    "trial.posting": "not posted yet",
    "trial.not_posted": "not posted: {why}",
    "trial.shown": "shown: the platform was asked for it",
    "trial.refused": "pressed by {who}, and it did not count: {why}",
    "trial.pressed": "pressed by {who}, and it counted",
    "trial.waits": "nobody has pressed it yet, in a way that counts",
    "trial.settled": "settled: the card says how it ended. This channel works",
    "trial.unsettled": "the card does not say yet how it ended",
    "trial.account": "the account {account}",
    "trial.mend": "To mend: {mend}",
    "trial.mend.not_posted": "is a gateway running on this database, with this file? It posts the card; "
    "`assent doctor` asks the platform",
    "trial.mend.not_pressed": "if somebody pressed, it did not reach the gateway: see the address, or the long "
    "connection, that the platform's app has for card actions, and `assent doctor`",
    "trial.mend.not_settled": "the press counted, and the platform did not take the change of the card: see "
    "`assent outbox list`",
    "trial.mend.unmapped": "nobody of the file has this account: write it under `people`, or the e-mail that it has "
    "there",
    "trial.mend.not_eligible": "this person is in no group of the file: nobody could ask them about anything",
    "trial.mend.inactive": "guests, bots and deactivated accounts count for nothing",
    "trial.mend.unknown": "the platform's app may not see who is active: `assent doctor` names the right that it lacks",
    "trial.mend.unverified": "the platform did not answer who this is: press again; `assent doctor` asks it, too",
    "trial.mend.other": "docs/approvers.md says who may",
}

ZH: Mapping[str, str] = {
    "trial.title": "渠道测试：请按“批准”或“拒绝”。不会因此执行任何操作。",
    "trial.label": "这是一次测试",
    "trial.says": "没有任何请求，无论按哪个按钮都不会执行任何操作。测试只为确认卡片能送达此处，并且能收到您的点击。",
    "trial.why": "运维人员正在测试此渠道。",
    "trial.post": "向 {channel} 发送测试卡片",
    "trial.page": "{channel} 的测试卡片",
    "trial.page.why": "卡片上注明这是测试，不会因此执行任何操作。请在群里按下按钮，然后再查看。",
    "trial.again": "再查看一次",
    "trial.posted": "已发送：{channel} 已接收",
    "trial.posting": "尚未发送",
    "trial.not_posted": "未能发送：{why}",
    "trial.shown": "已显示：已向平台查询",
    "trial.refused": "{who} 已点击，但未计入：{why}",
    "trial.pressed": "{who} 已点击，并已计入",
    "trial.waits": "尚无人做出有效点击",
    "trial.settled": "已办结：卡片已显示结果。此渠道工作正常",
    "trial.unsettled": "卡片尚未显示结果",
    "trial.account": "账号 {account}",
    "trial.mend": "处理方法：{mend}",
    "trial.mend.not_posted": "此数据库上是否有使用该配置文件的网关在运行？卡片由网关发送；"
    "可用 `assent doctor` 询问平台",
    "trial.mend.not_pressed": "如已有人点击，说明点击未到达网关：请检查平台应用的卡片回调地址或长连接，"
    "并运行 `assent doctor`",
    "trial.mend.not_settled": "点击已计入，但平台未接受卡片的更新：请查看 `assent outbox list`",
    "trial.mend.unmapped": "配置文件中没有人使用此账号：请在 `people` 中填写该账号，或其在平台上的邮箱",
    "trial.mend.not_eligible": "此人不在配置文件的任何群组中，不会被询问任何事项",
    "trial.mend.inactive": "访客、机器人和已停用的账号不计入",
    "trial.mend.unknown": "平台应用无权查看账号是否有效：`assent doctor` 会指出缺少的权限",
    "trial.mend.unverified": "平台未能确认此人身份：请重新点击；也可用 `assent doctor` 询问",
    "trial.mend.other": "参见 docs/approvers.md",
}

MENDS = frozenset(key.rpartition(".")[2] for key in EN if key.startswith("trial.mend."))

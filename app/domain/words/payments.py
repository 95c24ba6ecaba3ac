"""What is said about payments: what a card warns of, batches and their totals, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "caution.new_account": "New bank details of {payee}: …{now}, last time …{before}.",
    "caution.new_account.other": "New bank details for {payee}: nobody here has paid into this account before.",
    "caution.new_account.none": "New bank details for {payee}: they were paid into an account, and this names none.",
    "caution.first_payee": "Nobody here has paid {payee} before.",
    "caution.duplicate": "Looks like a duplicate: {amount} to {payee}{reference} is twice in this call.",
    "caution.duplicate.asked": "Looks like a duplicate: {amount} to {payee}{reference} was asked for on {at}.",
    "caution.duplicate.paid": "Looks like a duplicate: {amount} to {payee}{reference} was paid on {at}.",
    "caution.duplicate.allowed": "Looks like a duplicate: {amount} to {payee}{reference} was let through unasked on "
    "{at}; whether it was paid is not known.",
    "caution.duplicate.reference": ", reference {reference},",
    "caution.over_budget": "{over} over budget {budget}{payee}: {spent} of {limit} asked for or paid in {span}, "
    "this adds {adds}.",
    "caution.over_budget.count": "{over} over budget {budget}{payee}: {made} of {count} payments asked for or made "
    "in {span}, this adds {adds}.",
    "caution.over_budget.currency": "Over budget {budget}{payee}: it has no limit for {currency}.",
    "caution.over_budget.untold": "Over budget {budget}.",
    "caution.over_budget.payee": " for {payee}",
    "caution.off_hours": "This was asked outside of working hours.",
    "caution.request": "Earlier request",
    "caution.more": "And {count} more of this kind.",
    "short.new_account": "New bank details",
    "short.first_payee": "First payment to them",
    "short.duplicate": "Looks like a duplicate",
    "short.over_budget": "Over budget",
    "short.off_hours": "Out of hours",
    "short.near_denied": "Denied before",
    "short.paused": "Paused",
    "short.look": "Odd characters",
    "short.decimals": "Too many decimals",
    "short.unsearched": "Not searched whole",
    "short.more": "More of this kind",
    "batch.total": "Total ({count})",
    "batch.payees": "Payees ({count})",
    "batch.payments": "Each payment",
    "batch.separator": ", ",
}

ZH: Mapping[str, str] = {
    "caution.new_account": "{payee} 的收款账户有变：本次 …{now}，上次 …{before}。",
    "caution.new_account.other": "{payee} 的收款账户有变：此前无人向该账户付过款。",
    "caution.new_account.none": "{payee} 的收款账户有变：以往写明账户，本次未写明。",
    "caution.first_payee": "首次向 {payee} 付款，此前无人付过。",
    "caution.duplicate": "疑似重复付款：本次调用中有两笔 {amount} 付给 {payee}{reference}。",
    "caution.duplicate.asked": "疑似重复付款：{at} 已申请过 {amount} 付给 {payee}{reference}。",
    "caution.duplicate.paid": "疑似重复付款：{at} 已支付过 {amount} 给 {payee}{reference}。",
    "caution.duplicate.allowed": "疑似重复付款：{at} 已直接放行 {amount} 付给 {payee}{reference}，是否付出未知。",
    "caution.duplicate.reference": "（单号 {reference}）",
    "caution.over_budget": "超出预算 {budget}{payee} {over}：{span}内已申请或已付 {spent} / {limit}，本次再加 {adds}。",
    "caution.over_budget.count": "超出预算 {budget}{payee} {over} 笔：{span}内已申请或已付 {made} / {count} 笔，"
    "本次再加 {adds} 笔。",
    "caution.over_budget.currency": "超出预算 {budget}{payee}：未设 {currency} 的限额。",
    "caution.over_budget.untold": "超出预算 {budget}。",
    "caution.over_budget.payee": "（收款方 {payee}）",
    "caution.off_hours": "此请求在工作时间以外提出。",
    "caution.request": "此前的请求",
    "caution.more": "另有 {count} 条同类提醒。",
    "short.new_account": "收款账户有变",
    "short.first_payee": "首次付款",
    "short.duplicate": "疑似重复付款",
    "short.over_budget": "超出预算",
    "short.off_hours": "非工作时间",
    "short.near_denied": "曾被拒绝",
    "short.paused": "已暂停",
    "short.look": "异常字符",
    "short.decimals": "小数位过多",
    "short.unsearched": "未全部检查",
    "short.more": "另有同类警告",
    "batch.total": "{count} 笔合计",
    "batch.payees": "收款方（{count}）",
    "batch.payments": "逐笔明细",
    "batch.separator": "、",
}

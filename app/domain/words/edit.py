"""What is said about an approval with changes, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "click.edit_withheld": "This card cannot show the whole call, so it cannot be approved here, changed or not.",
    "form.edit": "Change what needs changing. The changed call is checked again and needs its own approvals; earlier "
    "ones no longer count. If you do more than lower an amount, somebody else must approve it.",
    "form.edit_whole": "A whole number, without separators",
    "form.edit_truth": "true or false",
    "click.edit_whole": "Nothing changed: {field} must be a whole number, such as 80000.",
    "click.edit_truth": "Nothing changed: {field} must be true or false.",
    "click.edit_empty": "Nothing changed: {field} must not be empty.",
    "click.edit_long": "Nothing changed: {field} may have at most 500 characters.",
    "click.edit_hidden": "Nothing changed: {field} has characters that nobody could see.",
    "click.edit_form": "Nothing changed: the form is no longer that of this request. Please open it again.",
    "click.edit_none": "Nothing of this request can be changed here. Please use the gateway's API.",
    "click.edit_refused": "Nothing changed: {why}",
    "click.edit_unreachable": "Nothing changed: nobody else could approve it then.",
    "click.edit_builds_on": "Nothing changed: {person} has changed this before. Undo or replace that as well, or "
    "decide on it as it stands.",
    "click.edit_again": "Nothing changed: the rules changed at this moment. Please try again.",
    "click.edited": "Changed and approved. It may run once now, as changed.",
    "click.edited_counted": "Changed, and your approval counts: {have} of {need}; more are needed.",
    "click.barred_editor": "You changed this call: somebody else must decide it. The request still waits.",
    "click.edited_other": "Changed. As the change is yours, somebody else must approve it.",
    "click.edited_waits": "Changed. The changed call must be approved by others: you may not approve it.",
    "click.edited_read_first": "Changed. Read it once more on the card, then approve it there.",
}

ZH: Mapping[str, str] = {
    "click.edit_withheld": "此卡片无法完整显示这次调用，因此无论是否修改，都不能在此批准。",
    "form.edit": "请修改需要更改的内容。修改后的调用会重新检查并重新审批，之前的批准不再有效。"
    "除调低金额外的任何修改，都须由他人批准。",
    "form.edit_whole": "整数，不带分隔符",
    "form.edit_truth": "是 或 否",
    "click.edit_whole": "没有变化：{field} 必须是整数，例如 80000。",
    "click.edit_truth": "没有变化：{field} 必须填“是”或“否”。",
    "click.edit_empty": "没有变化：{field} 不能为空。",
    "click.edit_long": "没有变化：{field} 最多 500 个字符。",
    "click.edit_hidden": "没有变化：{field} 含有不可见的字符。",
    "click.edit_form": "没有变化：表单与该请求已不一致，请重新打开。",
    "click.edit_none": "该请求的内容无法在此修改，请使用网关 API。",
    "click.edit_refused": "没有变化：{why}",
    "click.edit_unreachable": "没有变化：这样修改后将没有其他人可以批准。",
    "click.edit_builds_on": "没有变化：{person} 已修改过此请求。请一并撤销或替换该修改，或按现状决定。",
    "click.edit_again": "没有变化：规则恰好在此刻更新，请重试。",
    "click.edited": "已修改并批准。现在可以按修改后的内容执行一次。",
    "click.edited_counted": "已修改，您的批准有效：{have} / {need}，还需要其他人。",
    "click.barred_editor": "此调用已由您修改，须由他人决定。请求仍在等待。",
    "click.edited_other": "已修改。由于是您本人的修改，须由他人批准。",
    "click.edited_waits": "已修改。修改后的调用须由他人批准，您不能批准。",
    "click.edited_read_first": "已修改。请在卡片上再看一遍，然后批准。",
}

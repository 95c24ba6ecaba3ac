"""What the console says about who somebody is: signing in, second factors, sessions.

In each language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "console.passkey": "Your passkey, or your app's six digits",
    "console.approve_passkey": "Approve with passkey",
    "console.passkey_script": "A passkey takes JavaScript, which does not run here.",
    "console.passkey_failed": "Your device did not confirm it. Nothing was recorded; you can try again.",
    "console.tries_left": " Tries left: {left}.",
    "console.wrong_passkey": "Nothing was recorded: your passkey did not sign this very approval. Try again.",
    "console.factor_missing": "Nothing was recorded: it takes your second factor.",
    "review.enter": "Show the request",
    "review.enter.why": "This is {person}'s link: it opens one request as {person}, for half an hour. It works once. "
    "If you are somebody else, leave it: what is pressed there is {person}'s.",
    "review.foreign": "This form is not from a page of this gateway",
    "review.foreign.why": "Nothing was recorded. Your browser says that the form comes from another address than the "
    "gateway's own, or does not say from where. Open the page at the gateway's own address, and send it from there.",
    "review.no_page": "There is no such page",
    "review.no_page.why": "Nothing of this gateway stands at this address.",
    "review.another": "This link is somebody else's",
    "review.another.why": "It is {person}'s link, and this browser is signed in as {reader}: what is pressed behind it "
    "would be {person}'s. Ask for a link of your own: press “{control}” on a card in your chat. If you are {person}, "
    "sign out here first, and open the link again.",
    "review.closed": "This link does not work",
    "review.closed.why": "It is not a whole link of this gateway, or it was not opened at the gateway's own address. "
    "For one request, press “{control}” on its card again, or run “assent requests review”; to sign in, ask whoever "
    "runs the gateway for a new link (“assent link”).",
    "review.closed_card": "This link does not work",
    "review.closed_card.why": "It works once, within five minutes, and what it opens stays open for half an hour. "
    "Press “{control}” on the card again, or run “assent requests review”.",
    "review.closed_sign_in": "This sign-in link does not work",
    "review.closed_sign_in.why": "It works once, within ten minutes, and what it opens stays open for twelve hours at "
    "most. Ask whoever runs the gateway for a new one (“assent link”).",
    "door.title": "Sign in",
    "door.way": "Sign in with {label}",
    "door.refused": "That did not sign you in. Try again, or ask whoever runs the gateway: its log says why.",
    "door.passkey": "Sign in with a passkey",
    "door.passkey.why": "The one that you set up here before: this device, or your phone, asks for your finger, "
    "face or PIN.",
    "door.passkey_failed": "Your device did not confirm it, or this gateway does not know its passkey.",
    "door.other": "Or press “{control}” on a card in your chat, which opens one request; or ask whoever runs "
    "the gateway "
    "for a sign-in link.",
    "door.links": "Press “{control}” on a card in your chat, which opens one request; or ask whoever runs the gateway "
    "for a sign-in link (“assent link”). Passkeys take an address of a name over https; this gateway has none.",
    "me.title": "Your sign-in",
    "me.factors": "Second factors",
    "me.factors.why": "From level L3 on, approving takes one of these beside the amount.",
    "me.app": "App’s codes",
    "me.app.none": "Not set up",
    "me.app.since": "Since {date}",
    "me.passkey": "Passkey",
    "me.passkey.none": "None",
    "me.passkey.since": "Since {date}, last used {used}",
    "me.passkey.never": "never",
    "me.passkey.not_here": "Passkeys take an address of a name over https; this gateway has none.",
    "me.add": "Add one",
    "me.add.why": "It takes an invitation, which an administrator makes (“assent factors invite”) and hands to "
    "you where they "
    "know that it is you.",
    "me.code": "The invitation's code",
    "me.add.passkey": "Make a passkey",
    "me.add.app": "Use an authenticator app",
    "me.lost": "Lost a device? Ask an administrator to take it out at once (“assent factors remove”).",
    "me.wrong_invitation": "That is not your invitation, or it is used or too old: ask an administrator for "
    "another one.",
    "me.passkey_failed": "No passkey was made. Your device did not confirm it, or took too long; the invitation "
    "still holds.",
    "me.passkey_made": "Your passkey counts from now on.",
    "me.app_made": "Your app's codes count from now on.",
    "me.secret": "Put this into your app now",
    "me.secret.why": "Scan it with an authenticator app, or type the secret. It is shown this once.",
    "me.secret.text": "Secret",
    "me.secret.open": "Open it in an app on this device",
    "me.first": "The six digits that the app shows",
    "me.confirm": "Use it from now on",
    "me.wrong_code": "That is not the code that the app should show now: try the next one.",
    "me.sessions": "Where you are signed in",
    "me.sessions.why": "Signing out everywhere also ends what the links of cards have opened.",
    "me.session": "Since {begun}, by way of {via}; last looked at {seen}",
    "me.session.this": "This one",
    "me.session.end": "End it",
    "me.session_ended": "It is over.",
    "me.nothing_begun": "Nothing of yours waits for a first code any more: begin with an invitation.",
}

ZH: Mapping[str, str] = {
    "console.passkey": "通行密钥，或应用中的六位数字",
    "console.approve_passkey": "用通行密钥批准",
    "console.passkey_script": "通行密钥需要 JavaScript，此处未运行。",
    "console.passkey_failed": "设备未确认，未作任何记录，可重试。",
    "console.tries_left": "还可尝试 {left} 次。",
    "console.wrong_passkey": "未作任何记录：通行密钥签署的不是这次批准，请重试。",
    "console.factor_missing": "未作任何记录：需要您的第二因素。",
    "review.enter": "查看该请求",
    "review.enter.why": "这是{person}的链接：以{person}的身份打开一个请求，时限半小时，只能使用一次。"
    "如果您是他人，请勿打开：其中的操作均算作{person}所为。",
    "review.foreign": "此表单并非来自本网关的页面",
    "review.foreign.why": "未做任何记录。浏览器表明该表单来自其他地址，或未说明来源。"
    "请在网关自己的地址上打开该页面，再从那里提交。",
    "review.no_page": "没有这个页面",
    "review.no_page.why": "此地址上没有本网关的任何内容。",
    "review.another": "这是他人的链接",
    "review.another.why": "这是{person}的链接，而此浏览器以{reader}的身份登录：其中的操作会算作{person}所为。"
    "请使用您自己的链接：在聊天中的卡片上点击“{control}”。如果您就是{person}，请先在此退出登录，再重新打开该链接。",
    "review.closed": "此链接无效",
    "review.closed.why": "它不是此网关的完整链接，或不是在网关自己的地址上打开的。如需查看单个请求，请在其卡片上"
    "再次点击“{control}”，或运行“assent requests review”；如需登录，请向网关的运维人员索取新链接（“assent link”）。",
    "review.closed_card": "此链接无效",
    "review.closed_card.why": "链接五分钟内有效，只能使用一次；打开后可阅读半小时。"
    "请在卡片上再次点击“{control}”，或运行“assent requests review”。",
    "review.closed_sign_in": "此登录链接无效",
    "review.closed_sign_in.why": "登录链接十分钟内有效，只能使用一次；登录最长保持十二小时。"
    "请向网关的运维人员索取新链接（“assent link”）。",
    "door.title": "登录",
    "door.way": "通过 {label} 登录",
    "door.refused": "登录未成功，请重试，或询问网关的运维人员：原因见其日志。",
    "door.passkey": "用通行密钥登录",
    "door.passkey.why": "即您之前在此设置的通行密钥：本设备或手机会要求指纹、面容或密码。",
    "door.passkey_failed": "设备未确认，或网关不认识这个通行密钥。",
    "door.other": "也可以在聊天中的卡片上点击“{control}”打开单个请求，或向网关的运维人员索取登录链接。",
    "door.links": "请在聊天中的卡片上点击“{control}”打开单个请求，或向网关的运维人员索取登录链接（“assent link”）。"
    "通行密钥需要以 https 访问的域名，此网关没有。",
    "me.title": "我的登录",
    "me.factors": "第二因素",
    "me.factors.why": "从 L3 级起，批准时除金额外还需要其中一种。",
    "me.app": "应用验证码",
    "me.app.none": "未设置",
    "me.app.since": "自 {date} 起",
    "me.passkey": "通行密钥",
    "me.passkey.none": "无",
    "me.passkey.since": "自 {date} 起，上次使用 {used}",
    "me.passkey.never": "从未",
    "me.passkey.not_here": "通行密钥需要带域名的 https 地址，此网关没有。",
    "me.add": "添加",
    "me.add.why": "需要管理员生成的邀请码（“assent factors invite”），由其在确认是您本人后交给您。",
    "me.code": "邀请码",
    "me.add.passkey": "创建通行密钥",
    "me.add.app": "使用身份验证器应用",
    "me.lost": "设备丢失？请管理员立即移除（“assent factors remove”）。",
    "me.wrong_invitation": "这不是您的邀请码，或已使用、已过期：请向管理员索取新的。",
    "me.passkey_failed": "未创建通行密钥：设备未确认或超时。邀请码仍然有效。",
    "me.passkey_made": "您的通行密钥现已生效。",
    "me.app_made": "您应用中的验证码现已生效。",
    "me.secret": "请立即添加到您的应用",
    "me.secret.why": "用身份验证器应用扫描，或输入密钥。仅显示这一次。",
    "me.secret.text": "密钥",
    "me.secret.open": "在本设备的应用中打开",
    "me.first": "应用显示的六位数字",
    "me.confirm": "开始使用",
    "me.wrong_code": "这不是应用现在应显示的验证码：请试下一个。",
    "me.sessions": "已登录的位置",
    "me.sessions.why": "在所有设备上退出时，卡片链接打开的页面也一并失效。",
    "me.session": "自 {begun} 起，经由 {via}；上次查看 {seen}",
    "me.session.this": "当前会话",
    "me.session.end": "结束",
    "me.session_ended": "该会话已结束。",
    "me.nothing_begun": "没有等待首个验证码的设置：请从邀请码开始。",
}

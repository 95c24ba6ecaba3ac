"""Rules on what is sent over HTTP in somebody's name: mail, messages with files in them, and money; and on a root's shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import doubtful, operands
from assent.guards.commands.places import place
from assent.shell.lists import listed
from assent.shell.programs.programs import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_SENDERS = frozenset({"curl", "http", "https", "xh", "wget", "curlie", "httpie"})
_MAIL = re.compile(
    r"(?:api\.(?:sendgrid\.com/v3/mail|mailgun\.net/v3/.{1,80}/messages|postmarkapp\.com/email|resend\.com/emails|brevo\.com/v3/smtp"
    r"|sendinblue\.com|telegram\.org/bot.{1,80}/send|twilio\.com/.{1,120}/(?:messages|calls)|nexmo\.com|pushover\.net|twitter\.com/2/tweets"
    r"|x\.com/2/tweets|line\.me/v2/bot|vonage\.com|elasticemail\.com|pagerduty\.com|opsgenie\.com/v2/alerts|mailchannels\.net)"
    r"|api\.intercom\.io/messages|mailchimp\.com/.{1,100}/actions/send|customer\.io/.{1,60}/(?:send|messages)|/actions/send\b|/(?:broadcasts?|campaigns)/[\w-]{1,60}/send\b|rest\.nexmo\.com|events\.pagerduty\.com|gmail\.googleapis\.com/.{1,100}/send|graph\.microsoft\.com/.{1,100}/sendmail"
    r"|graph\.facebook\.com/.{1,100}/(?:messages|feed)|ntfy\.sh/|mandrillapp\.com/api|smtps?://)",
    re.IGNORECASE,
)
_HOOKS = re.compile(
    r"hooks\.slack\.com/|discord(?:app)?\.com/api/webhooks|webhook\.office\.com|outlook\.office\.com/webhook|oapi\.dingtalk\.com"
    r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot|qyapi\.weixin\.qq\.com|chat\.googleapis\.com|webhook\.site|requestbin"
    r"|pipedream\.net|hookbin\.com|ngrok(?:-free)?\.(?:io|app|dev)|burpcollaborator|oast\.\w{2,6}|interact\.sh|transfer\.sh|file\.io"
    r"|0x0\.st|termbin\.com|paste\.rs|pastebin\.com|ix\.io|dpaste|gofile\.io|bashupload|temp\.sh|oshi\.at|catbox\.moe|anonfiles"
)
_MONEY = re.compile(
    r"(?:api\.(?:stripe\.com|wise\.com|transferwise\.com|paypal\.com|squareup\.com|square\.com|coinbase\.com|exchange\.coinbase\.com"
    r"|binance\.com|kraken\.com|revolut\.com|gocardless\.com|mercury\.com|razorpay\.com|mollie\.com|paystack\.co|flutterwave\.com"
    r"|adyen\.com|alpaca\.markets|brex\.com|circle\.com|plaid\.com|airwallex\.com|moderntreasury\.com|bunq\.com|monzo\.com|starlingbank\.com)"
    r"|api-m\.paypal\.com|b2b\.revolut\.com|openapi\.alipay|api\.mch\.weixin|trading\.robinhood)",
    re.IGNORECASE,
)
_SENDS = re.compile(
    r"-(?:d|F|T)|--(?:data|json|form|post-|body|upload)|-\w{0,4}[dFT]$|-X(?:POST|PUT|PATCH)?|--request|POST|PUT|PATCH"
)
_FILE = re.compile(r"(?:[\w.\[\]-]{1,60}[=:])?[@<](?!\{)[^\s].{0,400}|.{0,400}\0.{0,400}", re.DOTALL)
_TRIES = re.compile(r"sandbox|/test|sk_test_|localhost|127\.0\.0\.1")
_ROOT_SHELL = re.compile(r"(?:(?:-u|--user) root )?-{1,2}(?:[a-zA-Z]*[is]|login|shell)(?: (?:-u|--user) root)?")
_AS_ROOT = frozenset({"sudo", "doas", "pkexec"})
_UPLOADERS = frozenset({"aws", "gsutil", "gcloud", "rclone", "azcopy", "s3cmd", "mc", "scp", "rsync", "b2", "s5cmd"})
_ELSEWHERE = re.compile(r"\w{2,20}://|[\w.@-]{2,80}:")
_LOGINS = listed("- -l --login root -m -p")
_CODE_MAILS = re.compile(
    r"\bsmtplib\b.{0,2000}\.send_?m\w{2,7}\(|\bnodemailer\b.{0,2000}\.sendMail\(|\bNet::SMTP\b.{0,2000}\bsend_?m\w{2,7}\b|\bsend_mass_mail\(|^\s{0,5}mail\(",
    re.DOTALL | re.MULTILINE,
)


def on_sending(command: Command) -> Iterator[Finding]:
    """Ask before mail, files or money are sent over HTTP, and before a shell of root is opened that nobody sees into."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    if program in _SENDERS and (any(map(_SENDS.match, texts)) or "smtp" in " ".join(texts)[:2000]):
        yield from _posted([text[:2000] for text in texts[:200]], command)
    elif language_of(program) not in {"", "shell"} and _CODE_MAILS.search(
        " ".join((*texts[:200], command.fed_text or ""))[:4000]
    ):
        yield doubtful(f"the code for {program} sends mail in somebody's name")
    elif program in _AS_ROOT and _ROOT_SHELL.fullmatch(" ".join(texts[:6])):
        yield doubtful(f"{program} opens a shell of root")
    elif (
        language_of(program) == "shell"
        and _AS_ROOT.intersection(command.wrappers)
        and set(texts) <= {"-i", "-l", "-p", "--login"}
    ):
        if command.fed_text is None and not command.feeders and not command.redirects:
            yield doubtful(f"{program} is a shell of root")
    elif program in _UPLOADERS and (what := _uploaded(command)):
        yield doubtful(f"{program} copies {what[:60]} to another machine")
    elif program == "su" and set(texts) <= _LOGINS and (texts or command.wrappers):
        yield doubtful("su opens a shell of root")


def _uploaded(command: Command) -> str:
    """Return the directory of the system, or of all of a person's settings, that is copied away; "" for none."""
    words = operands(command)
    if not any(_ELSEWHERE.match(word.text) for word in words[-1:]):
        return ""
    for word in words[:-1]:
        path = place(word, command.cwd)
        if path in {"/etc", "/root", "/home", "~", "/", "/var", "~/.config", "~/.local"} or path.startswith("/etc/"):
            return word.text
    return ""


def _posted(texts: list[str], command: Command) -> Iterator[Finding]:
    said = " ".join(texts)
    if _TRIES.search(said):
        return
    for text in texts:
        if _MAIL.search(text):
            yield doubtful(f"{command.program} sends a message in somebody's name")
            return
        if _MONEY.search(text):
            yield doubtful(f"{command.program} moves money, or changes who is paid")
            return
    if any(map(_HOOKS.search, texts)) and any(map(_FILE.fullmatch, texts)):
        yield doubtful(f"{command.program} sends a file, or what a command says, to where others read it")

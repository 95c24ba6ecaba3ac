"""Rules on Windows' shells: what `cmd` and PowerShell delete, fetch, switch off and let in, read as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import doubtful

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_SHELLS = frozenset({"pwsh", "powershell", "pwsh-preview", "cmd"})
_FAR = r"(?:[\"'(]{0,2}(?:[a-z]:|\\\\|/(?!tmp|\w(?:\s|$))|~|\$home|\$env:|%\w{1,30}%|\.\.|\*|\.(?:[\s\"']|$)))"
_DELETES = re.compile(
    rf"\b(?:remove-item|rm|ri|rd|rmdir|del|erase)\b(?=[^;|&]{{0,200}}(?:\s-r(?:ec|$|\s)|\s/s\b|\*))[^;|&]{{0,200}}?[\s,]{_FAR}"
    rf"|\b(?:get-childitem|gci|dir|ls)\b[^;&]{{0,200}}\|\s{{0,5}}(?:remove-item|ri|rm|del)\b"
    r"|\b(?:del|erase|rd|rmdir)\s(?=[^;|&]{0,200}(?:[a-z]:|\\\\|%|\*|\.\.|[\s\"]\\))[^;|&]{0,100}/s\b",
    re.IGNORECASE,
)
_RUNS = re.compile(r"\b(?:iex|invoke-expression)\b|\b(?:start-process|saps)\b|\b&\s", re.IGNORECASE)
_STARTS = re.compile(
    r"[;&|]\s{0,5}(?:\.[\\/]|\$env:|[a-z]:\\)[^\s;|&]{1,200}\.(?:exe|ps1|bat|cmd|msi|vbs)\b", re.IGNORECASE
)
_FETCHES = re.compile(
    r"\bdownload(?:string|file|data)\b|\b(?:iwr|irm|wget|curl|invoke-webrequest|invoke-restmethod|start-bitstransfer)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:format-volume|clear-disk|initialize-disk|remove-partition|remove-physicaldisk|reset-physicaldisk|clear-recyclebin"
    r"|stop-computer|restart-computer|clear-eventlog|remove-eventlog|limit-eventlog|clear-history|stop-service|suspend-service"
    r"|remove-service|new-service|set-service|register-scheduledtask|unregister-scheduledtask|new-localuser|remove-localuser"
    r"|add-localgroupmember|enable-localuser|set-localuser|set-mppreference|add-mppreference|disable-netadapter"
    r"|set-netfirewallprofile|new-netfirewallrule|remove-netfirewallrule|disable-netfirewallrule|disable-bitlocker|remove-ad\w{1,30}"
    r"|disable-ad\w{1,30}|set-adaccountpassword|remove-computer|remove-vm|stop-vm|remove-azr\w{0,2}\w{1,40}|remove-aws\w{1,30}"
    r"|uninstall-windowsfeature|disable-computerrestore|send-mailmessage|enable-psremoting|get-credential|convertfrom-securestring"
    r"|set-acl|set-executionpolicy|clear-content|takeown|mimikatz|invoke-mimikatz|remove-mailbox|remove-wmiobject|invoke-command)\b"
    r"|\b(?:vssadmin\s(?:delete|resize)|wbadmin\sdelete|bcdedit\s/(?:set|delete|import)|diskpart|wevtutil\s(?:cl|clear-log|sl)\b|cipher\s/w|schtasks\s/(?:create|delete|change)|reg\s(?:add|delete|save)"
    r"|sc(?:\.exe)?\s(?:stop|delete|config|create)|net(?:\.exe)?\s(?:stop|user|localgroup|share)\s\S|shutdown|format\s[a-z]:"
    r"|netsh\s.{1,60}\b(?:set|delete|add|reset)\b|icacls\s.{1,120}/(?:grant|remove|setowner|reset|deny|inheritance)|wmic\s\w{1,20}\s(?:delete|call)|certutil\s[^|]{0,60}-urlcache|mshta|regsvr32|rundll32|bitsadmin)",
    re.IGNORECASE,
)
_DOTNET = re.compile(
    r"\[(?:system\.)?io\.(?:directory|file)\]::(?:delete|move)\b|\bfor\s{1,5}/[rd]\b.{1,200}\b(?:del|erase|rd|rmdir)\b",
    re.IGNORECASE,
)
_DECODES = re.compile(r"\bfrombase64string\b", re.IGNORECASE)
_HIDDEN = re.compile(r"\s-(?:e|ec|enc\w{0,12})\s{1,5}[A-Za-z0-9+/=]{12}", re.IGNORECASE)
_PROFILE = re.compile(r"currentversion\\{1,2}run|\\startup\\|\$profile\b", re.IGNORECASE)
_WRITES = re.compile(r">|\b(?:set|add|new)-(?:content|item\w{0,12})\b|\bcopy\b", re.IGNORECASE)
_ALONE = re.compile(
    r"(?:sc|net|taskkill|wevtutil|bcdedit|takeown|icacls|netsh|certutil|bitsadmin|mshta|regsvr32|diskpart)(?:\.exe)?"
)
_LONGEST = 4000


def on_windows(command: Command) -> Iterator[Finding]:
    """Ask where a shell of Windows is told to delete, to run what it fetches, or to change who may do what."""
    program = command.program.removesuffix(".exe").casefold()
    if program in _SHELLS:
        text = " ".join((*(word.text for word in command.argv[1:401]), command.fed_text or ""))[:_LONGEST]
        found = _DELETES.search(text) or _ENDS.search(text) or _DOTNET.search(text) or _HIDDEN.search(f" {text}")
        if found:
            yield doubtful(f"{program} is told {found[0].strip()[:60]}")
        elif (_FETCHES.search(text) or _DECODES.search(text)) and (_RUNS.search(text) or _STARTS.search(text)):
            yield doubtful(f"{program} runs what it fetches")
        elif _PROFILE.search(text) and _WRITES.search(text):
            yield doubtful(f"{program} writes what is started at the next login")
    elif _ALONE.fullmatch(program):
        text = " ".join(word.text for word in command.argv[:40])[:_LONGEST]
        if found := _ENDS.search(text):
            yield doubtful(f"{found[0].strip()[:60]} changes what this machine runs or who may use it")

"""How the operands of programs that read, copy, send or edit files name them. Lists are data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """How a program's operands are files."""

    values: frozenset[str] = frozenset()
    """Options whose value is no file."""
    reads: frozenset[str] = frozenset()
    """Options whose value is a file that it reads."""
    writes: frozenset[str] = frozenset()
    """Options whose value is a file that it writes."""
    skip: int = 0
    """Operands in front that are no files (grep's pattern)."""
    skipped_by: frozenset[str] = frozenset()
    """Options that make the skipped operand a file after all (grep -e)."""
    writing: bool = False
    """Whether the operands are written rather than read."""
    last_written: bool = False
    """Whether the last operand is written and the others are read."""


def _operands(
    values: str = "",
    *,
    reads: str = "",
    writes: str = "",
    skip: int = 0,
    skipped_by: str = "",
    writing: bool = False,
    last_written: bool = False,
) -> Operands:
    return Operands(
        values=frozenset(values.split()),
        reads=frozenset(reads.split()),
        writes=frozenset(writes.split()),
        skip=skip,
        skipped_by=frozenset(skipped_by.split()),
        writing=writing,
        last_written=last_written,
    )


_READERS = listed(
    "cat tac nl less more most pg bat batcat rev od hexdump hd xxd strings base64 base32 basenc gbase64 md5sum sha1sum "
    "sha224sum sha256sum sha384sum sha512sum shasum b2sum cksum sum wc file diff cmp comm vimdiff sdiff colordiff "
    "paste join sort uniq tail head fold fmt column expand unexpand pr look iconv csplit zcat bzcat xzcat zless zmore "
    "gzcat "
    "zstdcat lz4cat open xdg-open gio glow mdcat highlight pygmentize ccat view enscript lpr lp mail pandoc csvtool "
    "ssh-add ssh-keygen source . mapfile readarray nm objdump readelf ldd strip aplay tsort xmllint source-highlight "
    "dos2unix "
    "unix2dos tailf multitail entr split exiftool img2txt age uuencode cksfv cut pbcopy xclip xsel "
    "sqlite3 psql mysql keytool certtool plutil defaults pdftotext docx2txt git-crypt cmark"
)
_EDITORS = [
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "ed",
    "ex",
    "pico",
    "micro",
    "joe",
    "kak",
    "hx",
    "code",
    "subl",
    "gedit",
    "kate",
    "mcedit",
    "sensible-editor",
]

_BY_PROGRAM: Mapping[str, Operands] = {
    **dict.fromkeys(_READERS, _operands()),
    **dict.fromkeys(_EDITORS, _operands("-c --cmd -S", writing=True)),
    "head": _operands("-n -c --lines --bytes"),
    "tail": _operands("-n -c --lines --bytes -s --pid"),
    "cut": _operands("-d -f -c -b --delimiter --fields"),
    "sort": _operands("-k -t -S -T --key --field-separator", writes="-o --output", reads="--files0-from"),
    "uniq": _operands("-f -s -w"),
    "od": _operands("-A -t -N -j -w"),
    "xxd": _operands("-l -s -c -g -o"),
    "hexdump": _operands("-n -s -e", reads="-f"),
    "strings": _operands("-n -t -e"),
    "base64": _operands("-w --wrap -b", reads="-i --input", writes="-o --output"),
    "openssl": _operands(
        "-k -K -iv -passin -passout -subj -days -newkey -keyform -inform -outform",
        reads="-in -inkey -key -CAfile",
        writes="-out -keyout",
        skip=99,
    ),
    "fold": _operands("-w"),
    "column": _operands("-s -c -o -N -H -R"),
    "split": _operands("-l -b -n -a", skip=0),
    "ssh-keygen": _operands("-t -b -C -N -P -O -I -n -V", reads="-f", skip=99),
    "ssh-add": _operands("-t -E"),
    "ssh": _operands("-p -l -o -L -R -D -J -W -b -c -m", reads="-i -F", skip=99),
    "grep": _operands(
        "-m -A -B -C -e --regexp --include --exclude --exclude-dir --color --label --max-count",
        reads="-f --file",
        skip=1,
        skipped_by="-e --regexp -f --file",
    ),
    "sed": _operands("-e --expression -l", reads="-f --file", skip=1, skipped_by="-e --expression -f --file"),
    "cp": _operands("-S --suffix", writes="-t --target-directory", last_written=True),
    "mv": _operands("-S --suffix", writes="-t --target-directory", last_written=True),
    "install": _operands("-m -o -g -S --mode --owner --group", writes="-t", last_written=True),
    "ln": _operands("-S", writes="-t", last_written=True),
    "rsync": _operands(
        "-e --rsh --exclude --include --bwlimit --port --chmod --chown --timeout -f --filter --rsync-path",
        reads="--files-from --exclude-from --include-from --password-file",
        last_written=True,
    ),
    "scp": _operands("-P -o -l -c -J -S", reads="-i -F", last_written=True),
    "sftp": _operands("-P -o -l -c -J", reads="-i -F -b"),
    "tee": _operands(writing=True),
    "sponge": _operands(writing=True),
    "touch": _operands("-d -t --date", reads="-r --reference", writing=True),
    "truncate": _operands("-s --size", reads="-r --reference", writing=True),
    "shred": _operands("-n -s --iterations --size", writing=True),
    "rm": _operands(writing=True),
    "unlink": _operands(writing=True),
    "rmdir": _operands(writing=True),
    "patch": _operands("-p -d", reads="-i --input", writes="-o --output", writing=True),
    "zip": _operands("-x -i -P --password", skip=1),
    "7z": _operands(skip=2),
    "7za": _operands(skip=2),
    "gzip": _operands(),
    "bzip2": _operands(),
    "xz": _operands(),
    "zstd": _operands(writes="-o"),
    "gpg": _operands(
        "-r --recipient -u --local-user --passphrase --keyserver --cipher-algo",
        writes="-o --output",
    ),
    "gpg2": _operands("-r --recipient -u --local-user --passphrase --keyserver", writes="-o --output"),
    "age": _operands("-r --recipient", reads="-i --identity", writes="-o --output"),
    "sops": _operands(),
    "ansible-vault": _operands(reads="--vault-password-file", skip=1),
    "wget": _operands(
        "-t -T -U --header --user --password -P",
        reads="--post-file --body-file -i --input-file --load-cookies --certificate --private-key",
        writes="-O --output-document -o --output-file",
        skip=99,
    ),
    "nc": _operands("-p -w -s -q -i", skip=99),
    "fd": _operands("-e -t -d", skip=1),
    "rclone": _operands(reads="--config", skip=1, last_written=True),
    "aws": _operands(skip=2),
    "gsutil": _operands(skip=1),
    "gcloud": _operands(skip=1),
    "s3cmd": _operands(skip=1),
    "mc": _operands(skip=1),
    "kubectl": _operands("-n --namespace", reads="-f --filename --kubeconfig --from-file --from-env-file", skip=99),
    "gh": _operands(reads="-f --env-file -F --body-file --notes-file", skip=99),
    "xargs": _operands(reads="-a --arg-file", skip=99),
    "crontab": _operands("-u"),
    "mail": _operands("-s -r", reads="-a -A", skip=99),
    "mutt": _operands("-s", reads="-a", skip=99),
    "qrencode": _operands(writes="-o", reads="-r", skip=99),
}
OPERANDS: Mapping[str, Operands] = {
    **_BY_PROGRAM,
    "rg": _operands(
        "-m -A -B -C -e --regexp -g --glob --iglob -t --type -T --type-not -r --replace -j --threads --sort -M",
        reads="-f --file --ignore-file",
        skip=1,
        skipped_by="-e --regexp -f --file --files",
    ),
    **dict.fromkeys(("egrep", "fgrep", "ag", "ack", "zgrep", "ugrep", "ggrep"), _BY_PROGRAM["grep"]),
    **dict.fromkeys(("gsed",), _BY_PROGRAM["sed"]),
    **dict.fromkeys(("gcp",), _BY_PROGRAM["cp"]),
    **dict.fromkeys(("pigz", "gunzip", "bunzip2", "unxz"), _BY_PROGRAM["gzip"]),
    **dict.fromkeys(("ncat", "netcat", "socat"), _BY_PROGRAM["nc"]),
}
"""By program. What is not here is read by `assent.shell.programs.files` itself."""

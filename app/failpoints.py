"""Places where a test may stop the process: the moments between two steps that must not be torn apart.

Each place is passed by `failpoint("its.name")`, which does nothing unless the environment says otherwise::

    ASSENT_FAILPOINT=commit.after:kill      end the process there, as a power cut would
    ASSENT_FAILPOINT=commit.after:kill:2    ... at the second passing
    ASSENT_FAILPOINT=commit.before:pause    freeze it there, until somebody sends SIGCONT

The places::

    commit.before        the units of a change ran; COMMIT was not sent      (only commits that somebody waits for)
    commit.after         it is committed; nobody was answered or woken       (the same)
    call.decided         a held call's request is approved; nothing is claimed for its caller
    call.claimed         it is claimed; the caller has no answer
    click.received       a verified click; nothing of it is recorded
    click.recorded       its effect is committed; the platform has no answer
    deliver.before_post  a card is about to be posted; that it is tried is recorded
    deliver.after_post   the platform has the card; where it is was not recorded
    webhook.taken        a receiver has the message; that it has it was not recorded
    renewal.answered     the platform gave new tokens; they were not recorded
    cut.writing          a part of a segment is written; it is not in its place
    cut.exported         the segment is in its place and was read back; the trail knows nothing of it
    cut.recorded         the cut is recorded; no event is deleted
    cut.deleting         some hundred events are deleted; the others are not

Nothing else may be put here: a failpoint never changes what the gateway decides.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import defaultdict
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "ASSENT_FAILPOINT"

_passings: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))


def failpoint(name: str) -> None:
    """Pass a place; the process ends or freezes here if a test asked for it."""
    wanted = os.environ.get(VARIABLE)
    if wanted is not None:
        _act(name, wanted)


def _act(name: str, wanted: str) -> None:
    place, _, rest = wanted.partition(":")
    action, _, nth = rest.partition(":")
    if place != name or next(_passings[name]) != int(nth or 1):
        return
    stop = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP}[action]
    # To this very thread: a signal to the process may find another one, and this one would run on for a moment.
    signal.pthread_kill(threading.get_ident(), stop)

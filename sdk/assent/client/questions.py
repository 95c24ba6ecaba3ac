"""What an approver asks back while a request waits, and the callback that answers for the agent.

The callback is given the question and the request, and returns the answer, or None to leave it to the requester. It is
asked once about each question, may be synchronous (it then runs on a worker thread) or asynchronous, and has the time
that is left. Whatever goes wrong in it is logged and answers nothing: the request waits on, and people decide.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, TypeAlias

from assent.client.errors import GatewayError
from assent.client.log import report_fault, warn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from assent.client.models import Question, Request

    OnQuestion: TypeAlias = Callable[[Question, Request], Awaitable[str | None] | str | None]
    Answer: TypeAlias = Callable[[Request, Question, str], Awaitable[Request]]

MOST = 500
"""Characters of an answer that the gateway takes; what is beyond is cut, and says so."""
_CUT = "… [cut]"


class Answerer:
    """Asks the callback about each open question, once."""

    def __init__(self, callback: OnQuestion | None) -> None:
        self._callback = callback
        self._asked: set[str] = set()

    @property
    def listens(self) -> bool:
        """Whether there is anybody to ask."""
        return self._callback is not None

    async def answer(self, request: Request, send: Answer, *, within: float) -> Request:
        """Ask about what is open and new, and send the answers; return the request as it then stands. Never raises."""
        for question in request.questions:
            if self._callback is None or question.answer is not None or question.id in self._asked:
                continue
            self._asked.add(question.id)
            text = await self._ask(self._callback, question, request, within)
            if text is None:
                continue
            try:
                request = await send(request, question, text)
            except GatewayError as error:  # somebody answered first, it was settled meanwhile, or the gateway is away
                warn("the answer to question %s was not taken: %s", question.id, error)
        return request

    async def _ask(self, callback: OnQuestion, question: Question, request: Request, within: float) -> str | None:
        import anyio

        said: str | None = None
        try:
            with anyio.move_on_after(max(0.0, within)):
                said = await _called(callback, question, request)
        except Exception as error:  # noqa: BLE001 - the callback is not ours, and whatever it raises answers nothing
            report_fault(error, "the callback for question %s failed: it is left unanswered", question.id)
        text = said.strip() if isinstance(said, str) else ""
        return (text if len(text) <= MOST else text[: MOST - len(_CUT)] + _CUT) or None


async def _called(callback: OnQuestion, question: Question, request: Request) -> str | None:
    if inspect.iscoroutinefunction(callback):
        return await callback(question, request)
    import anyio.to_thread

    # Abandoned when the time is up: nothing waits for a thread that never comes back.
    said = await anyio.to_thread.run_sync(callback, question, request, abandon_on_cancel=True)
    return await said if inspect.isawaitable(said) else said

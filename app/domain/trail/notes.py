"""What is said under a card: the short names that travel in the outbox. The words are found when a note is sent."""

from __future__ import annotations

QUESTION, ANSWER, REMINDER, APPROVED, ENDED = "question", "answer", "reminder", "approved", "ended"


def question_note(question_id: str) -> str:
    """Name the note that says what an approver wants to know."""
    return f"{QUESTION}:{question_id}"


def answer_note(question_id: str) -> str:
    """Name the note that says what was answered."""
    return f"{ANSWER}:{question_id}"


def reminder_note() -> str:
    """Name the note that reminds those who have not decided yet."""
    return REMINDER


def approved_note() -> str:
    """Name the note that tells an approver, on their own card, that they approved."""
    return APPROVED


def ended_note(state: str) -> str:
    """Name the note that says, on somebody's own card, how it ended: in this state, and in no other."""
    return f"{ENDED}:{state}"


def parse_note(note: str) -> tuple[str, str]:
    """Return a note's kind and what it is about: the id of a question, or a state; "" if nothing."""
    kind, _, about = note.partition(":")
    return kind, about

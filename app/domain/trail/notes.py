"""What is said under a card: the short names that travel in the outbox. The words are found when a note is sent."""

from __future__ import annotations

QUESTION, ANSWER, REMINDER, APPROVED = "question", "answer", "reminder", "approved"


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


def parse_note(note: str) -> tuple[str, str]:
    """Return a note's kind and the id of the question that it is about, "" if it is about none."""
    kind, _, question_id = note.partition(":")
    return kind, question_id

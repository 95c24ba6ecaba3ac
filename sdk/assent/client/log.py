"""The client's words to the operator's log, `assent`. `logging` is loaded then: the client starts without it."""

from __future__ import annotations


def warn(text: str, *values: object) -> None:
    """Log that something went wrong which nobody else is told of."""
    import logging

    logging.getLogger("assent").warning(text, *values, stacklevel=2)


def report_fault(error: Exception, text: str, *values: object) -> None:
    """Log an exception, with its traceback."""
    import logging

    logging.getLogger("assent").error(text, *values, exc_info=error, stacklevel=2)

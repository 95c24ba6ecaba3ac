"""One part of the file through its model, every refusal noted at its line in our own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from app.policies.marks.faults import near
from app.policies.marks.value_words import not_a_list, not_a_mapping, refusal_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from pydantic_core import ErrorDetails

    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path

M = TypeVar("M", bound=BaseModel)

_APART = frozenset({"timeout", "claim_within", "lease", "remind", "escalate", "risk", "reason", "name", "writes"})

_NO_KEYS = frozenset({"[key]", "[text]", "[languages]", "[list]", "[word]"})
"""What a place names that is no key of the file: see `file_models.py`."""


def section(marked: MarkedYaml, key: str) -> dict[str, JsonValue]:
    """Return a top-level mapping; {} if it is left out, and noted if it is something else."""
    whole = marked.value
    value = whole.get(key) if isinstance(whole, dict) else None
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    marked.report((key,), *not_a_mapping(value, "{name: …}"))
    return {}


def listing(marked: MarkedYaml, key: str) -> list[JsonValue]:
    """Return a top-level list; [] if it is left out, and noted if it is something else."""
    whole = marked.value
    value = whole.get(key) if isinstance(whole, dict) else None
    if value is None:
        return []
    if isinstance(value, list):
        return value
    marked.report((key,), *not_a_list(value))
    return []


def read_entry(
    marked: MarkedYaml,
    path: Path,
    raw: JsonValue,
    model: type[M],
    *,
    scrub: Callable[[str], str] = str,
    apart: Collection[str] = (),
    instead: Mapping[str, JsonValue] | None = None,
) -> M | None:
    """Return the entry, or None, with every fault noted. `scrub` takes secrets out of the messages.

    An entry whose only faults are keys on which nothing else rests is returned without them, so that the rest of it is
    looked at too; it has been refused all the same. Such keys of one model alone are `apart`; `instead` has what stands
    in for those that must be there.
    """
    if not isinstance(raw, dict):
        marked.report(path, *not_a_mapping(raw, f"{{{', '.join(f'{key}: …' for key in _required(model))}}}"))
        return None
    try:
        return model.model_validate(raw)
    except ValidationError as refused:
        errors = refused.errors(include_url=False)
    for error in errors:
        where, message, hint = _explain(error, path, model)
        if not (_is_of_the_whole(error) and marked.is_partly_settled(path)):  # it may be about what is not known here
            marked.report(where, scrub(message), hint and scrub(hint))
    loose = {*_APART, *apart, *(instead or ())}
    if not all(_is_apart(error, loose) for error in errors):
        return None
    faulty = {str(error["loc"][0]) for error in errors}
    rest = {key: value for key, value in raw.items() if key not in faulty}
    stand_ins = {key: value for key, value in (instead or {}).items() if key in faulty}
    rest |= stand_ins
    marked.settled.update((*path, key) for key in stand_ins)  # of what stands there nobody has written a word
    return read_entry(marked, path, rest, model, scrub=scrub)


def key_names(model: type[BaseModel]) -> Iterator[str]:
    """Yield the keys that a model accepts, as the file writes them."""
    for name, described in model.model_fields.items():
        yield described.alias or name


def _is_of_the_whole(error: ErrorDetails) -> bool:
    return error["type"] == "value_error" and not error["loc"]


def _is_apart(error: ErrorDetails, loose: Collection[str]) -> bool:
    loc = error["loc"]
    return bool(loc) and (loc[0] in loose or (len(loc) == 1 and error["type"] == "extra_forbidden"))


def _explain(error: ErrorDetails, path: Path, model: type[BaseModel]) -> tuple[Path, str, str | None]:
    loc = tuple(step for step in error["loc"] if step not in _NO_KEYS)
    match error["type"]:
        case "missing":
            return (*path, *loc[:-1]), f'"{loc[-1]}" is missing', f"add {loc[-1]}: …"
        case "extra_forbidden":
            around = _model_at(model, loc[:-1])
            hint = near(str(loc[-1]), key_names(around), what="keys") if around else None
            return (*path, *loc), f'unknown key "{loc[-1]}"', hint
        case _:
            return (*path, *loc), *refusal_in_words(error)


def _required(model: type[BaseModel]) -> Iterator[str]:
    """Yield the keys that an example of an entry has: those that it must have, or else the last."""
    needed = [described.alias or name for name, described in model.model_fields.items() if described.is_required()]
    yield from needed or list(key_names(model))[-1:]


def _model_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel] | None:
    """Return the model of what stands at a place within an entry; None where the file's own names stand."""
    for step in (step for step in loc if isinstance(step, str)):
        described = next((each for name, each in model.model_fields.items() if step in {name, each.alias}), None)
        inner = _models_in(described.annotation) if described else []
        if len(inner) != 1:
            return None
        model = inner[0]
    return model


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models_in(part)]

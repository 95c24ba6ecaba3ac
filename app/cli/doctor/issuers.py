"""Whether the issuers of `sign_in` answer from here: those who sign people in, and whose tokens prove who asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.doctor.payments import error, ok, warning
from app.usecases.signing_in.issuer import Issuers, UnreachedError

if TYPE_CHECKING:
    from app.domain.identity.provider import Provider
    from app.policies.file.policy_file import LoadedPolicy
    from app.ports import Clock, Finding
    from app.usecases.signing_in.issuer import Fetch


async def look_at_issuers(loaded: LoadedPolicy, clock: Clock, *, fetch: Fetch | None = None) -> list[Finding]:
    """Ask each issuer of an org's file what a gateway asks it: what it says of itself, and its keys.

    The loader has refused a rule that demands a proof which no issuer can bring, and an issuer without audiences.
    """
    if not loaded.providers:
        return []
    if fetch is None:
        from app.workers.outbound import Outbound  # it brings the HTTP client, which only this needs

        fetch = Outbound().fetch
    issuers = Issuers(fetch=fetch, clock=clock)
    demanding = [rule.id for rule in loaded.policy.rules if rule.proved]
    return [await _one(issuers, loaded.policy.org, each, demanding) for each in loaded.providers]


async def _one(issuers: Issuers, org: str, provider: Provider, demanding: list[str]) -> Finding:
    name = f"{org}: sign_in.{provider.name}"
    try:
        keys = await issuers.count_keys(provider)
    except UnreachedError as why:
        return _without(f"{name}: {provider.issuer} cannot be asked from here: {why}", provider, demanding)
    if keys == 0:
        return _without(f"{name}: {provider.issuer} has no key that signs tokens", provider, demanding)
    does = "signs people in, and its tokens prove who asked" if provider.handed else "signs people in"
    return ok(f"{name}: answers; it {does}")


def _without(what: str, provider: Provider, demanding: list[str]) -> Finding:
    """Say what does not work without it: a rule that demands a proof refuses every call for that long."""
    mend = f"see that this host reaches {provider.issuer}, and that `issuer` is written as the issuer writes it"
    if not provider.private:
        mend += "; one inside your own network needs `private: true`"
    if provider.handed is None or not demanding:
        return warning(f"{what}; nobody signs in by way of it", mend)
    rules = ", ".join(demanding)
    return error(f"{what}; its tokens prove nobody, and rules that demand a proof ({rules}) refuse", mend)

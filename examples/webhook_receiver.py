"""Take what the gateway tells of its trail, if it is proved and fresh: standard library only."""

import base64
import hmac
import time


def verify(headers: dict[str, str], body: bytes, secrets: list[str]) -> str:
    """Return the id of a message (keep it: the same one may come twice). Raises ValueError for all others."""
    event_id, stamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(stamp)) > 300:
        raise ValueError("more than five minutes old, or of the future")
    signed = b".".join([event_id.encode(), stamp.encode(), body])
    for secret in secrets:
        mac = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, "sha256")
        right = "v1," + base64.b64encode(mac).decode()
        if any(hmac.compare_digest(right.encode(), given.encode()) for given in headers["webhook-signature"].split()):
            return event_id
    raise ValueError("no signature of ours")

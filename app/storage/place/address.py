"""The address of the database, as it is given: a file, or PostgreSQL on one host or on several that take turns.

Several hosts are a primary and its standbys: ``postgresql://role@one,two:5433/db``. The driver asks one after the other
and takes the first that may be written to (`target_session_attrs`), so that after a failover the next connection finds
the new primary.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

SCHEMES = ("postgresql://", "postgresql+psycopg://")


def is_postgres(url: str) -> bool:
    """Whether it is a PostgreSQL's, rather than a file's."""
    return url.startswith(SCHEMES)


def libpq_url(url: str) -> str:
    """Return the URL as the driver takes it: without a driver's name, several hosts in libpq's spelling.

    ``?host=one:5432&host=two:5433``, as SQLAlchemy spells them, is understood as well.
    """
    plain = f"postgresql://{url.partition('://')[2]}"
    parts = urlsplit(plain)
    said = parse_qsl(parts.query, keep_blank_values=True)
    hosts = [value for name, value in said if name == "host"]
    if len(hosts) < 2:
        return plain
    split = [_host_and_port(host) for host in hosts]
    rest = [(name, value) for name, value in said if name != "host"]
    if any(port for _, port in split):
        rest = [*(pair for pair in rest if pair[0] != "port"), ("port", ",".join(port for _, port in split))]
    query = urlencode([("host", ",".join(host for host, _ in split)), *rest], quote_via=quote, safe="/,")
    return f"postgresql://{parts.netloc}{parts.path}?{query}"


def is_readable(url: str) -> bool:
    """Whether its hosts' ports are numbers: an unquoted sign in a password moves what stands there."""
    hosts = urlsplit(url).netloc.rpartition("@")[2].split(",")
    ports = [_host_and_port(host)[1] for host in hosts]
    return all(not port or (port.isdecimal() and 0 < int(port) < 65_536) for port in ports)


def _host_and_port(host: str) -> tuple[str, str]:
    """Take ``host:port`` apart; an IPv6 address stands in brackets, and a socket's folder begins with a slash."""
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]") or "/" in port:
        return host, ""
    return name, port

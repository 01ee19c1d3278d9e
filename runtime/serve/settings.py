"""How a service is run: where it listens, who may ask, and how much at once."""

import ipaddress
from collections.abc import Sequence

from msgspec import Struct, structs


class Settings(Struct, frozen=True, kw_only=True):
    """`token` is what callers have to give, empty for none; `allowed_hosts` are more names of this service.

    `max_runs` run at once, `max_queue` more wait. `max_body` is in bytes. `kept_runs` that have ended can be asked for,
    `kept_bytes` of events at most.
    A call that waits for approval is refused after `approval_seconds`. Sessions are
    kept where the URL `sessions` says, else in `folder`.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    token: str = ""
    allowed_hosts: Sequence[str] = ()
    max_runs: int = 256
    max_queue: int = 256
    max_body: int = 16 << 20
    drain_seconds: float = 30.0
    approval_seconds: float = 300.0
    folder: str = "."
    sessions: str = ""
    kept_runs: int = 200
    kept_bytes: int = 64 << 20

    def beside(self, folder: str) -> "Settings":
        """The same for manifests that lie in this folder."""
        return structs.replace(self, folder=folder)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

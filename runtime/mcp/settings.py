"""What the fields of a client kind come to: values that a connection works with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from runtime.kind import Context
from runtime.mcp.contracts import Handler, Offer
from runtime.version import VERSION

PATIENCE = 300.0  # seconds that a person gets to sign in


class Settings(Struct, frozen=True, kw_only=True):
    """One client's settings; times in seconds."""

    client_info: Mapping[str, str]
    protocol: str = "auto"
    is_required: bool = True
    restarts: bool = True
    connect_timeout: float = 30.0
    call_timeout: float = 120.0
    call_timeout_max: float = 600.0
    extends_on_progress: bool = False
    grace: float = 3.0
    is_http: bool = False
    lifetime: str = "shared"
    tells_instructions: bool = False
    """What the server says of its use joins the system text of the agents that have its tools."""
    is_adopted: bool = False
    """The server's session is somebody else's: no handshake, no end of it."""
    offers: tuple[Offer, ...] = ()

    @property
    def capabilities(self) -> dict[str, Any]:
        return {offer.capability: dict(offer.details) for offer in self.offers}

    @property
    def handlers(self) -> dict[str, Handler]:
        return {offer.method: offer.handler for offer in self.offers}


def read_settings(
    fields: Any,
    context: Context,
    *,
    sampling: Offer | None = None,
    is_legacy: bool = False,
    waits_for_person: bool = False,
    **more: Any,
) -> Settings:
    """The settings that the fields common to both clients (`fields.py`) come to, and `more` of a kind's own."""
    about = fields.client_info
    offers = [sampling] if sampling else []
    if fields.roots:
        offers.append(offer_roots(fields.roots, context.folder))
    if fields.elicitation != "decline":
        from runtime.mcp.elicitation import offer_elicitation

        offers.append(offer_elicitation(fields.elicitation, context.name))
    return Settings(
        client_info={"name": about.name, "version": about.version}
        if about
        else {"name": "runtime", "version": VERSION},
        protocol="legacy" if is_legacy else fields.protocol,
        is_required=fields.required,
        restarts=fields.restart == "on-failure",
        connect_timeout=max(fields.connect_timeout_ms / 1000, PATIENCE if waits_for_person else 0.0),
        call_timeout=fields.call_timeout_ms / 1000,
        call_timeout_max=fields.call_timeout_max_ms / 1000,
        extends_on_progress=fields.extend_on_progress,
        lifetime=fields.lifetime,
        tells_instructions=fields.server_instructions == "system",
        offers=tuple(offers),
        **more,
    )


def offer_roots(folders: Sequence[str], base: Path) -> Offer:
    """The folders that a server may work in, as `file:` URIs; relative ones lie beside the manifest."""
    roots = [{"uri": folder if "://" in folder else (base / folder).resolve().as_uri()} for folder in folders]
    return Offer("roots", {"listChanged": False}, "roots/list", lambda _: {"roots": roots})

"""`auth` of an HTTP client: how it proves to a server who it is."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.kind import Fields

Issuer = Annotated[
    str, Meta(description="The authorization server that these credentials belong to; no other one gets them.")
]


class ClientCredentials(Fields):
    """OAuth client credentials: a machine's own identity, without a person."""

    client_id: Annotated[str, Meta(description="The client's id at the authorization server.", min_length=1)]
    client_secret: Annotated[str, Meta(description="The client's secret.")] | UnsetType = UNSET
    private_key: (
        Annotated[str, Meta(description="In place of a secret: a private key (PEM) that signs an assertion.")]
        | UnsetType
    ) = UNSET
    algorithm: Annotated[
        Literal["ES256", "ES384", "RS256", "RS384", "RS512", "PS256", "EdDSA"],
        Meta(description="How the private key signs."),
    ] = "ES256"
    issuer: Issuer | UnsetType = UNSET


class AuthorizationCode(Fields):
    """OAuth authorization code with PKCE: a person signs in with a browser, which comes back to a loopback address."""

    client_id: (
        Annotated[str, Meta(description="The client's id, where it is registered; else it registers itself.")]
        | UnsetType
    ) = UNSET
    client_secret: Annotated[str, Meta(description="The registered client's secret.")] | UnsetType = UNSET
    client_metadata_url: (
        Annotated[str, Meta(description="An https address of a client metadata document, which serves as client id.")]
        | UnsetType
    ) = UNSET
    redirect_port: Annotated[
        int, Meta(description="The loopback port that the browser comes back to; 0 takes a free one.", ge=0, le=65535)
    ] = 0
    token_file: (
        Annotated[str, Meta(description="A file that keeps the tokens (mode 0600), relative to the manifest's folder.")]
        | UnsetType
    ) = UNSET
    interactive: Annotated[
        bool, Meta(description="Whether a browser may be opened; if false, only tokens of `tokenFile` are used.")
    ] = True


class IdentityAssertion(Fields):
    """Enterprise sign-on: an ID token is traded at the identity provider for a grant at the server's."""

    client_id: Annotated[str, Meta(description="The client's id at the server's authorization server.")]
    client_secret: Annotated[str, Meta(description="The client's secret there.")]
    id_token: Annotated[str, Meta(description="The person's ID token.")]
    idp_client_id: Annotated[str, Meta(description="The client's id at the identity provider.")]
    idp_token_endpoint: Annotated[
        str, Meta(description="The identity provider's token endpoint.", pattern="^https?://")
    ]
    issuer: Issuer | UnsetType = UNSET


class Auth(Fields):
    """One of its fields says how the client proves who it is."""

    bearer: Annotated[str, Meta(description="A token for the header `Authorization: Bearer`.")] | UnsetType = UNSET
    client_credentials: (
        Annotated[ClientCredentials, Meta(description="OAuth client credentials, without a person.")] | UnsetType
    ) = UNSET
    authorization_code: (
        Annotated[AuthorizationCode, Meta(description="OAuth authorization code: a person signs in.")] | UnsetType
    ) = UNSET
    identity_assertion: (
        Annotated[IdentityAssertion, Meta(description="Enterprise sign-on by an ID token.")] | UnsetType
    ) = UNSET


class Tls(Fields):
    """Certificates of an https connection; files are relative to the manifest's folder."""

    ca_file: (
        Annotated[str, Meta(description="Certificate authorities (PEM) to trust in place of the usual ones.")]
        | UnsetType
    ) = UNSET
    certificate_file: Annotated[str, Meta(description="Our own certificate (PEM).")] | UnsetType = UNSET
    key_file: Annotated[str, Meta(description="The key of our certificate (PEM).")] | UnsetType = UNSET
    key_password: Annotated[str, Meta(description="What opens the key.")] | UnsetType = UNSET
    verify: Annotated[
        bool, Meta(description="Whether the server's certificate is checked; false is for tests alone.")
    ] = True

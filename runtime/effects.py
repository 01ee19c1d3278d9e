"""What opening a resource does to the world, as data: kinds say it (`Kind.find_effects`), `runtime plan` shows it."""

from collections.abc import Sequence

from msgspec import Struct


class Starts(Struct, frozen=True, rename="camel"):
    """A program that is started, without a shell: `args` are its arguments, verbatim.

    `env` are the names of the variables that the manifest gives it, `inherits` those it gets from the runtime's own
    environment.
    """

    command: str
    args: Sequence[str] = ()
    folder: str | None = None
    env: Sequence[str] = ()
    inherits: Sequence[str] = ()


class Connects(Struct, frozen=True, rename="camel"):
    """An address that is connected to, when the resource opens or when it is used; `headers` are names."""

    url: str
    headers: Sequence[str] = ()


Effect = Starts | Connects

"""A kind with a field of which no schema can be made."""

from runtime import Kind, kind


class Lens:
    """Nothing that a manifest can say."""


@kind("Odd.Telescope")
class Telescope(Kind):
    """Has a lens."""

    lens: Lens

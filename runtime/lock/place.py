"""Where the lock of a set of manifests lies."""

import os
from collections.abc import Sequence

from runtime.manifest import Source
from runtime.resource_set import ResourceSet

LOCK_NAME = "runtime.lock"


def lock_path(sources: Sequence[Source], resources: ResourceSet) -> str:
    """Beside the application document, or without one beside the first manifest; as `.env` is found."""
    application = resources.application
    source = application.source if application is not None else sources[0] if sources else None
    return os.path.join(os.path.dirname(source.name), LOCK_NAME) if source is not None else LOCK_NAME

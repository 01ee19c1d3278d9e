"""The locks of the golden cases, made of what their servers would list: `python tests/lock_cases.py` writes them.

A case is a folder of `tests/golden/lock`: `set.yaml`, `tools.json` (the tools by client), `runtime.lock`, `expected`.
"""

import json
import sys
from pathlib import Path

from runtime.checks import check
from runtime.lock.contents import Lock
from runtime.lock.definition import digest_definition, find_clients
from runtime.lock.listing import lock_server
from runtime.lock.place import LOCK_NAME
from runtime.lock.writer import lock_text
from runtime.manifest import read_sources
from runtime.masking import Masker
from runtime.mcp.contracts import ServerInfo
from runtime.version import VERSION

CASES = Path(__file__).parent / "golden" / "lock"
STALE = "0" * 64


def make_lock(folder: Path) -> str | None:
    """The lock's text; in a case of that name the client `Files` was defined otherwise, or the text is spoilt."""
    listing = folder / "tools.json"
    if not listing.exists():
        return None
    checked = check(read_sources([str(folder / "set.yaml")]), with_lock=False)
    clients = find_clients(checked.resources)
    servers = {}
    for key, tools in json.loads(listing.read_text()).items():
        is_stale = "stale" in folder.name and key == "Files"
        definition = STALE if is_stale else digest_definition(clients[key])
        info = ServerInfo(f"{key} server", "1.0.0", "2025-11-25", {})
        servers[key] = lock_server(key, definition, info, tools, Masker())
    text = lock_text(Lock(LOCK_NAME, VERSION, servers))
    return text.replace("    protocol:", "<<<<<<< ours\n    protocol:", 1) if folder.name == "no-lock" else text


def main() -> None:
    for folder in sorted(path for path in CASES.iterdir() if path.is_dir()):
        text = make_lock(folder)
        if text is not None:
            (folder / LOCK_NAME).write_text(text)


if __name__ == "__main__":
    sys.exit(main())

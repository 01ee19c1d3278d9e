"""The lock file: what the MCP servers of a set offered when somebody looked, as data; reading, writing, comparing.

What the lock means for a manifest stands in `runtime.checks`; starting servers to fill it is the business of the
commands. `docs/lock.md` describes the file.
"""

from runtime.lock.contents import LOCK_NAME, Lock, LockedServer, LockedTool, LockError

__all__ = ["LOCK_NAME", "Lock", "LockError", "LockedServer", "LockedTool"]

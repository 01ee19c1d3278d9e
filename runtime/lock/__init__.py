"""The lock file: what the MCP servers of a set offered when somebody looked, as data; reading, writing, comparing.

What the lock means for a manifest stands in `runtime.checks`; starting servers to fill it is the business of the
commands. `docs/lock.md` describes the file. Nothing is imported here: a check only asks whether there is a lock.
"""

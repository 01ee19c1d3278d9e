"""Cassettes: what went over the border of a set in one run, kept as files, and played back in another.

The border is where a set meets what it did not declare: models, MCP servers, services. What lies inside, agents and the
tools that they are handed, runs in a replay as it did in the recording. Test cases and their verdicts are not here.
"""

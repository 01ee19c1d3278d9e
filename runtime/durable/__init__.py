"""Runs that survive the process that carries them on: a store of runs, and the record of each.

`contracts.py` has the words; what runs an engine of somebody else stands behind it and is imported when a store opens.
Nothing here knows agents: what a run does is a function of its target.
"""

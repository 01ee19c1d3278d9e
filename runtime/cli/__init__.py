"""The command line: `main.py` picks the command, then one module per command: its arguments and `run()`."""

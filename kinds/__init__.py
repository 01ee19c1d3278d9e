"""The kinds that ship with the runtime: one folder per prefix, one module per kind or contract."""

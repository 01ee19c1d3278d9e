"""A language server for manifests. Only `server`, `diagnostics` and `positions` need the packages of the extra `lsp`.

Findings come from the checks that `validate` makes. Everything else reads the text by its outline, which is there
while somebody types and the text is no YAML.
"""

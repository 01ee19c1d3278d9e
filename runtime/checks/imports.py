"""The imports of the application document: prefixes for kinds, which have to be known before any kind is looked up."""

from runtime.checks.findings import Findings
from runtime.manifest import Document, Mapping
from runtime.registry import APPLICATION_NAMES, Registry
from runtime.resource_set import Resource


def check_imports(documents: list[Document], registry: Registry, findings: Findings) -> None:
    """IMPORT_INVALID; what can be imported is added to the registry."""
    for document in documents:
        kind, imports = document.body.get("kind"), document.body.get("imports")
        if not isinstance(kind, str) or kind not in APPLICATION_NAMES or type(imports) is not Mapping:
            continue
        resource = Resource(document, document.body, None)
        for alias, source in imports.items():
            if type(source) is not str:
                continue
            problem = registry.add_import(alias, source, document.source.folder)
            if problem is not None:
                findings.report(resource, imports.places[alias][1], "IMPORT_INVALID", problem)

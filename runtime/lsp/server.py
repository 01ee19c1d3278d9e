"""The language server: wires what this folder knows to the protocol. Needs pygls, the extra `lsp`."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from runtime.checks import Checked
from runtime.diagnostics import Diagnostic
from runtime.lsp.checking import Checker, warm_up
from runtime.lsp.completion import Proposal, propose
from runtime.lsp.cursor import Cursor, find_cursor
from runtime.lsp.diagnostics import as_diagnostic, span_of
from runtime.lsp.folder import Declaration, Folder, find_declarations
from runtime.lsp.hover import describe
from runtime.lsp.navigation import Span, find_definition, find_name, find_uses, rename_problem
from runtime.lsp.positions import Positions
from runtime.manifest import Source
from runtime.version import VERSION

_KINDS = {
    "kind": types.CompletionItemKind.Class,
    "field": types.CompletionItemKind.Property,
    "name": types.CompletionItemKind.Reference,
    "value": types.CompletionItemKind.EnumMember,
    "tag": types.CompletionItemKind.Keyword,
}
_WATCHED = "**/{*.yaml,*.yml,runtime.lock}"


class View:
    """One request: the text and the place that it is about, and the set that the text is a part of."""

    def __init__(self, service: "Service", uri: str, position: types.Position) -> None:
        document = service.server.workspace.get_text_document(uri)
        self.text = document.source.removeprefix("\ufeff")
        self.path = service.path(uri)
        self.index = service.positions.index(self.text, position)
        self.cursor: Cursor | None = find_cursor(self.text, self.index)
        self.folder = service.checker(self.path)[0]
        self.sources = self.folder.sources(service.opened())

    @property
    def declared(self) -> list[Declaration]:
        return find_declarations(self.sources)


class Service:
    """The state behind the requests: which folders are looked at, and what was published of them."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.positions = Positions()
        self._checkers: dict[str, tuple[Folder, Checker]] = {}
        self._published: dict[str, set[str]] = {}

    def path(self, uri: str) -> str:
        """The path of a document; its name for one that is not a file yet."""
        return os.path.normpath(to_fs_path(uri) or uri.partition(":")[2])

    def opened(self) -> dict[str, str]:
        """The texts that the editor has, by path."""
        return {self.path(uri): each.source for uri, each in self.server.workspace.text_documents.items()}

    def checker(self, path: str) -> tuple[Folder, Checker]:
        """The folder that a manifest is in, and what checks it."""
        name = os.path.dirname(path)
        if name not in self._checkers:
            folder = Folder(name)
            self._checkers[name] = (folder, Checker(folder, self.opened, self.publish))
        return self._checkers[name]

    def notice(self, uri: str) -> None:
        """A document has changed."""
        self.checker(self.path(uri))[1].notice()

    def publish(self, folder: Folder, checked: Checked) -> None:
        """Tell the editor what was found in each manifest of a folder, and in its lock, and that the rest is clean."""
        texts = {source.name: source.text for source in checked.sources}
        found: dict[str, list[Diagnostic]] = {path: [] for path in texts}
        for each in checked.diagnostics:
            found.setdefault(each.file, []).append(each)
        uris = {self.path(uri): uri for uri in self.server.workspace.text_documents}
        for path in sorted(found.keys() | self._published.get(folder.path, set())):
            uri = uris.get(path) or from_fs_path(path) or path
            diagnostics = [as_diagnostic(texts.get(path), each, self.positions) for each in found.get(path, ())]
            version = self.server.workspace.text_documents[uri].version if path in uris else None
            self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))
        self._published[folder.path] = set(found)

    def complete(self, params: types.CompletionParams) -> list[types.CompletionItem]:
        view = View(self, params.text_document.uri, params.position)
        if view.cursor is None:
            return []
        proposals = propose(view.cursor, view.folder.registry, view.declared)
        return [self._item(view, proposal) for proposal in proposals]

    def _item(self, view: View, proposal: Proposal) -> types.CompletionItem:
        typed = view.text[proposal.start : proposal.start + 1]
        quote = typed if typed and typed in "\"'" else ""
        return types.CompletionItem(
            proposal.label,
            kind=_KINDS[proposal.kind],
            detail=proposal.detail or None,
            documentation=_markdown(proposal.documentation) if proposal.documentation else None,
            sort_text=proposal.sort,
            filter_text=quote + proposal.text,
            text_edit=types.TextEdit(self.positions.range(view.text, proposal.start, proposal.end), proposal.text),
        )

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        view = View(self, params.text_document.uri, params.position)
        text = describe(view.cursor, view.folder.registry, view.declared, self._findings_at(view))
        return types.Hover(_markdown(text)) if text else None

    def _findings_at(self, view: View) -> list[Diagnostic]:
        checked = view.folder.checked
        if checked is None or all(source.text != view.text for source in checked.sources):
            return []
        found = [each for each in checked.diagnostics if each.file == view.path]
        spans = [(each, span_of(view.text, each, self.positions)) for each in found]
        return [each for each, (start, end) in spans if start <= view.index <= end]

    def define(self, params: types.DefinitionParams) -> types.Location | None:
        view = View(self, params.text_document.uri, params.position)
        if view.cursor is None:
            return None
        target = find_definition(view.cursor, view.folder.registry, view.declared, view.folder.path)
        if isinstance(target, str):
            start = types.Position(0, 0)
            return types.Location(from_fs_path(target) or target, types.Range(start, start))
        return None if target is None else types.Location(self._uri(target.source), self._range(target))

    def prepare_rename(self, params: types.PrepareRenameParams) -> types.Range | None:
        view = View(self, params.text_document.uri, params.position)
        span = self._span_under(view)
        return None if span is None else self._range(span)

    def rename(self, params: types.RenameParams) -> types.WorkspaceEdit | None:
        view = View(self, params.text_document.uri, params.position)
        spans = self._uses(view)
        if not spans:
            return None
        problem = rename_problem(params.new_name, view.declared)
        if problem is not None:
            raise JsonRpcInvalidParams(problem)
        edits: dict[str, list[types.TextEdit]] = {}
        for span in spans:
            edits.setdefault(self._uri(span.source), []).append(types.TextEdit(self._range(span), params.new_name))
        return types.WorkspaceEdit(changes=dict(edits))

    def _span_under(self, view: View) -> Span | None:
        """The name of a resource of the set that the cursor is in."""
        uses = self._uses(view)
        here = (use for use in uses if use.source.name == view.path and use.start <= view.index <= use.end)
        return next(here, uses[0] if uses else None)

    def _uses(self, view: View) -> list[Span]:
        """Everywhere that the resource is named whose name the cursor is in; nothing where it is in none of the set."""
        name = find_name(view.cursor, view.folder.registry) if view.cursor is not None else ""
        if not name or not any(each.name == name for each in view.declared):
            return []
        return find_uses(name, view.sources, view.declared, view.folder.registry)

    def _uri(self, source: Source) -> str:
        uris = {self.path(uri): uri for uri in self.server.workspace.text_documents}
        return uris.get(source.name) or from_fs_path(source.name) or source.name

    def _range(self, span: Span) -> types.Range:
        return self.positions.range(span.source.text, span.start, span.end)


def _markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(types.MarkupKind.Markdown, text)


def make_server() -> LanguageServer:
    """A server that is ready to be started."""
    server = LanguageServer("runtime", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    service = Service(server)

    @server.feature(types.INITIALIZE)
    def prepare(params: types.InitializeParams) -> None:
        warm_up()  # before the answer: beside the first keystrokes it would make them wait

    @server.feature(types.INITIALIZED)
    async def start(params: types.InitializedParams) -> None:
        service.positions = Positions(server.workspace.position_encoding)
        await _watch(server)

    def changed(params: Any) -> None:
        service.notice(params.text_document.uri)

    def changed_on_disk(params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            service.notice(change.uri)

    handlers: list[tuple[str, Callable[..., Any], Any]] = [
        (types.TEXT_DOCUMENT_DID_OPEN, changed, None),
        (types.TEXT_DOCUMENT_DID_CHANGE, changed, None),
        (types.TEXT_DOCUMENT_DID_SAVE, changed, None),
        (types.TEXT_DOCUMENT_DID_CLOSE, changed, None),
        (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, changed_on_disk, None),
        (types.TEXT_DOCUMENT_COMPLETION, service.complete, types.CompletionOptions(trigger_characters=[" ", "!", "."])),
        (types.TEXT_DOCUMENT_HOVER, service.hover, None),
        (types.TEXT_DOCUMENT_DEFINITION, service.define, None),
        (types.TEXT_DOCUMENT_PREPARE_RENAME, service.prepare_rename, None),
        (types.TEXT_DOCUMENT_RENAME, service.rename, types.RenameOptions(prepare_provider=True)),
    ]
    for name, handler, options in handlers:
        server.feature(name, options)(partial(handler))  # pygls marks what it is given, which a method does not take
    return server


async def _watch(server: LanguageServer) -> None:
    """Ask the editor to tell of manifests that change on disk, where it can."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace is not None else None
    if watched is None or not watched.dynamic_registration:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
    registration = types.Registration("manifests", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await server.client_register_capability_async(types.RegistrationParams([registration]))

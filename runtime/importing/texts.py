"""The texts of a foreign file as those of a manifest: `${VARIABLE}` becomes an expression, a credential a reference."""

import re
from collections.abc import Callable
from typing import Any

from runtime.diagnostics.credentials import replace_credentials
from runtime.importing.draft import Declared, Draft
from runtime.importing.values import is_secret_name, snake

Resolver = Callable[[str, int], str | None]
"""From what stands in the braces, and its place, to an expression; None where it stands for itself."""

_EXPRESSION = re.compile(r"\$\{\{\s*(?P<double>[^{}]*?)\s*\}\}|\$\{(?P<single>[^{}]*)\}")
_VARIABLE = re.compile(r"(?:env[:.])?(?P<name>[A-Za-z_]\w*)(?::?-(?P<default>.*))?", re.DOTALL | re.ASCII)
_SCHEME = re.compile(
    r"(?P<scheme>(?:Bearer|Basic|Token|Bot|ApiKey|Api-Key)[ ]+)?(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_BARE_VARIABLE = re.compile(r"\$(?P<name>[A-Z_][A-Z0-9_]*)")
_FLAG = re.compile(r"(?P<flag>--?[A-Za-z][\w.-]*=)(?P<rest>.*)", re.DOTALL)
_HEADER_LINE = re.compile(r"(?P<name>[A-Za-z][\w-]*):\s*(?P<rest>\S.*)", re.DOTALL)
_PASSWORD = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^/@:\s]*:)(?P<password>[^/@\s$]+)(?=@)", re.IGNORECASE)
_PARAMETER = re.compile(r"(?P<before>[?&](?P<name>[\w.-]+)=)(?P<value>[^&#\s$]+)")


class Texts:
    """Converts the texts of one server, model or agent: `owner` is its name in the file."""

    def __init__(self, draft: Draft, document: Declared, owner: str, resolve: Resolver | None = None) -> None:
        self.draft = draft
        self.document = document
        self.owner = owner
        self._resolve = resolve or (lambda inside, place: None)

    def plain(self, text: str, place: int) -> str:
        """A text that is no credential by its name; one that looks like one all the same is taken out."""
        made, at = "", 0
        for found in _EXPRESSION.finditer(text):
            made += self._literal(text[at : found.start()], place)
            inside = found["single"] if found["double"] is None else found["double"]
            expression = self._resolve(inside, place)
            if expression is None and found["double"] is None:
                expression = self._from_environment(inside)
            if expression is None:
                self.draft.note(place, f'"{found[0]}" of "{self.owner}" stands as it is', self.document)
                made += self._literal(found[0], place)
            else:
                made += f"${{{{ {expression} }}}}"
            at = found.end()
        return made + self._literal(text[at:], place)

    def prose(self, text: str, place: int) -> str:
        """A text for a model, in which `${NAME}` is nothing but text; credentials are taken out all the same."""
        return self._literal(text, place)

    def named(self, name: str, text: str, place: int) -> str:
        """The value of an environment variable or a field called `name`."""
        if text and is_secret_name(name) and not _EXPRESSION.search(text):
            return self._secret(name, text, place)
        return self.plain(text, place)

    def header(self, name: str, text: str, place: int) -> str:
        """The value of an HTTP header: `Bearer` and its like stay, what follows is the credential."""
        found = _SCHEME.fullmatch(text)
        if found is None or not found["rest"] or _EXPRESSION.search(text) or not is_secret_name(name):
            return self.plain(text, place)
        bare = _BARE_VARIABLE.fullmatch(found["rest"])
        if bare is not None:
            return f"{found['scheme'] or ''}${{{{ {self.draft.values.from_environment(bare['name'])} }}}}"
        is_authorization = name.lower().endswith("authorization")
        own = "TOKEN" if is_authorization else snake(name).removeprefix("X_")
        return (found["scheme"] or "") + self._secret(f"{snake(self.owner)}_{own}", found["rest"], place)

    def arguments(self, items: list[tuple[Any, int]]) -> list[str]:
        """The arguments of a command; what follows `--token`, or stands in `--token=...`, is a credential."""
        made: list[str] = []
        before = ""
        for item, place in items:
            if item is None or isinstance(item, (dict, list)):
                self.draft.left_out(place, f'an argument of "{self.owner}"', "it is no text", self.document)
                continue
            text = str(item).lower() if isinstance(item, bool) else str(item)
            made.append(self._argument(before, text, place))
            before = text
        return made

    def _argument(self, before: str, text: str, place: int) -> str:
        flag, line = _FLAG.fullmatch(text), _HEADER_LINE.fullmatch(text)
        if flag is not None:
            return flag["flag"] + self.named(self._own(flag["flag"]), flag["rest"], place)
        if before.startswith("-") and "=" not in before and not text.startswith("-") and is_secret_name(before):
            return self.named(self._own(before), text, place)
        if before in ("--header", "-H") and line is not None:
            return text[: line.start("rest")] + self.header(line["name"], line["rest"], place)
        return self.plain(text, place)

    def url(self, text: str, place: int) -> str:
        """An address; a password and parameters that name a credential are taken out."""

        def without_parameter(found: re.Match[str]) -> str:
            if not is_secret_name(found["name"]):
                return found[0]
            return found["before"] + self._secret(self._own(found["name"]), found["value"], place)

        return _PARAMETER.sub(without_parameter, self.plain(text, place))

    def _own(self, name: str) -> str:
        """The environment variable for a flag or a parameter of this owner."""
        return f"{snake(self.owner)}_{snake(name)}"

    def _literal(self, text: str, place: int) -> str:
        """Text that stands for itself, without the credentials in it."""

        def without_password(found: re.Match[str]) -> str:
            return found["before"] + self._secret(f"{snake(self.owner)}_PASSWORD", found["password"], place)

        def without_credential(found: re.Match[str]) -> str:
            return self._secret(f"{snake(self.owner)}_TOKEN", found[0], place)

        text = text.replace("${{", '${{ "${{" }}')  # as it stands it would be an expression
        return replace_credentials(_PASSWORD.sub(without_password, text), without_credential)

    def _from_environment(self, inside: str) -> str | None:
        found = _VARIABLE.fullmatch(inside.strip())
        if found is None:
            return None
        return self.draft.values.from_environment(found["name"], found["default"])

    def _secret(self, variable: str, literal: str, place: int) -> str:
        expression = self.draft.values.secret(variable, literal=literal, owner=self.owner)
        variable = self.draft.values.variable_of(expression)
        hint = f'set {variable} in the environment or in ".env"'
        self.draft.left_out(place, f"the value of {variable}", hint, self.document)
        return f"${{{{ {expression} }}}}"

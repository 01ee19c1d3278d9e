"""The secrets and variables that an import finds, under the names that expressions give them."""

import re
from collections.abc import Container
from typing import Any

from runtime.checks.environment import environment_name
from runtime.diagnostics.credentials import has_credential

_RESERVED = re.compile(
    r"as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void"
    r"|while"
)
"""What no name may be in CEL (language definition, "Syntax")."""
_SECRET_WORD = re.compile(
    r"apikey|auth|authorization|bearer|cookie|credentials?|dsn|jwt|key|passphrase|passwd|password|pat|pwd|secret"
    r"|signature|token"
)
_PLAIN_END = re.compile(
    r"count|enabled|endpoint|env|expiry|file|header|host|id|length|limit|max|min|mode|name|path|prefix|size|timeout|ttl"
    r"|type|ur[il]"
)
_SAFE_VARIABLES = frozenset(("HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TEMP", "TMPDIR", "USER", "USERNAME"))


class Values:
    """Declarations by name. A secret that reads the variable of its own name needs none, and gets none."""

    def __init__(self) -> None:
        self.secrets: dict[str, dict[str, Any]] = {}
        self.variables: dict[str, dict[str, Any]] = {}
        self._literals: dict[str, str | None] = {}

    def secret(self, variable: str, *, literal: str | None = None, owner: str = "", **declared: Any) -> str:
        """`secrets.githubToken` for the environment variable GITHUB_TOKEN.

        `literal` is the value in the file: two values under one variable are two secrets, the second one named after
        its `owner` as well. The value itself is kept to tell them apart, and goes nowhere.
        """
        name = camel(variable)
        if literal is not None and self._literals.get(name, literal) != literal and owner:
            variable = f"{snake(owner)}_{variable}"
            name = camel(variable)
        if name not in self.secrets:
            self.secrets[name] = declared if environment_name(name) == variable else {"env": variable, **declared}
            self._literals[name] = literal
        return f"secrets.{name}"

    def variable(self, variable: str, **declared: Any) -> str:
        """`variables.region` for the environment variable REGION."""
        name = camel(variable)
        if name not in self.variables:
            self.variables[name] = declared if environment_name(name) == variable else {"env": variable, **declared}
        return f"variables.{name}"

    def known_variable(self, variable: str) -> str:
        """The expression for a variable that was declared already; empty where it was not."""
        name = camel(variable)
        return f"variables.{name}" if name in self.variables else ""

    def from_environment(self, variable: str, default: str | None = None) -> str:
        """What stands for `${VARIABLE}`: a secret, unless the name or a default says that everybody may see it."""
        declared = {} if default is None or has_credential(default) else {"default": default}
        if variable in _SAFE_VARIABLES or (default and not is_secret_name(variable)):
            return self.variable(variable, **declared)
        return self.secret(variable, **declared)

    def variable_of(self, expression: str) -> str:
        """The environment variable behind `secrets.githubToken`."""
        name = expression.partition(".")[2]
        return str(self.secrets[name].get("env", environment_name(name)))

    def keep(self, used: Container[str]) -> list[str]:
        """Forget the names that no expression of `used` is, such as `variables.region`; the variables among them."""
        dropped = [name for name in self.variables if f"variables.{name}" not in used]
        self.secrets = {name: each for name, each in self.secrets.items() if f"secrets.{name}" in used}
        self.variables = {name: each for name, each in self.variables.items() if f"variables.{name}" in used}
        return dropped

    def declarations(self) -> dict[str, Any]:
        """The fields of the application document; empty where it is not needed."""
        fields: dict[str, Any] = {}
        if self.variables:
            fields["variables"] = self.variables
        if any(self.secrets.values()):  # one that is declared closes the list
            fields["secrets"] = self.secrets
        return fields

    def needed(self) -> list[str]:
        """The environment variables without which the manifest cannot be applied."""
        found = (*self.variables.items(), *self.secrets.items())
        names = (declared.get("env", environment_name(name)) for name, declared in found if "default" not in declared)
        return [name for name in names if name not in _SAFE_VARIABLES]


def camel(variable: str) -> str:
    """`githubToken` for `GITHUB_TOKEN`: a name for expressions."""
    words = re.findall(r"[A-Za-z0-9]+", variable)
    words = [word.lower() if word.isupper() else word for word in words]
    name = "".join(word if place == 0 else word[:1].upper() + word[1:] for place, word in enumerate(words))
    name = name[:1].lower() + name[1:] or "value"
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}Value" if _RESERVED.fullmatch(name) else name


def snake(text: str) -> str:
    """`MY_SERVER` for `my-server`: a part of an environment variable's name."""
    parts = re.findall(r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text))
    return "_".join(parts).upper() or "SERVER"


def is_secret_name(name: str) -> bool:
    """Whether what has this name is a credential: `GITHUB_TOKEN`, `X-API-Key`, `--password`."""
    words = snake(name).lower().split("_")
    return not _PLAIN_END.fullmatch(words[-1]) and any(map(_SECRET_WORD.fullmatch, words))

"""Functions by name, and the inputs that they take."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from runtime.known_inputs import KnownInputs

Function = Callable[..., Any]


def find_function(namespace: Mapping[str, Any], name: str) -> Function:
    """The function of a name. Raises ValueError, which says what is there instead, also for one that inputs by name
    cannot call."""
    if name not in namespace:
        raise ValueError(f'there is no function "{name}"')
    function: Any = namespace[name]
    if not callable(function):
        raise ValueError(f'"{name}" is no function')
    for parameter in _parameters(function):
        if parameter.kind is Parameter.POSITIONAL_ONLY and parameter.default is Parameter.empty:
            raise ValueError(f'"{name}" takes "{parameter.name}" by its place alone, and inputs come by name')
    return function  # type: ignore[no-any-return]  # `callable` tells a checker nothing of what comes back


def list_functions(namespace: Mapping[str, Any]) -> list[str]:
    """The public functions that a file itself defines, for a hint."""
    own = namespace.get("__name__")
    found = [name for name, value in namespace.items() if getattr(value, "__module__", None) == own and callable(value)]
    return sorted(name for name in found if not name.startswith("_"))


def read_inputs(function: Function) -> KnownInputs:
    """The inputs of a function; anything goes where it does not tell, as some that are written in C do not."""
    try:
        signature(function)
    except (TypeError, ValueError):
        return KnownInputs(takes_more=True)
    named = [each for each in _parameters(function) if each.kind in _BY_NAME]
    return KnownInputs(
        [each.name for each in named if each.default is Parameter.empty],
        [each.name for each in named if each.default is not Parameter.empty],
        any(each.kind is Parameter.VAR_KEYWORD for each in _parameters(function)),
    )


_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def _parameters(function: Function) -> list[Parameter]:
    try:
        return list(signature(function).parameters.values())
    except (TypeError, ValueError):
        return []

"""`Python.Function`: a function of one's own, as something that an agent's tool or a task can run."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta

from runtime.contracts import Invocable
from runtime.errors import Error, StartError, ToolError
from runtime.kind import FIXED, Context, Inspection, Kind, kind

if TYPE_CHECKING:
    from kinds.python.threads import Outcome
    from runtime.known_inputs import KnownInputs


@kind("Python.Function", implements=Invocable)
class PythonFunction(Kind):
    """A Python function, `async` or not. The inputs are its arguments, by name; its result is made a JSON value.

    Only what the application's `imports` name can be used: `./birds.py`, or an installed module: `python:statistics`.
    """

    runs_imported_code: ClassVar[bool] = True

    function: Annotated[
        str,
        Meta(
            description="`NAME:FUNCTION`, where `NAME` is one of the application's `imports`, or `NAME.FILE` for a file"
            " of a folder that is imported.",
            pattern=r"^[A-Za-z_]\w*(\.\w+)?:[A-Za-z_]\w*$",
            extra_json_schema=FIXED,
        ),
    ]

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: what `imports` does not have, and a name that is no function there."""
        for path, given in inspection.find("function"):
            module, _, name = str(given).partition(":")
            if not name or inspection.code.is_lost(module):
                continue
            names = inspection.code.names
            if module not in names:
                message = f'"{module}" is not in the `imports` of the application'
                inspection.report("SCHEMA_VALUE", path, message, _advise(module, names))
                continue
            fault = _find_fault(inspection, module, name)
            if fault is not None:
                inspection.report("SCHEMA_VALUE", path, *fault)

    @classmethod
    def known_inputs(cls, inspection: Inspection) -> "KnownInputs | None":
        """The function's parameters, where the file of it has been run."""
        for _, given in inspection.find("function"):
            module, _, name = str(given).partition(":")
            namespace = inspection.code.find(module)
            if namespace is not None and callable(namespace.get(name)):
                from kinds.python.signatures import read_inputs

                return read_inputs(namespace[name])
        return None

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        from kinds.python.signatures import find_function

        module, _, name = self.function.partition(":")
        try:
            namespace = context.code.load(module)
        except (Exception, SystemExit) as error:  # whatever a foreign module raises is why it cannot be used
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise StartError(f'"{module}" cannot be imported: {reason}', resource=context.name) from error
        try:
            function = find_function(namespace, name)
        except ValueError as error:
            raise StartError(f'"{module}": {error}', resource=context.name) from error
        yield LiveFunction(context, function)


def _advise(module: str, names: list[str]) -> str:
    if not names:
        return f"write `imports: {{ {module.partition('.')[0]}: ./FILE.py }}` on the application document"
    return f"there are: {', '.join(names)}"


def _find_fault(inspection: Inspection, module: str, name: str) -> tuple[str, str | None] | None:
    namespace = inspection.code.find(module)
    if namespace is None:  # an installed module is not imported to look at it
        return None
    from kinds.python.signatures import find_function, list_functions

    try:
        find_function(namespace, name)
    except ValueError as error:
        functions = list_functions(namespace)
        return f'"{module}": {error}', f"there are: {', '.join(functions)}" if functions else None
    return None


class LiveFunction:
    """Calls the function; one that is not `async` runs in a thread of its own, which nothing can stop."""

    def __init__(self, context: Context, function: Callable[..., Any]) -> None:
        from inspect import iscoroutinefunction

        from kinds.python.signatures import read_inputs

        self.name = context.name
        self._context = context
        self._function = function
        self._is_async = iscoroutinefunction(function)
        self._inputs = read_inputs(function)

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        """What the function gives back: a JSON value, or parts of a message.

        Raises `ToolError`: ERR_PYTHON_INPUT, ERR_PYTHON_EXCEPTION, ERR_PYTHON_RESULT; and an `Error` that it raises.
        """
        self._check(inputs)
        result, error = await self._call(dict(inputs))
        if error is None:
            return self._read(result)
        if isinstance(error, Error):
            raise error
        from traceback import format_exception

        for line in "".join(format_exception(error)).rstrip().split("\n"):
            self._context.log(line)
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise self._error(self._context.mask(text), "ERR_PYTHON_EXCEPTION") from error

    async def _call(self, inputs: dict[str, Any]) -> "Outcome":
        from functools import partial
        from inspect import isawaitable

        from kinds.python.threads import call_in_thread

        try:
            if self._is_async:
                return await self._function(**inputs), None
            result, error = await call_in_thread(partial(self._function, **inputs))
            return (await result if isawaitable(result) else result), error
        except (Exception, SystemExit) as error:  # the border: whatever it is, it is the failure of this call
            return None, error

    def _check(self, inputs: Mapping[str, Any]) -> None:
        missing, unknown = self._inputs.find_missing(inputs), self._inputs.find_unknown(inputs)
        faults = [f'"{name}" is missing' for name in missing] + [f'"{name}" is not known' for name in unknown]
        if faults:
            raise self._error(
                f"the inputs do not fit: {', '.join(faults)}; {self._inputs.describe()}", "ERR_PYTHON_INPUT"
            )

    def _read(self, result: Any) -> Any:
        import msgspec

        from runtime.ai.contracts import Image, Text

        parts = result if isinstance(result, list | tuple) else [result]
        if parts and all(isinstance(part, Text | Image) for part in parts):
            return list(parts)
        try:
            return msgspec.json.decode(msgspec.json.encode(result))
        except (TypeError, ValueError, RecursionError) as error:
            message = f"the function gave back what is no JSON value: {error}"
            raise self._error(self._context.mask(message), "ERR_PYTHON_RESULT") from error

    def _error(self, message: str, code: str) -> ToolError:
        return ToolError(message, code=code, resource=self.name)

"""The public API is a list, and the list is what there is."""

import subprocess
import sys

import pytest

import runtime
from runtime import embedding, errors
from runtime.kind import Kind, kind


def test_every_name_of_the_list_is_there() -> None:
    assert [name for name in runtime.__all__ if getattr(runtime, name, None) is None] == []


def test_every_exception_of_the_tree_is_public() -> None:
    tree = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert tree <= set(runtime.__all__)


def test_names_are_those_of_their_modules() -> None:
    assert (runtime.Kind, runtime.kind, runtime.validate) == (Kind, kind, embedding.validate)


@pytest.mark.parametrize("before", ["", "import runtime.kind; ", "from runtime import Kind; "])
def test_kind_is_the_decorator_whatever_was_imported_before(before: str) -> None:
    program = f"{before}from runtime import kind; print(kind.__module__, kind.__name__)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert (done.stdout, done.stderr) == ("runtime.kind kind\n", "")

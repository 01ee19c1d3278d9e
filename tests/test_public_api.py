"""The public API is a list, and the list is what there is."""

import runtime
from runtime import embedding, errors, kind


def test_every_name_of_the_list_is_there() -> None:
    assert [name for name in runtime.__all__ if getattr(runtime, name, None) is None] == []


def test_every_exception_of_the_tree_is_public() -> None:
    tree = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert tree <= set(runtime.__all__)


def test_names_are_those_of_their_modules() -> None:
    assert (runtime.Kind, runtime.validate) == (kind.Kind, embedding.validate)

"""The rules of model providers for names of tools."""

import pytest

from runtime.ai.provider_rules import find_name_fault, find_prefix_fault


@pytest.mark.parametrize(
    ("tool_format", "legal", "illegal"),
    [
        ("openai", ["a", "0-a_B", "x" * 64], ["", "a.b", "a b", "größe", "x" * 65]),
        ("anthropic", ["0-a_B", "x" * 128], ["a.b", "x" * 129]),
        ("gemini", ["_a.b:c-d", "x" * 64], ["0a", "-a", "x" * 65]),
        ("", ["", "a b", "x" * 999], []),
    ],
)
def test_a_name_is_legal_by_the_rules_that_the_provider_publishes(
    tool_format: str, legal: list[str], illegal: list[str]
) -> None:
    assert [name for name in (*legal, *illegal) if find_name_fault(name, tool_format) is None] == legal


def test_a_prefix_has_to_leave_room_for_a_name() -> None:
    assert find_prefix_fault("x" * 63, "openai") is None
    assert find_prefix_fault("x" * 64, "openai") == (
        "OpenAI takes 64 characters in the name of a tool, and the prefix has 64"
    )

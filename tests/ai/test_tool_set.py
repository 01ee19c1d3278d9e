"""Tools of an agent: filters, names, routing, lists that change."""

from typing import Any

import anyio
import pytest

from runtime.ai.contracts import Tool, ToolResult
from runtime.ai.tool_set import Source, ToolSet, label_sources
from runtime.errors import AgentError, McpError, ToolError

pytestmark = pytest.mark.anyio


def tool_set(*sources: Source, tool_format: str = "", max_tools: int | None = None) -> ToolSet:
    return ToolSet("Assistant", sources, tool_format, max_tools, pytest.fail)


@pytest.fixture
def files(toolbox: Any) -> Any:
    return toolbox(
        "Files", **dict.fromkeys(["read_file", "write_file", "list_directory"], lambda **arguments: arguments)
    )


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ({}, ["read_file", "write_file", "list_directory"]),
        ({"prefix": "fs_"}, ["fs_read_file", "fs_write_file", "fs_list_directory"]),
        ({"include": ["list_directory", "read_file"]}, ["read_file", "list_directory"]),
        ({"include": ["*_file"], "exclude": ["write*"], "prefix": "fs_"}, ["fs_read_file"]),
        ({"exclude": ["*"]}, []),
        ({"include": ["[rw]*_file"]}, ["read_file", "write_file"]),
    ],
)
async def test_filters_take_bare_names_and_globs_and_the_prefix_comes_last(files, rules, names):
    offer = await tool_set(Source(files, "Files", **rules)).offer()

    assert [tool.name for tool in offer.tools] == names


async def test_tool_whose_name_looks_like_a_glob_can_be_named(toolbox):
    offer = await tool_set(Source(toolbox("T", **{"a[b]": str, "c": str}), "T", include=["a[b]"])).offer()

    assert [tool.name for tool in offer.tools] == ["a[b]"]


async def test_filter_entries_that_match_nothing_are_an_error_with_the_real_names(files):
    source = Source(files, "Files", prefix="fs_", include=["fs_read_file", "list_dir"], exclude=["nothing*"])

    with pytest.raises(AgentError) as raised:
        await tool_set(source).offer()

    error = raised.value
    assert (error.code, error.resource) == ("ERR_AGENT_TOOL_FILTER", "Assistant")
    assert error.message == (
        'the filter of the provider "Files" names what it does not list: "fs_read_file", "list_dir", "nothing*"'
    )
    assert error.hint == (
        'filters take bare names, without the prefix "fs_"; the provider lists: list_directory, read_file, write_file'
    )


async def test_filter_on_a_provider_without_tools_is_an_error_unless_it_is_not_there(toolbox):
    empty = toolbox("Empty")

    with pytest.raises(AgentError) as raised:
        await tool_set(Source(empty, "Empty", include=["read"])).offer()
    empty.is_available = False

    assert raised.value.hint == "the provider lists no tools"
    assert (await tool_set(Source(empty, "Empty", include=["read"])).offer()).tools == []


async def test_two_tools_of_one_name_are_an_error_that_names_both_providers(toolbox):
    sources = [Source(toolbox("Web", search=str), "Web"), Source(toolbox("Wiki", search=str, read=str), "Wiki")]

    with pytest.raises(AgentError) as raised:
        await tool_set(*sources).offer()

    error = raised.value
    assert (error.code, error.resource) == ("ERR_AGENT_TOOL_COLLISION", "Assistant")
    assert error.message == 'the providers "Web" and "Wiki" both offer a tool "search"'
    assert error.hint == 'give one of them a prefix, such as `prefix: "wiki_"`, or exclude the tool'
    assert error.details == {"tool": "search", "providers": ["Web", "Wiki"]}


async def test_names_that_become_one_for_the_model_are_an_error_with_both_sources(toolbox):
    wiki = Source(toolbox("Wiki", **{"docs.search": str}), "Wiki")
    sources = [Source(toolbox("Web", docs_search=str), "Web"), wiki]

    with pytest.raises(AgentError) as raised:
        await tool_set(*sources, tool_format="openai").offer()

    error = raised.value
    assert (error.code, error.resource) == ("ERR_AGENT_TOOL_COLLISION", "Assistant")
    assert error.message == (
        'the tools "docs_search" of "Web" and "docs.search" of "Wiki" both come to be "docs_search", '
        "with the characters that models take in names"
    )
    assert error.hint == 'give one of them a prefix, such as `prefix: "wiki_"`, or exclude the tool'
    assert error.details == {"tool": "docs_search", "providers": ["Web", "Wiki"]}


async def test_names_of_one_provider_that_would_become_one_are_told_apart(toolbox):
    wiki = toolbox("Wiki", **{"docs.search": lambda: "dotted", "docs_search": lambda: "plain"})

    offer = await tool_set(Source(wiki, "Wiki"), tool_format="openai").offer()

    assert [tool.name for tool in offer.tools] == ["docs_search_a7e557a3", "docs_search"]
    found = offer.find("docs_search_a7e557a3")
    assert found is not None
    assert await found.call({}) == ToolResult("dotted")


async def test_prefix_settles_a_collision_and_each_call_goes_to_its_own_provider(toolbox):
    web = toolbox("Web", search=lambda: "web")
    wiki = toolbox("Wiki", search=lambda: "wiki")

    offer = await tool_set(Source(web, "Web"), Source(wiki, "Wiki", prefix="wiki_")).offer()

    assert await offer.bound["search"].call({}) == ToolResult("web")
    assert await offer.bound["wiki_search"].call({}) == ToolResult("wiki")


async def test_provider_that_lists_a_name_twice_is_named(toolbox):
    twice = toolbox("Twice", read=str)
    twice.listing = [*twice.listing, *twice.listing]

    with pytest.raises(AgentError, match='the provider "Twice" lists the tool "read" twice') as raised:
        await tool_set(Source(twice, "Twice")).offer()

    assert raised.value.code == "ERR_AGENT_TOOL_COLLISION"


async def test_names_are_not_cut_to_find_the_provider(toolbox):
    tavily = toolbox("Tavily", **{"tavily-search": lambda: "tavily"})
    web = toolbox("Web", **{"search-web": lambda: "web"})

    offer = await tool_set(Source(tavily, "Tavily", prefix="tavily-"), Source(web, "Web")).offer()

    assert list(offer.bound) == ["tavily-tavily-search", "search-web"]
    await offer.bound["tavily-tavily-search"].call({})
    assert tavily.calls == [("tavily-search", {})]


async def test_unchanged_lists_give_the_same_offer_and_list_of_tools(files):
    tools = tool_set(Source(files, "Files"), tool_format="openai")
    first = await tools.offer()

    second = await tools.offer()

    assert second is first
    assert second.block is first.block


async def test_changed_list_is_filtered_named_and_checked_again(files, toolbox):
    other = toolbox("Other", copy=str)
    tools = tool_set(Source(files, "Files", exclude=["write_file"]), Source(other, "Other"))
    await tools.offer()

    files.listing = [*files.listing, Tool("move_file", "Move.", {})]
    assert list((await tools.offer()).bound) == ["read_file", "list_directory", "move_file", "copy"]

    other.listing = [Tool("move_file", "Move.", {})]
    with pytest.raises(AgentError, match="both offer"):
        await tools.offer()
    with pytest.raises(AgentError, match="both offer"):  # the fault stays until the list changes
        await tools.offer()

    other.listing = []
    files.listing = [Tool("read_file", "Read.", {})]
    with pytest.raises(AgentError, match='names what it does not list: "write_file"'):
        await tools.offer()


async def test_tools_are_listed_when_first_asked_for_and_all_providers_at_once(toolbox):
    started: list[str] = []
    both = anyio.Event()

    class Slow:
        def __init__(self, name: str) -> None:
            self.name = name

        async def list_tools(self) -> list[Tool]:
            started.append(self.name)
            if len(started) == 2:
                both.set()
            await both.wait()
            return [Tool(f"tool_of_{self.name}", "", {})]

        async def call_tool(self, name: str, arguments: Any) -> Any:
            raise AssertionError

    tools = tool_set(Source(Slow("a"), "a"), Source(Slow("b"), "b"))
    assert started == []

    with anyio.fail_after(5):
        offer = await tools.offer()

    assert list(offer.bound) == ["tool_of_a", "tool_of_b"]


async def test_error_of_a_listing_is_raised_as_it_is(files):
    class Down:
        async def list_tools(self) -> list[Tool]:
            raise McpError("the server is gone", code="ERR_MCP_TRANSPORT", resource="Down")

        async def call_tool(self, name: str, arguments: Any) -> Any:
            raise AssertionError

    with pytest.raises(McpError) as raised:
        await tool_set(Source(files, "Files"), Source(Down(), "Down")).offer()

    assert raised.value.code == "ERR_MCP_TRANSPORT"


async def test_model_gets_legal_names_and_the_provider_its_own(toolbox):
    odd = toolbox("Odd", **{"read file": lambda **arguments: arguments, "read_file": str})

    offer = await tool_set(Source(odd, "Odd"), tool_format="openai").offer()

    names = [tool.name for tool in offer.tools]
    assert len(set(names)) == 2
    assert all(name.replace("_", "").replace("-", "").isalnum() for name in names)
    bound = offer.find(names[0])
    assert bound is not None
    assert bound.name == "read file"
    await bound.call(offer.accept(names[0], {"a": 1}))
    assert odd.calls == [("read file", {"a": 1})]
    assert offer.find("read file") is None


async def test_tool_choice_is_given_in_the_models_spelling(toolbox):
    offer = await tool_set(Source(toolbox("Odd", **{"read file": str}), "Odd"), tool_format="openai").offer()

    assert offer.choose("read file") == offer.tools[0].name
    assert [offer.choose(choice) for choice in ("auto", "none", "required")] == ["auto", "none", "required"]


@pytest.mark.parametrize(("max_tools", "limit"), [(None, 128), (5, 5)])
async def test_more_tools_than_the_model_takes_are_an_error(toolbox, max_tools, limit):
    many = Source(toolbox("Many", **{f"tool_{number}": str for number in range(limit + 1)}), "Many")

    with pytest.raises(AgentError, match=f"more than the {limit} ") as raised:
        await tool_set(many, tool_format="openai", max_tools=max_tools).offer()

    assert raised.value.code == "ERR_AGENT_TOOL_LIMIT"


async def test_model_without_a_limit_takes_any_number_of_tools(toolbox):
    many = Source(toolbox("Many", **{f"tool_{number}": str for number in range(1000)}), "Many")

    assert len((await tool_set(many, tool_format="openai", max_tools=0).offer()).tools) == 1000


async def test_no_tools_need_no_block():
    offer = await tool_set(tool_format="openai").offer()

    assert (list(offer.tools), offer.block) == ([], b"")


async def test_bound_tool_executes_to_one_string(toolbox):
    from runtime.ai.contracts import Image, Text

    shots = toolbox("Shots", shot=lambda: [Text("one"), Image("aGk=", "image/png")])
    offer = await tool_set(Source(shots, "Shots")).offer()

    assert await offer.bound["shot"].execute({}) == "one\n[Image: image/png]"


async def test_error_of_a_tool_is_raised_as_it_is(toolbox):
    def fail() -> None:
        raise ToolError("disk on fire", code="ERR_DISK")

    offer = await tool_set(Source(toolbox("Disk", fail=fail), "Disk")).offer()

    with pytest.raises(ToolError) as raised:
        await offer.bound["fail"].call({})
    assert raised.value.code == "ERR_DISK"


def test_providers_are_named_by_resource_else_by_place(toolbox):
    files = toolbox("Files")

    assert label_sources([files, object(), files]) == ["Files (entry 1)", "toolProviders[1]", "Files (entry 3)"]

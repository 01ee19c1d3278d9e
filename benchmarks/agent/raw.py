"""The reference: the official SDK's client, httpx2, and a hand-written loop, as one would write them for one program.

    python raw.py SPEC [PROMPT]

SPEC is a JSON file with `model`, the base URL, and `servers`, each `command` with `args`, or `url`. With a prompt it
runs the agent once and prints the answer, otherwise it takes jobs (`worker.py`).
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from worker import work


async def connect(server: dict[str, Any], connected: "asyncio.Future[Client]", done: asyncio.Event) -> None:
    """Hold one connection, in a task of its own: what a task enters there it must leave."""
    target = server["url"] if "url" in server else StdioServerParameters(**server)
    try:
        async with Client(target) as client:
            connected.set_result(client)
            await done.wait()
    except BaseException as error:
        if connected.done():
            raise
        connected.set_exception(error)


async def list_tools(client: Client) -> list[Any]:
    tools: list[Any] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tools


async def main(spec: dict[str, Any], prompt: str | None) -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    waiting: list[asyncio.Future[Client]] = [loop.create_future() for _ in spec["servers"]]
    pairs = zip(spec["servers"], waiting, strict=True)
    tasks = [asyncio.create_task(connect(server, connected, done)) for server, connected in pairs]
    clients = await asyncio.gather(*waiting)
    owners: dict[str, tuple[Client, str]] = {}
    offered = []
    for number, (client, tools) in enumerate(
        zip(clients, await asyncio.gather(*map(list_tools, clients)), strict=True)
    ):
        for tool in tools:
            name = f"s{number}_{tool.name}" if number else tool.name
            owners[name] = client, tool.name
            function = {"name": name, "description": tool.description or "", "parameters": tool.input_schema}
            offered.append({"type": "function", "function": function})

    async def call(name: str, arguments: dict[str, Any]) -> str:
        client, own_name = owners[name]
        result = await client.call_tool(own_name, arguments)
        return "\n".join(
            block.text if block.type == "text" else block.model_dump_json(by_alias=True) for block in result.content
        )

    async def answer(asked: dict[str, Any]) -> dict[str, Any]:
        text = await call(asked["function"]["name"], json.loads(asked["function"]["arguments"]))
        return {"role": "tool", "tool_call_id": asked["id"], "content": text}

    async with httpx2.AsyncClient(base_url=spec["model"], headers={"authorization": "Bearer k"}, timeout=120) as http:

        async def run(prompt: str) -> str:
            messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
            while True:
                body = {"model": "fake", "messages": messages, "tools": offered}
                response = (await http.post("/chat/completions", json=body)).raise_for_status()
                message = response.json()["choices"][0]["message"]
                if not message.get("tool_calls"):
                    return str(message["content"])
                messages += [message, *await asyncio.gather(*map(answer, message["tool_calls"]))]

        if prompt is None:
            await work(run, call)
        else:
            print(await run(prompt), flush=True)
    done.set()
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2] if len(sys.argv) > 2 else None))

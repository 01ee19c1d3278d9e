"""Our runtime through its Python API: `python ours.py MANIFEST` takes jobs (`worker.py`)."""

import asyncio
import sys
from typing import Any

from worker import work

import runtime


async def main(manifest: str) -> None:
    async with runtime.open_manifests(manifest) as live:
        agent, client = live["Agent"], live["S0"]

        async def run(prompt: str) -> str:
            return str((await agent.invoke({"prompt": prompt}))["text"])

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await client.call_tool(name, arguments)
            return "\n".join(block["text"] for block in result["content"])

        await work(run, call)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

"""The entry for the official MCP conformance suite: drives the product, through a manifest, as one scenario wants it.

    python tests/conformance/client.py SERVER_URL

The harness sets MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT.
"""

import asyncio
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from runtime.checks import check
from runtime.errors import Error
from runtime.lifecycle import bring_up
from runtime.manifest import read_sources
from runtime.mcp import Client
from runtime.resolver import resolve

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
METADATA_URL = "https://conformance-test.local/client-metadata.json"
BROWSER = f"{sys.executable} {Path(__file__).with_name('browser.py')} %s"
SAMPLES = {"string": "x", "number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}


class Report:
    """What the runtime tells, on standard error, where the harness keeps it."""

    def starting(self, name: str) -> None:
        self.log(name, "starting")

    def ready(self, name: str, seconds: float, summary: str) -> None:
        self.log(name, f"ready, {summary}")

    def warn(self, name: str, message: str) -> None:
        self.log(name, message)

    def log(self, name: str, message: str) -> None:
        print(f"{name}: {message}", file=sys.stderr)


def write_manifest(url: str) -> str:
    """The manifest of this scenario; JSON is YAML."""
    fields: dict[str, Any] = {
        "kind": "Mcp.HttpClient",
        "metadata": {"name": "Server"},
        "url": url,
        "elicitation": "accept",
        "connectTimeoutMs": 25_000,
        "callTimeoutMs": 25_000,
        "protocol": "legacy" if REVISION and REVISION < "2026" else "auto",
    }
    if SCENARIO.startswith("auth/"):
        fields["auth"] = choose_auth()
    return json.dumps(fields)


def choose_auth() -> dict[str, Any]:
    given = {key: CONTEXT[key] for key in ("client_id", "client_secret") if key in CONTEXT}
    own = {"clientId": given.get("client_id"), "clientSecret": given.get("client_secret")}
    own = {key: value for key, value in own.items() if value}
    if SCENARIO == "auth/client-credentials-basic":
        return {"clientCredentials": own}
    if SCENARIO == "auth/client-credentials-jwt":
        key = {"privateKey": CONTEXT["private_key_pem"], "algorithm": CONTEXT.get("signing_algorithm", "ES256")}
        return {"clientCredentials": {"clientId": CONTEXT["client_id"], **key}}
    if SCENARIO == "auth/enterprise-managed-authorization":
        provider = {
            "idToken": CONTEXT["idp_id_token"],
            "idpClientId": CONTEXT["idp_client_id"],
            "idpTokenEndpoint": CONTEXT["idp_token_endpoint"],
        }
        return {"identityAssertion": {**own, **provider}}
    return {"authorizationCode": own or {"clientMetadataUrl": METADATA_URL}}


@asynccontextmanager
async def connect(url: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        checked = check(read_sources([save_manifest(folder, url)]))
        if checked.errors:
            raise SystemExit("\n".join(str(found) for found in checked.diagnostics))
        resolved = resolve(checked, list(checked.resources.resources))
        async with bring_up(resolved, Report()) as live:
            yield live["Server"]


def save_manifest(folder: str, url: str) -> str:
    path = Path(folder, "manifest.yaml")
    path.write_text(write_manifest(url))
    return str(path)


async def call(client: Client, name: str, arguments: Mapping[str, Any]) -> None:
    """One call; what goes wrong is told and does not stop the rest: the harness judges what reached it."""
    try:
        await client.call_tool(name, arguments)
    except Error as error:
        print(f"{name}: {error}", file=sys.stderr)


async def call_everything(client: Client) -> None:
    for tool in await client.list_tools():
        schema = tool.get("inputSchema") or {}
        properties = schema.get("properties") or {}
        wanted = {name: properties.get(name, {}).get("type") for name in schema.get("required") or []}
        await call(client, tool["name"], {name: SAMPLES.get(kind, "x") for name, kind in wanted.items()})


async def use_all_named(client: Client) -> None:
    await call_everything(client)
    for resource in (await client.request("resources/list"))["resources"]:
        await client.request("resources/read", {"uri": resource["uri"]})
    for prompt in (await client.request("prompts/list"))["prompts"]:
        await client.request("prompts/get", {"name": prompt["name"]})


async def replay_calls(client: Client) -> None:
    offered = {tool["name"] for tool in await client.list_tools()}
    for wanted in CONTEXT.get("toolCalls", []):
        if wanted["name"] in offered:
            await call(client, wanted["name"], wanted.get("arguments") or {})


async def echo_schema(client: Client) -> None:
    tools = {tool["name"]: tool for tool in await client.list_tools()}
    await call(client, "json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})


async def call_in_order(client: Client) -> None:
    for name in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
        await call(client, name, {})


async def list_only(client: Client) -> None:
    await client.list_tools()


async def read_skills(client: Client) -> None:
    """List without fetching; load only where the scenario verifies, and stop at the first difference."""
    listed = await client.request("skills/list")
    if SCENARIO.endswith("no-prefetch"):
        return
    for entry in listed["skills"]:
        for part in entry["resources"]:
            text = (await client.request("resources/read", {"uri": part["uri"]}))["contents"][0]["text"]
            raw = text.encode()
            if len(raw) != part["size"] or f"sha256:{hashlib.sha256(raw).hexdigest()}" != part["digest"]:
                return
            if part["uri"] == entry["uri"]:
                head = text.split("---\n")[1]
                if dict(line.split(": ", 1) for line in head.strip().splitlines()) != entry["frontmatter"]:
                    return


STEPS = {
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo_schema,
    "http-standard-headers": use_all_named,
    "http-custom-headers": replay_calls,
    "sep-2322-client-request-state": call_in_order,
}


async def main(url: str) -> None:
    steps = read_skills if SCENARIO.startswith("sep-2640-client-") else STEPS.get(SCENARIO, call_everything)
    async with connect(url) as client:
        await steps(client)


if __name__ == "__main__":
    os.environ["BROWSER"] = BROWSER
    try:
        asyncio.run(asyncio.wait_for(main(sys.argv[1]), 40))
    except Error as error:
        sys.exit(f"{error.code}: {error}")

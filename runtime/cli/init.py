"""Write a manifest to start from, which works as it stands, and keep `.env` out of git. Nothing is overwritten."""

import os
import shlex
import shutil
from argparse import ArgumentParser, Namespace

MANIFEST = "manifest.yaml"
SERVERS = (("mcp-server-time", ""), ("uvx", "args: [mcp-server-time]\n"))
"""Commands that start the server of the manifest, the first one on PATH of which is used, each with its arguments."""

_HEAD = """\
# A manifest to start from: an agent that works without a key. Prove it, then ask it something.
#
#   runtime validate manifest.yaml
#   runtime apply manifest.yaml --prompt "{prompt}"

"""
_SERVER = """\
# An MCP server: a program that offers tools. `runtime tools manifest.yaml` lists what the agent gets of them.
kind: Mcp.StdioClient
metadata: {{ name: TimeServer }}
command: {command}
{arguments}---
kind: AiMcp.ToolProvider
metadata: {{ name: TimeTools }}
client: !ref TimeServer
---
"""
_MODEL = """\
# This model follows rules. For a real one, put OPENAI_API_KEY=... into a file .env beside this one, and replace the
# document by these lines:
#
#   kind: AiOpenai.OpenaiModel
#   metadata: { name: Model }
#   model: gpt-4o-mini
#   apiKey: "${{ secrets.openaiApiKey }}"
kind: Ai.ScriptedModel
metadata: { name: Model }
rules:
"""
_TIME_RULES = """\
  - when: { user: '(?P<zone>\\w+/\\w+)' }
    toolCalls: [{ name: time_get_current_time, arguments: { timezone: "${{ match.zone }}" } }]
  - when: { toolResult: datetime }
    text: "In ${{ result.timezone }} it is ${{ result.datetime }}."
  - text: Ask me for the time in a zone, such as Europe/Paris.
"""
_PLAIN_RULES = """\
  - when: { user: '(?:I am|my name is) (?P<name>\\w+)' }
    text: "Hello, ${{ match.name }}. Give me a server, and I will have tools."
  - text: Tell me your name.
"""
_AGENT = """\
---
kind: Ai.Agent
metadata: { name: Assistant }
model: !ref Model
system: Answer in one sentence.
"""
_TOOLS = """\
toolProviders:
  - provider: !ref TimeTools
    prefix: time_
"""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime init`."""
    parser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="where to write it; made if missing")


def run(options: Namespace) -> int:
    """0 when the files are written."""
    from runtime.errors import UsageError

    path = os.path.normpath(os.path.join(options.folder, MANIFEST))
    found = next((server for server in SERVERS if shutil.which(server[0])), None)
    try:
        os.makedirs(options.folder, exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(make_manifest(found))
        ignored = _ignore_env(os.path.normpath(os.path.join(options.folder, ".gitignore")))
    except FileExistsError:
        raise UsageError(f'"{path}" is there already', hint="nothing is overwritten: name another folder") from None
    except OSError as error:
        reason = (error.strerror or "unknown").lower()
        raise UsageError(f'cannot write "{error.filename or path}": {reason}') from error
    print(f"wrote {path}")
    if ignored:
        print(f"added .env to {ignored}")
    if found is None:
        print('no server was found for it: "python -m pip install mcp-server-time" brings one')
    print(f'next: runtime apply {shlex.quote(path)} --prompt "{_prompt(found is not None)}"')
    return 0


def make_manifest(server: tuple[str, str] | None) -> str:
    """The text, with the server that a command of `SERVERS` starts, or without one."""
    text = _HEAD.format(prompt=_prompt(server is not None))
    if server is None:
        return text + _MODEL + _PLAIN_RULES + _AGENT
    command, arguments = server
    return text + _SERVER.format(command=command, arguments=arguments) + _MODEL + _TIME_RULES + _AGENT + _TOOLS


def _prompt(has_server: bool) -> str:
    return "What time is it in Europe/Paris?" if has_server else "My name is Ada."


def _ignore_env(path: str) -> str:
    """Add `.env` to the `.gitignore`, where no line of it says so; the path where that was done."""
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
    if {".env", "/.env", ".env*", "*.env"} & {line.strip() for line in text.splitlines()}:
        return ""
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.write(("" if not text or text.endswith("\n") else "\n") + ".env\n")
    return path

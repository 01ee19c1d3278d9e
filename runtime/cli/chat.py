"""Talk with an agent: its answers as they come, and each tool call as it happens."""

import os
import re
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

import msgspec

from runtime.ai.agent import Agent
from runtime.ai.approval import approvals_by
from runtime.checks import Checked
from runtime.cli import approval, bringing_up, otel
from runtime.cli.conversation import Conversation
from runtime.cli.lines import Lines, make_lines
from runtime.cli.lock_arguments import add_locked_arguments
from runtime.cli.locking import bring_up_locked
from runtime.cli.output import encodable, print_error
from runtime.cli.progress import PlainReport
from runtime.cli.terminal_text import disarm
from runtime.cli.turn_view import TurnView
from runtime.errors import Error, UsageError
from runtime.manifest import Ref
from runtime.masking import Masker, mask_json
from runtime.registry import Entry
from runtime.resource_set import Resource
from runtime.sessions.file import SessionFile, as_data, find_file

COMMANDS = {
    "/help": "this list",
    "/tools": "the tools that the agent offers",
    "/reset": "forget what was said",
    "/save": "/save FILE writes what was said as JSON, in the form that an agent takes as `messages`",
    "/quit": "end the session, as Ctrl-D does",
}
_COMMAND = re.compile(r"(/[a-z]+)(?:\s+(.*))?", re.DOTALL)


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime chat`."""
    bringing_up.add_arguments(parser)
    parser.add_argument(
        "--session", metavar="NAME", help='keep what is said under this name, in ".runtime" beside the manifest'
    )
    approval.add_arguments(parser)
    add_locked_arguments(parser)
    otel.add_arguments(parser)


def run(options: Namespace) -> int:
    """0 at the end of the conversation; where it is read from a pipe, the code of the last turn that failed."""
    checked = bringing_up.read_checked(options, with_lock=True)
    target = _find_agent(checked, options.agent)
    resolved = bringing_up.resolve_printed(checked, [target], options)
    masker = Masker(resolved.values.secrets)
    kept = None
    if options.session is not None:
        kept = SessionFile(find_file(Path(target.source.folder)), options.session, target.title, masker)
    said = kept.load() if kept is not None else []
    chats: list[Chat] = []

    async def main(report: PlainReport) -> int:
        async with otel.traced(options, report), bring_up_locked(checked, resolved, report, options) as live:
            chat = Chat(Conversation(live[target.title], said), live[target.title], kept, masker, report, options)
            chats.append(chat)
            with approvals_by(approval.TerminalApprover(options.approve, report, masker)):
                return await chat.talk()

    return bringing_up.run_until_signal(main, options, lambda: any(chat.interrupt() for chat in chats))


def _find_agent(checked: Checked, name: str | None) -> Resource:
    """The agent to talk with: the named one; else the only target, the only one that nobody else uses, or the only one.

    Raises UsageError with the names that there are.
    """
    agents = [
        resource
        for resource in bringing_up.invocables(checked)
        if isinstance(resource.entry, Entry) and getattr(resource.entry.cls, "is_conversational", False)
    ]
    if name is not None:
        found = [resource for resource in agents if resource.name == name]
        problem = f'there is no agent "{name}"'
    else:
        application = checked.resources.application
        targets = {slot.value.name for slot in (application.slots if application else ()) if type(slot.value) is Ref}
        used = {
            slot.value.name
            for resource in checked.resources.resources
            for slot in resource.slots
            if type(slot.value) is Ref
        }
        choices = (
            [resource for resource in agents if resource.name in targets],
            [resource for resource in agents if resource.name not in used],
            agents,
        )
        found = next((choice for choice in choices if len(choice) == 1), agents)
        problem = f"the set has {len(agents)} agents to talk with"
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(resource.name) for resource in agents)
    raise UsageError(problem, hint=f'pick one with "--agent": {names}' if agents else 'declare an "Ai.Agent"')


class Chat:
    """One session: reads lines, asks the agent or does what a command says, keeps what was said."""

    def __init__(
        self,
        conversation: Conversation,
        agent: Agent,
        kept: SessionFile | None,
        masker: Masker,
        report: PlainReport,
        options: Namespace,
    ) -> None:
        self._conversation = conversation
        self._agent = agent
        self._kept = kept
        self._masker = masker
        self._report = report
        self._options = options
        self._is_terminal = sys.stdin.isatty()
        self._is_reading = False
        self._lines: Lines | None = None
        self._code = 0

    async def talk(self) -> int:
        """Until the lines end; the exit code."""
        typed = [message.content for message in self._conversation.messages if message.role == "user"]
        self._lines = make_lines(list(COMMANDS), [text for text in typed if isinstance(text, str)], self._report)
        tools = await self._agent.tools()
        if self._is_terminal:
            count = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
            self._tell(f"{self._agent.name}: {count}. /help lists the commands, Ctrl-D ends.")
            if typed:
                self._tell("the session goes on; /reset begins anew")
        while (line := await self._read(self._lines)) is not None:
            if line.strip() and not await self._follow(line):
                break
        return 0 if self._is_terminal else self._code

    async def _read(self, lines: Lines) -> str | None:
        self._is_reading = True
        try:
            return await lines.read()
        except KeyboardInterrupt:
            return ""
        finally:
            self._is_reading = False

    def interrupt(self) -> bool:
        """Ctrl-C: stops the turn, or the line that is being typed. False when the session itself has to stop."""
        if self._conversation.stop():
            return True
        if self._is_reading and self._is_terminal:
            self._tell("\nCtrl-D ends the session")
            show_prompt = getattr(self._lines, "show_prompt", None)
            if show_prompt is not None:
                show_prompt()
            return True
        return False

    async def _follow(self, line: str) -> bool:
        """Do what a line wants; False when it is the end."""
        command = _COMMAND.fullmatch(line.strip())
        if command is None:
            await self._ask(line)
            return True
        name, argument = command[1], (command[2] or "").strip()
        if name == "/quit":
            return False
        if name == "/help":
            width = max(map(len, COMMANDS))
            self._tell("\n".join(f"{each:<{width}}  {text}" for each, text in COMMANDS.items()))
            self._tell("Ctrl-C stops an answer. Esc and Enter begins another line of a question.")
        elif name == "/tools":
            await self._tell_tools()
        elif name == "/reset":
            self._conversation.messages = []
            self._keep()
            self._tell("what was said is forgotten")
        elif name == "/save":
            self._save(argument)
        else:
            self._tell(f"there is no command {disarm(name)}; the commands are: {', '.join(COMMANDS)}")
        return True

    async def _ask(self, text: str) -> None:
        view = TurnView(self._masker, self._options)
        try:
            is_done = await bringing_up.masked(self._conversation.ask(text, view.show), self._masker)
        except Error as error:
            view.end_line()
            print_error(error)
            self._code = error.exit_status
        else:
            view.end_line()
            if not is_done:
                self._tell("stopped")
        self._keep()

    def _keep(self) -> None:
        if self._kept is not None:
            self._kept.save(self._conversation.messages)

    async def _tell_tools(self) -> None:
        tools = await self._agent.tools()
        width = max((len(tool.name) for tool in tools), default=0)
        for tool in tools:
            lines = tool.tool.description.strip().split("\n")
            asks = "(asks first) " if tool.needs_approval else ""
            self._tell(f"{tool.name:<{width}}  {asks}{lines[0]}".rstrip())
        if not tools:
            self._tell("the agent has no tools")

    def _save(self, name: str) -> None:
        """Write what was said for its owner alone, in one go, never through a link."""
        if not name:
            self._tell("/save needs the name of a file")
            return
        path = os.path.expanduser(name)
        data = [mask_json(as_data(message), self._masker) for message in self._conversation.messages]
        try:
            descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".")  # of mode 0600
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
            os.replace(temporary, path)
        except OSError as error:
            self._tell(f'"{name}" cannot be written: {(error.strerror or "unknown").lower()}')
            return
        self._tell(f'{len(data)} messages are in "{name}"')

    def _tell(self, text: str) -> None:
        shown = encodable(disarm(self._masker(text)), sys.stderr)
        print(shown, file=sys.stderr, flush=True)

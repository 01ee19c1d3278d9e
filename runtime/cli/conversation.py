"""A conversation with an agent: what was said so far, and the turn that is under way."""

from collections.abc import Callable, Sequence
from contextlib import aclosing

import anyio

from runtime.ai.agent import Agent
from runtime.ai.contracts import Message
from runtime.ai.events import Event
from runtime.ai.run import Run


class Conversation:
    """`messages` is what was said, without the system text, which each turn begins with anew."""

    def __init__(self, agent: Agent, messages: Sequence[Message] = ()) -> None:
        self.messages = list(messages)
        self._agent = agent
        self._turn: anyio.CancelScope | None = None

    async def ask(self, text: str, show: Callable[[Event], None]) -> bool:
        """Ask, and show what happens; False when the turn was stopped.

        Of a turn that failed or was stopped, what was done is kept: calls with their results, but no question that
        nothing came of. Raises what the agent's run raises.
        """
        run = self._agent.start({"messages": [*self.messages, Message("user", text)]})
        with anyio.CancelScope() as self._turn:
            try:
                async with aclosing(run.events()) as events:
                    async for event in events:
                        show(event)
            finally:
                self._keep(run)
                turn, self._turn = self._turn, None
        return not turn.cancelled_caught

    def stop(self) -> bool:
        """Stop the turn that is under way; False when there is none, or it is being stopped already."""
        if self._turn is None or self._turn.cancel_called:
            return False
        self._turn.cancel()
        return True

    def _keep(self, run: Run) -> None:
        messages = run.messages
        if messages and messages[-1].role != "user":
            self.messages = messages[1:] if messages[0].role == "system" else messages

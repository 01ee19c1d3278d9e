"""`AiAnthropic.*`: models behind the Anthropic API and whatever speaks it."""

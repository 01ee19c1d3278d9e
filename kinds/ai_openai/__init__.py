"""`AiOpenai.*`: models behind the OpenAI API and whatever speaks it."""

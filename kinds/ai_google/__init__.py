"""`AiGoogle.*`: models behind the Gemini API and whatever speaks it."""

"""The bodies of the Gemini API's generateContent: what it takes, and what it gives."""

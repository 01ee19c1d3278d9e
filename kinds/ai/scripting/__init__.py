"""What `Ai.ScriptedModel` does: playing a script, and the demo that needs none."""

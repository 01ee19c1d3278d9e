"""The bodies that the OpenAI API takes and gives, one module an API."""

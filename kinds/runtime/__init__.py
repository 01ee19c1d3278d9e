"""`Runtime.*`: the application document and what any domain shares."""

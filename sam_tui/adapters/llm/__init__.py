"""Models: direct (OpenAI chat completions), litellm (everything else) and scripted (a file)."""

"""What a call does, told in the past once it is done: ``Reading: a.py`` was ``Read: a.py``."""

_IRREGULAR = {
    "Beginning": "Began",
    "Committing": "Committed",
    "Finding": "Found",
    "Getting": "Got",
    "Giving": "Gave",
    "Handing": "Handed",
    "Keeping": "Kept",
    "Making": "Made",
    "Reading": "Read",
    "Running": "Ran",
    "Sending": "Sent",
    "Thinking": "Thought",
    "Trying": "Tried",
    "Writing": "Wrote",
}
_REGULAR = (
    "Adding Asking Attaching Checking Closing Counting Creating Deleting Downloading Editing "
    "Ending Entering Fetching Generating Importing Indexing Inserting Judging Learning Listing "
    "Looking Moving Opening Patching Pruning Raising Ranking Reasoning Recalling Recording "
    "Renaming Researching Retrieving Scraping Searching Spawning Starting Storing Synthesizing "
    "Typing Updating Waiting"
)
_PAST = _IRREGULAR | {word: f"{word[:-3]}ed" for word in _REGULAR.split()}
"""Verbs of the summaries of our tools; what another tool says stays as it is."""


def past_tense(summary: str) -> str:
    """The summary with its first word in the past, where that is a verb we know."""
    end = next((n for n, letter in enumerate(summary) if not letter.isalpha()), len(summary))
    return _PAST.get(summary[:end], summary[:end]) + summary[end:]

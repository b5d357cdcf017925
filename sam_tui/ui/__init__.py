"""The terminal front end: a Textual app that draws events and asks inquiries."""

import os

# Textual's screen clock holds a typed key back for up to two of its frames: at its default of 60
# a second that was 30 ms at the 95th percentile while text streams, at 240 it is 14. It reads this
# once, when it is imported.
if not os.environ.get("TEXTUAL_FPS", "").isdecimal():
    os.environ["TEXTUAL_FPS"] = "240"

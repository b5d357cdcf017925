"""Secrets -> stable placeholders, on every way into the model's context and the logs, and back.

``Shield.mask`` finds keys by their well-known forms, by the names they are assigned to, and by value
where the value is known. ``Shield.unmask`` puts them back, for local execution only.
"""

import hmac
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from sam_tui.core.redaction.assignments import (
    assigned_secrets,
    assignments,
    goes_on,
    telling,
    unended,
    with_texts,
)
from sam_tui.core.redaction.forms import (
    DUMP_BEGUN,
    Hinted,
    drawn,
    dump_hints,
    has_escapes,
    hinted,
    plain_word,
    sought,
    wordlike,
)
from sam_tui.core.redaction.key_blocks import NAME as KEY_BLOCK
from sam_tui.core.redaction.key_blocks import blocks, lines
from sam_tui.core.text.invisible import INVISIBLE, show_invisible, shown_again

if TYPE_CHECKING:
    from sam_tui.core.redaction.divided import DividedValues

PLACEHOLDER = re.compile(r"<secret:([A-Za-z0-9_.-]{1,64}):([0-9a-f]{4,64})>")
SHORTEST_KNOWN = 6
"""The fewest characters of a value that is masked because it is known."""
_SHORTEST_SEEN, _MOST_SEEN = 8, 64
"""The fewest characters, and the most values, of what was found by its form and is redacted everywhere."""
_GAP = re.compile(
    rf"(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{{0,2000}}(?:\x07|\x1b\\)|\0|{INVISIBLE}"
    r"|\\x00|\\u(?:200[b-f]|feff))+"
)
"""Invisible text within a secret: colours, links, characters of no width, also written out."""
_CUT = "…"
"""The mark where a text was shortened."""
_SHORTEST_CUT, _LONGEST_CUT = 4, 400
"""How many characters of a known value, from its beginning, are redacted in front of such a mark."""
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets: how many were masked, under which names, and invisible characters."""

    text: str
    count: int = 0
    names: tuple[str, ...] = ()
    invisible: int = 0


_EMPTY = Masked("")


class Shield:
    """Replaces secrets by placeholders and back. It remembers each secret, so that a placeholder finds
    its value again.

    ``values`` maps names to secret values, such as provider keys and the values of ``.env`` files.
    ``key`` makes the digits of placeholders: the same key gives the same placeholders for ever.
    ``source`` returns values that became known since, such as those of a changed settings file: see
    ``refresh``. ``known`` are the placeholders of texts that another shield knows, ``returned`` names
    of secrets that it put back.
    """

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        key: bytes = b"",
        source: Callable[[], Mapping[str, str]] = dict,
        known: Mapping[str, str] = MappingProxyType({}),
        returned: Iterable[str] = (),
    ) -> None:
        self._key = key or b"sam-tui shield"
        self._values: dict[str, str] = {}
        self._placeholders: dict[str, str] = {}
        self._known: dict[str, str] = dict(known)
        self._by_length: tuple[list[int], list[str]] = ([], [])
        """The known values from the longest on, and their negated lengths, for a binary search."""
        self._worded: list[str] = []
        """The known values with blanks."""
        self._divided: DividedValues | None = None
        """Finds the known values that are divided; made when first needed."""
        self._unsorted = True
        self._heads: dict[str, list[str]] = {}
        """Known values that may be shortened, by their first characters; built when first needed."""
        self._returned = set(returned)
        """Names of the secrets that were inserted into a text: only of these, a text may contain a part."""
        self._seen_values: dict[str, set[str]] = {}
        self._given: set[str] = set()
        self._shown: set[str] = set()
        self._source = source
        self.learn(values or {})

    def learn(self, values: Mapping[str, str]) -> None:
        """Mask these values as well from now on; short ones and plain words are left alone."""
        for name, value in values.items():
            if len(value) >= SHORTEST_KNOWN and not plain_word(value):
                self._know(name, value)
        self._sort()

    def copy(self) -> "Shield":
        """A shield that masks the same, for another thread."""
        return Shield(key=self._key, known=self._known, returned=self._returned)

    def refresh(self) -> None:
        """Learn the new secrets of the source."""
        if more := self._source():
            self.learn(more)

    def mask(self, text: str) -> Masked:
        """The text with placeholders for secrets, and invisible characters written out.

        Plain strings that every match contains are searched first, so a short text costs only a few
        calls.
        """
        if not text:
            return _EMPTY
        counts: dict[str, int] = {}
        strange = not text.isascii() or "\x1b" in text or "\0" in text or "\\" in text
        if strange and _GAP.search(text):
            text = self._mask_across(text, counts)
        if "-----" in text:
            text = self._replaced(text, blocks(text), counts)
        text = self._mask_values(text, counts)
        before = len(self._known)
        text = self._mask_unknown(text, counts)
        if len(self._known) != before:
            text = self._mask_known(text, counts)
        if _CUT in text:
            text = self._mask_cut(text, counts)
        text, invisible = (text, 0) if text.isascii() else show_invisible(text, self._shown)
        if not counts:
            return Masked(text, invisible=invisible)
        self._given.update(counts)
        names = tuple(dict.fromkeys(p.split(":")[1] for p in counts))
        return Masked(text, sum(counts.values()), names, invisible)

    def redact(self, text: str) -> str:
        """The text alone, with placeholders for secrets."""
        return self.mask(text).text

    def length_of_beginning(self, text: str) -> int:
        """Return how many characters at the end may begin a known value with blanks in it, or a
        secret that goes on on the next line."""
        most = 0
        for value in self._worded:
            longest = range(min(len(value) - 1, len(text)), most, -1)
            most = next((size for size in longest if text.endswith(value[:size])), most)
        end = text.rfind("\n") + 1
        if end == 0 or any(map(str.isalpha, text[end:])):
            return most
        if re.match(DUMP_BEGUN, text[text.rfind("\n", 0, end - 1) + 1 : end]):
            from sam_tui.core.redaction.dumps import length_of_beginning

            most = max(most, length_of_beginning(text[:end], self._known) + len(text) - end)
        line, divided = text[text.rfind("\n", 0, end - 1) + 1 : end], self._index()
        length = len(line) if goes_on(line) else divided.length_of_beginning(line)
        return max(most, length and length + len(text) - end)

    def unmask(self, text: str) -> str:
        """Return the text with the values behind its placeholders; guessed placeholders stay unchanged."""
        text = shown_again(text, self._shown) if self._shown else text
        return PLACEHOLDER.sub(self._value_behind, text) if "<secret:" in text else text

    def _value_behind(self, match: re.Match[str]) -> str:
        if match[0] not in self._given:
            return match[0]
        name = match[0].split(":")[1]
        if name not in self._returned:
            self._returned.add(name)
            self._heads = {}
        return self.unmask(self._values[match[0]])  # a value may have another placeholder in it

    def unmask_data(self, data: object) -> Any:
        """The same for every text in lists and objects, such as the arguments of a call."""
        return with_texts(data, self.unmask, names=False)

    def mask_data(self, data: object) -> Any:
        """Redact every text in lists and objects; the name of a field can mark its value as a secret."""
        if isinstance(data, str):
            return self.mask(data).text
        if isinstance(data, list | tuple):
            items = [self.mask_data(item) for item in cast("Sequence[Any]", data)]
            return items if isinstance(data, list) else tuple(items)
        if isinstance(data, Mapping):
            pairs = cast("Mapping[Any, Any]", data).items()
            return {self.mask_data(key): self._mask_entry(key, value) for key, value in pairs}
        return data

    def without_known(self, data: object) -> Any:
        """Return lists and objects with placeholders for known secrets."""
        return with_texts(data, lambda text: self._mask_values(text, {}))

    def _mask_entry(self, key: object, value: object) -> object:
        if isinstance(key, str) and isinstance(value, str) and telling(key, value):
            counts: dict[str, int] = {}
            placeholder = self._seen(key, value, counts)
            self._given.update(counts)
            return placeholder
        return self.mask_data(value)

    def _mask_values(self, text: str, counts: dict[str, int]) -> str:
        """The text without the values that are known, also where dumps or line breaks divide them."""
        if not self._known:
            return text
        if hints := dump_hints(text):
            from sam_tui.core.redaction.dumps import dumped_values  # few texts have dumps

            text = self._replaced(text, list(dumped_values(text, hints, self._known)), counts)
        text = self._mask_known(text, counts)
        if ("%" in text or "\\" in text or "\x08" in text) and has_escapes(text):
            from sam_tui.core.redaction.dumps import escaped_spans

            text = self._replaced(text, list(escaped_spans(text, self._known)), counts)
        if "\n" in text or "\\n" in text:
            text = self._replaced(text, list(self._index().spans(text, self._known)), counts)
        return text

    def _mask_unknown(self, text: str, counts: dict[str, int]) -> str:
        """The text without secrets that their form or name tells, also divided ones."""
        several = "\n" in text or "\\n" in text
        searched, present, offsets = text, hinted(text), assignments(text)
        if several and (present or offsets):
            text = self._mask_continued(text, present, offsets, counts)
        for hint, form in present:
            spans = [(form.name, *span) for span in form.spans(text, hint)]
            text = self._replaced(text, spans, counts)
        if text is not searched:
            offsets = assignments(text)
        return self._replaced(text, assigned_secrets(text, offsets), counts)

    def _mask_across(self, text: str, counts: dict[str, int]) -> str:
        """The text with placeholders for secrets that colours or invisible characters stand within."""
        from sam_tui.core.redaction.dumps import known_spans  # few texts have such characters

        pieces, offsets = list[str](), list[int]()
        at = 0
        for gap in _GAP.finditer(text):
            pieces.append(text[at : gap.start()])
            offsets.extend(range(at, gap.start()))
            at = gap.end()
        joined = "".join([*pieces, text[at:]])
        offsets.extend(range(at, len(text)))
        spans = [
            *blocks(joined),
            *known_spans(joined, self._known),
            *assigned_secrets(joined, assignments(joined)),
        ]
        spans += [(f.name, *span) for hint, f in hinted(joined) for span in f.spans(joined, hint)]
        real = [(name, offsets[start], offsets[end - 1] + 1) for name, start, end in spans]
        parted = [span for span in real if _GAP.search(text, span[1], span[2])]
        return self._replaced(text, parted, counts)

    def _mask_known(self, text: str, counts: dict[str, int]) -> str:
        """The text without the values that are known, of which the longest count first."""
        lengths, values = self._by_length
        start = bisect_left(lengths, -len(text))  # a longer one cannot be in it
        present = [value for value in values[start:] if value in text]
        if not present:
            return text

        def masked(match: re.Match[str]) -> str:
            placeholder = self._known.get(match[0])
            if placeholder is None:  # the match is a placeholder already
                return match[0]
            counts[placeholder] = counts.get(placeholder, 0) + 1
            return placeholder

        return re.sub("|".join([PLACEHOLDER.pattern, *map(sought, present)]), masked, text)

    def _index(self) -> "DividedValues":
        """The known values, as they are found when line breaks divide them."""
        if self._unsorted:
            from sam_tui.core.redaction.divided import DividedValues  # only for several lines

            self._divided = self._divided or DividedValues()
            self._divided.add(value for value in self._known if not wordlike(value))
            self._unsorted = False
        return cast("DividedValues", self._divided)

    def _mask_continued(
        self, text: str, present: Sequence[Hinted], offsets: Sequence[int], counts: dict[str, int]
    ) -> str:
        """The text without secrets that are known by form or name alone and divided between lines."""
        lines = text.replace("\\n", " \n")  # as long as before
        starts = {at for hint, form in present for at in form.unended(lines, hint)}
        starts.update(unended(lines, offsets))
        if starts:
            from sam_tui.core.redaction.continued import continued_secrets  # few texts have them

            secrets = continued_secrets(lines, starts)
            text = self._replaced(text, [secret[:3] for secret in secrets], counts)
            for name, _, _, value in secrets:
                self._remember(name, value)
        return text

    def _mask_cut(self, text: str, counts: dict[str, int]) -> str:
        """The text without beginnings of known values that end where the text was cut."""
        parts = text.split(_CUT) if self._returned else [text]
        for index, part in enumerate(parts[:-1]):
            if (beginning := self._beginning(part)) is not None:
                start, value = beginning
                name = self._known[value].split(":")[1]
                placeholder = self._placeholder(name, part[start:])
                counts[placeholder] = counts.get(placeholder, 0) + 1
                parts[index] = part[:start] + placeholder
        return _CUT.join(parts)

    def _beginning(self, text: str) -> tuple[int, str] | None:
        """Return the start of the longest beginning of a known value at the end, and the value."""
        if not self._heads:
            for value, placeholder in self._known.items():
                if len(value) > _SHORTEST_CUT and placeholder.split(":")[1] in self._returned:
                    self._heads.setdefault(value[:_SHORTEST_CUT], []).append(value)
        for start in range(max(0, len(text) - _LONGEST_CUT), len(text) - _SHORTEST_CUT + 1):
            for value in self._heads.get(text[start : start + _SHORTEST_CUT], ()):
                if value.startswith(text[start:]):
                    return start, value
        return None

    def _replaced(
        self, text: str, spans: Sequence[tuple[str, int, int]], counts: dict[str, int]
    ) -> str:
        """The text with placeholders at (name, start, end), none of which overlap another."""
        if not spans:
            return text
        pieces: list[str] = []
        at = 0
        for name, start, end in sorted(spans, key=lambda span: span[1]):
            if start >= at:
                pieces += [text[at:start], self._seen(name, text[start:end], counts)]
                at = end
        return "".join([*pieces, text[at:]])

    def _seen(self, name: str, value: str, counts: dict[str, int]) -> str:
        placeholder = self._placeholder(name, value)
        counts[placeholder] = counts.get(placeholder, 0) + 1
        self._remember(name, value)
        return placeholder

    def _remember(self, name: str, value: str) -> None:
        """From now on recognise, anywhere, a value that was found by its form."""
        if value in self._seen_values or value in self._known:
            return
        if _GAP.search(value) or dump_hints(value):
            return
        parts = list(lines(value)) if name == KEY_BLOCK else [value]
        parts = [part for part in parts if len(part) >= _SHORTEST_SEEN and drawn(part)]
        self._seen_values[value] = {new for part in parts for new in self._know(name, part)}
        if len(self._seen_values) > _MOST_SEEN:
            for old in self._seen_values.pop(next(iter(self._seen_values))):
                self._known.pop(old, None)
        self._sort()

    def _know(self, name: str, value: str) -> list[str]:
        """Remember a placeholder for each spelling of a value; returns the new spellings."""
        from sam_tui.core.text.spellings import spellings  # only where a value is known

        forms = [v for v in spellings(value) if v not in self._known and not PLACEHOLDER.search(v)]
        self._known.update((form, self._placeholder(name, form)) for form in forms)
        return forms

    def _sort(self) -> None:
        # The longest first: a value may be part of another.
        self._known = dict(sorted(self._known.items(), key=lambda pair: (-len(pair[0]), pair)))
        self._heads, self._unsorted = {}, True
        self._by_length = ([-len(value) for value in self._known], list(self._known))
        self._worded = [value for value in self._known if any(map(str.isspace, value))]

    def _placeholder(self, name: str, value: str) -> str:
        """Return the placeholder of a value; its digits grow if two values would share them."""
        issued = self._placeholders.get(value)
        if issued is not None:
            return issued
        digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
        label = _UNSAFE_NAME.sub("_", name)[:64] or "value"
        size = 4
        while (placeholder := f"<secret:{label}:{digest[:size]}>") in self._values:
            size += 4
        self._values[placeholder] = value
        self._placeholders[value] = placeholder
        return placeholder

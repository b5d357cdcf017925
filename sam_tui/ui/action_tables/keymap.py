"""The keys of actions: defaults from the table of actions, replaced by the person's settings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from textual.binding import Binding

from sam_tui.ui.action_tables.action import WorkbenchAction

FIXED = ("cancel", "interrupt", "terminal")
"""Actions whose keys cannot be changed, because other code checks these keys too."""
_RESERVED = frozenset({
    "escape",
    "enter",
    "tab",
    "space",
    "backspace",
    "up",
    "down",
    "left",
    "right",
})
_NAMED = frozenset({"pageup", "pagedown", "home", "end", "insert", "delete", *_RESERVED})
_MODIFIERS = ("ctrl", "alt", "shift")
_SIGNS = {
    "]": "right_square_bracket", "[": "left_square_bracket", "\\": "backslash", "/": "slash",
    ".": "full_stop", ",": "comma", ";": "semicolon", "-": "minus", "=": "equals_sign",
    "_": "underscore", "@": "at", "?": "question_mark",
    "pgup": "pageup", "pgdn": "pagedown", "esc": "escape",
}  # fmt: skip
_FUNCTION = re.compile(r"f(?:[1-9]|1[0-9]|2[0-4])")


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys of every action by name, and faults in the person's settings."""

    keys: Mapping[str, tuple[str, ...]]
    faults: tuple[str, ...] = ()
    focusing: Mapping[str, str] = field(default_factory=dict[str, str])

    def bindings(self, actions: Iterable[WorkbenchAction]) -> list[Binding]:
        """A Textual binding for every action that is not local."""
        return [
            Binding(key, f"app.perform('{action.name}')", action.title, show=False)
            for action in actions
            if not action.local
            for key in self.keys[action.name]
        ]


def resolved_keys(
    actions: Sequence[WorkbenchAction],
    chosen: Mapping[str, tuple[str, ...]],
    focusing: Sequence[str],
) -> Keymap:
    """Return the keys of the actions, with those ``chosen`` by action. The first choice of a key counts."""
    choice = _Choice({action.name: action for action in actions})
    for name, texts in chosen.items():
        choice.take(name, texts)
    keys = {action.name: choice.keys_of(action) for action in actions}
    leading = {key: name for name in focusing for key in keys.get(name, ())}
    return Keymap(keys, tuple(choice.faults), leading)


@dataclass(slots=True)
class _Choice:
    """The person's choices so far: keys by action, actions by key, and faults."""

    actions: Mapping[str, WorkbenchAction]
    chosen: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    owners: dict[str, str] = field(default_factory=dict[str, str])
    faults: list[str] = field(default_factory=list[str])

    def take(self, name: str, texts: Sequence[str]) -> None:
        """Give an action its chosen keys; a key that cannot be used becomes a fault."""
        if fault := _refusal(name, self.actions):
            self.faults.append(fault)
            return
        keys = [key for text in texts if (key := self._free(name, text))]
        self.owners |= dict.fromkeys(keys, name)
        if keys or not texts:
            self.chosen[name] = tuple(keys)

    def _free(self, name: str, text: str) -> str:
        """The key that a text means, or empty if another action has it."""
        key = key_of(text)
        holders = [action for action in self.actions.values() if key in action.keys]
        fixed = next((a.name for a in holders if a.local or a.name in FIXED), "")
        if not key:
            fault = (
                f"“{text}” is not a key that can be set: take one with Ctrl or Alt, or F1 to F24."
            )
        elif self.owners.get(key, name) != name:
            fault = f"{text} is already set for {self.owners[key]}."
        elif fixed:
            fault = f"{text} belongs to “{fixed}”."
        else:
            return key
        self.faults.append(f"keys.{name}: {fault}")
        return ""

    def keys_of(self, action: WorkbenchAction) -> tuple[str, ...]:
        """The keys of an action: those the person chose, else its default keys that no chosen key takes."""
        if action.name in self.chosen or action.local:
            return self.chosen.get(action.name, action.keys)
        for key in action.keys:
            if key in self.owners:
                self.faults.append(f"keys.{self.owners[key]} takes {key} from {action.name}.")
        return tuple(key for key in action.keys if key not in self.owners)


def _refusal(name: str, actions: Mapping[str, WorkbenchAction]) -> str:
    if name not in actions:
        near = get_close_matches(name, actions, 1, 0.6)
        meant = f" Did you mean “{near[0]}”?" if near else " docs/keys.md lists the actions."
        return f"keys.{name}: there is no such action.{meant}"
    if actions[name].local or name in FIXED:
        return f"keys.{name}: its keys are fixed."
    return ""


def key_of(text: str) -> str:
    """A key as people write it by Textual's name, such as ``Ctrl+X`` or ``alt-]``; empty for none.

    A letter without Ctrl or Alt is text, and what edits or moves keeps its meaning.
    """
    words = list(filter(None, re.split(r"(?<=[a-z])[+-]", text.strip().lower())))
    if not words:
        return ""
    *names, last = words
    last = _SIGNS.get(last, last)
    modifiers = [modifier for modifier in _MODIFIERS if modifier in names]
    if len(modifiers) != len(names):  # an unknown or a repeated modifier
        return ""
    if not _is_free(last):
        is_key = len(last) == 1 or last in _SIGNS.values() or last in _NAMED
        if not is_key or {"ctrl", "alt"}.isdisjoint(modifiers):
            return ""
    return "+".join([*modifiers, last])


def _is_free(key: str) -> bool:
    """Whether a key neither types text nor moves the cursor."""
    return bool(_FUNCTION.fullmatch(key)) or key in _NAMED - _RESERVED

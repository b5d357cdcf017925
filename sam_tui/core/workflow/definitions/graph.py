"""The order of steps: what comes before and after each, circles, and what can never begin."""

from collections.abc import Mapping, Sequence


def ancestors(step: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Everything that must be done before a step; unknown names are left out."""
    above: set[str] = set()
    waiting = [n for n in needs.get(step, ()) if n in needs]
    while waiting:
        current = waiting.pop()
        if current not in above:
            above.add(current)
            waiting.extend(n for n in needs[current] if n in needs)
    return above


def dependents(step: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    """The steps that depend on ``step``, directly or through others."""
    return {other for other in needs if other != step and step in ancestors(other, needs)}


def cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """One circle of steps that wait for each other, first step repeated at its end; else nothing."""
    done: set[str] = set()
    for start in needs:
        path: list[str] = []
        circle = _walk(start, needs, path, done)
        if circle:
            return circle
    return []


def unreachable(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Steps that can never begin, because they wait for a circle or for what does not exist."""
    open_: set[str] = set()
    while True:
        more = {s for s, n in needs.items() if s not in open_ and all(x in open_ for x in n)}
        if not more:
            return [s for s in needs if s not in open_]
        open_ |= more


def _walk(
    step: str, needs: Mapping[str, Sequence[str]], path: list[str], done: set[str]
) -> list[str]:
    """Depth first, without recursion, so that a long chain is no danger."""
    stack: list[tuple[str, int]] = [(step, 0)]
    while stack:
        current, index = stack.pop()
        if index == 0:
            if current in done:
                continue
            path.append(current)
        following = [n for n in needs.get(current, ()) if n in needs]
        if index == len(following):
            path.remove(current)
            done.add(current)
            continue
        stack.append((current, index + 1))
        other = following[index]
        if other in path:
            return [*path[path.index(other) :], other]
        stack.append((other, 0))
    return []

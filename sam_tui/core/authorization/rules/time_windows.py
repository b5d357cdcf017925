"""The times at which a rule holds: hours of the day, days of the week, until a date; in local time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WHOLE_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Window:
    """A time window. ``start`` and ``end`` are minutes of the day, ``days`` as in ``DAYS``.

    A window whose end is before its start goes over midnight and belongs to the day it began on.
    ``until`` is seconds since the epoch.
    """

    start: int = 0
    end: int = _WHOLE_DAY
    days: frozenset[str] = frozenset(DAYS)
    until: float | None = None

    @classmethod
    def of(cls, between: str = "", days: tuple[str, ...] = (), until: str = "") -> "Window":
        """From ``22:00-06:00``, day names, and an ISO date or time; raises ``ValueError``."""
        start, end = _hours(between) if between else (0, _WHOLE_DAY)
        chosen = frozenset(day.lower()[:3] for day in days) or frozenset(DAYS)
        if unknown := chosen - set(DAYS):
            raise ValueError(f"{', '.join(sorted(unknown))} is not a day of the week")
        return cls(start, end, chosen, _instant(until) if until else None)

    @property
    def always(self) -> bool:
        """Whether it leaves no time out."""
        return self == Window()

    def open(self, now: float) -> bool:
        """Whether it holds at a time, in seconds since the epoch."""
        if self.until is not None and now >= self.until:
            return False
        if self.start == 0 and self.end == _WHOLE_DAY and len(self.days) == len(DAYS):
            return True
        local = datetime.fromtimestamp(now)
        minute = local.hour * 60 + local.minute
        if self.start <= self.end:
            return self.start <= minute < self.end and DAYS[local.weekday()] in self.days
        if minute >= self.start:
            return DAYS[local.weekday()] in self.days
        yesterday = local - timedelta(days=1)
        return minute < self.end and DAYS[yesterday.weekday()] in self.days


def _hours(between: str) -> tuple[int, int]:
    first, dash, last = between.replace(" ", "").partition("-")
    if not dash:
        raise ValueError(f"{between!r} is not like 09:00-18:00")
    start, end = _minute(first), _minute(last)
    if start == end:
        raise ValueError(f"{between!r} begins and ends at the same minute")
    return start, end


def _minute(text: str) -> int:
    hour, colon, minute = text.partition(":")
    if not (colon and hour.isdigit() and minute.isdigit() and int(minute) < 60):
        raise ValueError(f"{text!r} is not like 09:00")
    value = int(hour) * 60 + int(minute)
    if value > _WHOLE_DAY:
        raise ValueError(f"{text!r} is later than 24:00")
    return value


def _instant(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise ValueError(f"{text!r} is not like 2030-01-31 or 2030-01-31T18:00") from None

"""The program that PythonComputationalTool runs in a sandbox; it needs only the standard library.

It reads ``{"operation", "data", "parameters"}`` as JSON from standard input and prints one JSON
object. It is started by its path and imports nothing of ours.
"""

import csv
import html
import json
import math
import random
import statistics
import sys
from typing import Any, cast

Row = dict[str, Any]
SEED = 42
_WIDTH, _HEIGHT, _EDGE = 640, 400, 50


class Unusable(ValueError):
    """Data or parameters that nothing can be computed from; the text says why."""


def table(data: str) -> list[Row]:
    """Rows by column name, from JSON (a list of objects, or of numbers) or CSV with a heading."""
    text = data.strip()
    if not text:
        raise Unusable("input_data is empty: give CSV with a heading, or a JSON list of objects")
    if text[0] in "[{":
        value: object = json.loads(text)
        if isinstance(value, dict):
            inner = cast("Row", value)
            lists: list[object] = [v for v in inner.values() if isinstance(v, list)]
            value = lists[0] if lists else [inner]
        listed = cast("list[Any]", value)
        rows = [cast("Row", r) if isinstance(r, dict) else {"value": r} for r in listed]
    else:
        try:
            dialect = csv.Sniffer().sniff(text[:4096], delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel
        rows = [
            dict(row) for row in csv.DictReader(text.splitlines(keepends=True), dialect=dialect)
        ]
    if not rows:
        raise Unusable("there are no rows in input_data")
    return rows


def number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        value_read = float(str(value).strip())
    except ValueError:
        return None
    return value_read if math.isfinite(value_read) else None


def numeric_columns(rows: list[Row]) -> list[str]:
    """The columns whose values are all numbers or empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [
        name
        for name in names
        if any(number(row.get(name)) is not None for row in rows)
        and all(number(row.get(name)) is not None or row.get(name) in (None, "") for row in rows)
    ]


def column(rows: list[Row], name: str) -> list[float]:
    """The numbers of a column."""
    return [n for row in rows if (n := number(row.get(name))) is not None]


def described(rows: list[Row]) -> Row:
    """Counts, mean, spread and quartiles of each numeric column; the commonest of the others."""
    numeric = numeric_columns(rows)
    columns: Row = {}
    for name in dict.fromkeys(key for row in rows for key in row):
        if name in numeric:
            values = column(rows, name)
            quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
            columns[name] = {
                "count": len(values),
                "missing": len(rows) - len(values),
                "mean": statistics.fmean(values),
                "stdev": statistics.stdev(values) if len(values) > 1 else 0.0,
                "min": min(values),
                "q1": quarters[0],
                "median": statistics.median(values),
                "q3": quarters[2],
                "max": max(values),
            }
            continue
        texts = [str(row[name]) for row in rows if row.get(name) not in (None, "")]
        common = sorted(set(texts), key=lambda t: (-texts.count(t), t))[:5] if texts else []
        columns[name] = {
            "count": len(texts),
            "missing": len(rows) - len(texts),
            "distinct": len(set(texts)),
            "commonest": {text: texts.count(text) for text in common},
        }
    return {"rows": len(rows), "columns": columns}


def correlated(rows: list[Row], target: str) -> Row:
    """Pearson's coefficient of every two numeric columns, or of each with the target."""
    names = numeric_columns(rows)
    if target and target not in names:
        raise Unusable(f"target_column {target!r} is not numeric; numeric are: {', '.join(names)}")
    correlation: Row = {}
    for a in [target] if target else names:
        correlation[a] = {}
        for b in names:
            pairs = [
                (x, y)
                for row in rows
                if (x := number(row.get(a))) is not None and (y := number(row.get(b))) is not None
            ]
            correlation[a][b] = _pearson(pairs)
    return {"rows": len(rows), "correlation": correlation}


def _pearson(pairs: list[tuple[float, float]]) -> float | None:
    if len(pairs) < 2:
        return None
    try:
        return round(statistics.correlation([x for x, _ in pairs], [y for _, y in pairs]), 6)
    except statistics.StatisticsError:
        return None


def chart(rows: list[Row], parameters: Row) -> Row:
    """An SVG of one column over another: bar, line, scatter, or a histogram of one."""
    kind = parameters.get("chart_type", "bar")
    numeric = numeric_columns(rows)
    names = list(rows[0])
    y = str(parameters.get("y_column") or next(iter(numeric), ""))
    x = str(parameters.get("x_column") or next((n for n in names if n != y), y))
    if kind == "histogram":
        points = _bins(column(rows, str(parameters.get("x_column") or y)))
    else:
        points = [(str(row.get(x, "")), n) for row in rows if (n := number(row.get(y))) is not None]
    if kind not in ("bar", "line", "scatter", "histogram"):
        raise Unusable("chart_type is bar, line, scatter or histogram")
    if not points:
        raise Unusable(f"column {y!r} has no numbers; numeric are: {', '.join(numeric) or 'none'}")
    title = str(parameters.get("title") or f"{y} by {x}")
    return {"svg": _svg(kind, points, title), "points": len(points), "x": x, "y": y}


def _bins(values: list[float]) -> list[tuple[str, float]]:
    if not values:
        return []
    low, high = min(values), max(values)
    count = max(1, min(20, math.ceil(math.sqrt(len(values)))))
    step = (high - low) / count or 1.0
    hits = [0.0] * count
    for value in values:
        hits[min(count - 1, int((value - low) / step))] += 1
    return [(f"{low + i * step:.4g}", hit) for i, hit in enumerate(hits)]


def _svg(kind: str, points: list[tuple[str, float]], title: str) -> str:
    heights = [y for _, y in points]
    low, high = min(0.0, *heights), max(0.0, *heights)
    across, up = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE
    positions = [number(x) for x, _ in points]
    spread = kind == "scatter" and all(p is not None for p in positions)

    def at(index: int, value: float) -> tuple[float, float]:
        share = (index + 0.5) / len(points)
        if spread:
            numbers = [p for p in positions if p is not None]
            left, right = min(numbers), max(numbers)
            share = ((positions[index] or 0.0) - left) / ((right - left) or 1.0)
        return _EDGE + share * across, _HEIGHT - _EDGE - (value - low) / ((high - low) or 1.0) * up

    base = at(0, 0.0)[1]
    marks: list[str] = []
    spots = [at(i, y) for i, y in enumerate(heights)]
    if kind == "line":
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        marks.append(f'<polyline fill="none" stroke="#2b6cb0" stroke-width="2" points="{path}"/>')
    for (x, y), (label, value) in zip(spots, points, strict=True):
        tooltip = f"<title>{html.escape(label)}: {value:g}</title>"
        if kind in ("bar", "histogram"):
            wide = across / len(points) * 0.8
            top, tall = min(y, base), abs(y - base)
            marks.append(
                f'<rect x="{x - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
                f' fill="#2b6cb0">{tooltip}</rect>'
            )
        else:
            marks.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#2b6cb0">{tooltip}</circle>'
            )
    for index in range(0, len(points), max(1, len(points) // 10)):
        label = html.escape(points[index][0][:12])
        marks.append(
            f'<text x="{spots[index][0]:.1f}" y="{_HEIGHT - _EDGE + 16}" font-size="10"'
            f' text-anchor="middle">{label}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' font-family="sans-serif"><title>{html.escape(title)}</title>'
        f'<text x="{_WIDTH / 2}" y="24" font-size="14" text-anchor="middle">{html.escape(title)}</text>'
        f'<line x1="{_EDGE}" y1="{base:.1f}" x2="{_WIDTH - _EDGE}" y2="{base:.1f}" stroke="#444"/>'
        f'<text x="4" y="{_EDGE}" font-size="10">{high:g}</text>'
        f'<text x="4" y="{_HEIGHT - _EDGE}" font-size="10">{low:g}</text>{"".join(marks)}</svg>'
    )


def learned(rows: list[Row], parameters: Row) -> Row:
    """A model of the target from the other numeric columns, judged on rows it has not seen."""
    target = str(parameters.get("target_column") or "")
    if not target or target not in rows[0]:
        raise Unusable(f"target_column is missing; columns are: {', '.join(rows[0])}")
    features = [name for name in numeric_columns(rows) if name != target]
    if not features:
        raise Unusable("there is no numeric column beside the target")
    kind = parameters.get("model_type") or (
        "regression" if target in numeric_columns(rows) else "classification"
    )
    usable = _samples(rows, features, target)
    share = float(parameters.get("test_size", 0.2))
    if not 0 < share < 1 or len(usable) < 5:
        raise Unusable("at least five whole rows, and a test_size between 0 and 1")
    random.Random(SEED).shuffle(usable)
    cut = max(1, round(len(usable) * share))
    test, train = usable[:cut], usable[cut:]
    judged = _regression(train, test) if kind == "regression" else _classes(train, test)
    shape = {
        "features": features,
        "target": target,
        "train_rows": len(train),
        "test_rows": len(test),
    }
    return {"model_type": kind, "seed": SEED, **shape, **judged}


Sample = list[tuple[list[float], object]]


def _samples(rows: list[Row], features: list[str], target: str) -> Sample:
    """The rows that have a number for every feature, and a value of the target."""
    samples = [([number(row.get(name)) for name in features], row.get(target)) for row in rows]
    return [
        ([n for n in x if n is not None], y)
        for x, y in samples
        if None not in x and y not in (None, "")
    ]


def _regression(train: Sample, test: Sample) -> Row:
    """Score least squares by how much more of the variance it explains than the mean alone."""
    complete = [(x, n) for x, y in train if (n := number(y)) is not None]
    weights = _least_squares([[1.0, *x] for x, _ in complete], [y for _, y in complete])
    truth = [(x, n) for x, y in test if (n := number(y)) is not None]
    if not truth:
        raise Unusable("the target has no numbers to test on")
    guesses = [sum(w * v for w, v in zip(weights, [1.0, *x], strict=True)) for x, _ in truth]
    mean = statistics.fmean(y for _, y in complete)
    wrong = sum((y - g) ** 2 for (_, y), g in zip(truth, guesses, strict=True))
    base = sum((y - mean) ** 2 for _, y in truth)
    return {
        "method": "least squares",
        "intercept": weights[0],
        "coefficients": weights[1:],
        "rmse": math.sqrt(wrong / len(truth)),
        "rmse_of_the_mean": math.sqrt(base / len(truth)),
        "r2": 1 - wrong / base if base else None,
    }


def _least_squares(inputs: list[list[float]], outputs: list[float]) -> list[float]:
    """The normal equations by elimination; a trace on the diagonal keeps like columns apart."""
    size = len(inputs[0])
    grid = [
        [sum(row[i] * row[j] for row in inputs) + (1e-9 if i == j else 0.0) for j in range(size)]
        + [sum(row[i] * y for row, y in zip(inputs, outputs, strict=True))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(grid[r][i]))
        grid[i], grid[pivot] = grid[pivot], grid[i]
        if abs(grid[i][i]) < 1e-15:
            raise Unusable("the columns say the same thing: there is no one solution")
        for other in range(size):
            if other != i:
                factor = grid[other][i] / grid[i][i]
                grid[other] = [a - factor * b for a, b in zip(grid[other], grid[i], strict=True)]
    return [grid[i][size] / grid[i][i] for i in range(size)]


def _classes(train: Sample, test: Sample) -> Row:
    """Score Gaussian naive Bayes against always guessing the commonest class."""
    groups: dict[str, list[list[float]]] = {}
    for x, y in train:
        groups.setdefault(str(y), []).append(x)
    shapes = {
        name: [
            (statistics.fmean(values), max(statistics.pvariance(values), 1e-9))
            for values in zip(*samples, strict=True)
        ]
        for name, samples in groups.items()
    }

    def guess(x: list[float]) -> str:
        def fit(name: str) -> float:
            prior = math.log(len(groups[name]) / len(train))
            return prior - sum(
                (v - m) ** 2 / (2 * s) + 0.5 * math.log(2 * math.pi * s)
                for v, (m, s) in zip(x, shapes[name], strict=True)
            )

        return max(sorted(shapes), key=fit)

    common = max(sorted(groups), key=lambda name: len(groups[name]))
    right = sum(guess(x) == str(y) for x, y in test)
    return {
        "method": "Gaussian naive Bayes",
        "classes": {name: len(samples) for name, samples in sorted(groups.items())},
        "accuracy": right / len(test),
        "accuracy_of_the_commonest": sum(str(y) == common for _, y in test) / len(test),
    }


def computed(request: Row) -> Row:
    """The result of an operation. Raises ``Unusable``, ``ValueError``."""
    rows = table(str(request.get("data", "")))
    parameters: Row = request.get("parameters") or {}
    match request.get("operation"):
        case "data_analysis" if parameters.get("analysis_type") == "correlation":
            return correlated(rows, str(parameters.get("target_column") or ""))
        case "data_analysis":
            return described(rows)
        case "visualization":
            return chart(rows, parameters)
        case _:
            return learned(rows, parameters)


def main() -> int:
    """Read, compute, print; 1 for data that nothing can be computed from."""
    try:
        output = computed(json.loads(sys.stdin.read()))
    except (ValueError, TypeError, OverflowError) as error:
        json.dump({"error": str(error)}, sys.stdout)
        return 1
    json.dump(output, sys.stdout, allow_nan=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""get_errors: the workspace's own checkers, found, run and read."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.code.conftest import Workshop

RUFF: list[Any] = [
    {
        "code": "F821",
        "filename": "{root}/a.py",
        "location": {"row": 3, "column": 5},
        "message": "Undefined name `x`",
    },
    {
        "code": "F401",
        "filename": "{root}/a.py",
        "location": {"row": 1, "column": 8},
        "message": "`os` imported but unused",
    },
]
PYRIGHT: dict[str, Any] = {
    "generalDiagnostics": [
        {
            "file": "{root}/a.py",
            "severity": "error",
            "message": "Not an int\n  really",
            "range": {"start": {"line": 1, "character": 9}},
            "rule": "reportAssignmentType",
        }
    ]
}
TY: list[Any] = [
    {
        "check_name": "invalid-assignment",
        "description": "invalid-assignment: Not an int",
        "severity": "major",
        "location": {"path": "a.py", "positions": {"begin": {"line": 2, "column": 10}}},
    }
]
ESLINT: list[Any] = [
    {
        "filePath": "{root}/web/a.js",
        "messages": [
            {
                "ruleId": "no-undef",
                "severity": 2,
                "message": "x is not defined",
                "line": 1,
                "column": 1,
            },
            {"ruleId": None, "severity": 1, "message": "File ignored"},
        ],
    }
]
CARGO: list[Any] = [
    {"reason": "compiler-artifact", "fresh": True},
    {
        "reason": "compiler-message",
        "message": {
            "level": "error",
            "code": {"code": "E0308"},
            "message": "mismatched types",
            "spans": [
                {
                    "is_primary": False,
                    "file_name": "src/other.rs",
                    "line_start": 9,
                    "column_start": 9,
                },
                {
                    "is_primary": True,
                    "file_name": "src/main.rs",
                    "line_start": 2,
                    "column_start": 7,
                },
            ],
        },
    },
    {
        "reason": "compiler-message",
        "message": {"level": "error", "message": "aborting", "spans": []},
    },
    {"reason": "build-finished", "success": False},
]


def printing(root: Path, *values: object, code: int = 0, noise: str = "") -> str:
    """A shell script that prints JSON values, one a line."""
    lines = [json.dumps(value).replace("{root}", str(root)) for value in values]
    body = "\n".join(lines)
    return f"echo '{noise}' >&2\ncat <<'END'\n{body}\nEND\nexit {code}"


CHECKERS: dict[str, tuple[str, str, list[Any], list[str]]] = {
    "ruff": ("pyproject.toml", "ruff", RUFF, ["a.py:3:5: error F821: Undefined name `x` [ruff]",
             "a.py:1:8: warning F401: `os` imported but unused [ruff]"]),
    "pyright": ("pyrightconfig.json", "pyright", [PYRIGHT],
                ["a.py:2:10: error reportAssignmentType: Not an int really [pyright]"]),
    "ty": ("ty.toml", "ty", [TY], ["a.py:2:10: error invalid-assignment: Not an int [ty]"]),
    "eslint": ("eslint.config.js", "eslint", [ESLINT],
               ["web/a.js:1:1: error no-undef: x is not defined [eslint]",
                "web/a.js: warning: File ignored [eslint]"]),
    "cargo check": ("Cargo.toml", "cargo", CARGO,
                    ["src/main.rs:2:7: error E0308: mismatched types [cargo]"]),
}  # fmt: skip


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch):
    """Only what a workspace brings, and what every system has."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.mark.requirement("files:errors-reports")
@pytest.mark.parametrize("name", CHECKERS)
async def test_json_reports_become_diagnostics(shop: Workshop, name: str):
    marker, program, report, lines = CHECKERS[name]
    shop.write(marker, "")
    shop.program(program, printing(shop.root, *report, code=1, noise="a warning"))
    done = await shop.done("get_errors")
    head, *rest = done.finished.text.splitlines()
    assert [line for line in rest if not line.startswith("not run: ")] == lines
    assert name in head


@pytest.mark.requirement("files:errors-reports")
@pytest.mark.parametrize(
    ("marker", "program", "printed", "line"),
    [
        (
            "tsconfig.json",
            "tsc",
            "src/a.ts(3,7): error TS2322: Type 'string' is not assignable.\n  more of it",
            "src/a.ts:3:7: error TS2322: Type 'string' is not assignable. [tsc]",
        ),
        (
            "tsconfig.json",
            "tsc",
            "error TS18003: No inputs were found.",
            "error TS18003: No inputs were found. [tsc]",
        ),
        (
            "go.mod",
            "go",
            "# example.com/a\nvet: ./a.go:4:2: undefined: x",
            "a.go:4:2: error: undefined: x [go]",
        ),
        (
            "Package.swift",
            "swift",
            "Building\n" + 2 * "{root}/S/a.swift:5:9: warning: never used\n",
            "S/a.swift:5:9: warning: never used [swift]",
        ),
    ],
)
async def test_plain_reports_become_diagnostics(
    shop: Workshop, marker: str, program: str, printed: str, line: str
):
    shop.write(marker, "")
    text = printed.replace("{root}", str(shop.root))
    shop.program(program, f"cat <<'END'\n{text}\nEND\nexit 2")
    done = await shop.done("get_errors")
    assert done.finished.text.splitlines()[1:] == [line]


@pytest.mark.requirement("files:errors-honest")
async def test_where_nothing_can_check_it_says_what_it_looked_for(shop: Workshop):
    text = await shop.refused("get_errors")
    assert "Nothing here can check this workspace" in text
    assert all(name in text for name in ("ruff", "pyright", "ty", "tsc", "eslint", "swift build"))
    shop.write("go.mod", "module x\n")
    assert "go vet (go.mod asks for it, no go found)" in await shop.refused("get_errors")
    assert "these files" in await shop.refused("get_errors", filePaths=["go.mod"])
    # A link of another user's process, which may not be followed.
    assert "get_errors failed" not in await shop.refused(
        "get_errors", filePaths=["/proc/1/root/x.py"]
    )


@pytest.mark.requirement("files:errors-honest")
async def test_a_checker_that_breaks_is_no_success(shop: Workshop):
    shop.write("go.mod", "module x\n")
    shop.program("go", "echo 'go: cannot find main module' >&2\nexit 1")
    executed = await shop("get_errors")
    assert not executed.finished.ok
    assert executed.finished.text.splitlines() == [
        "nothing could be checked",
        "go vet failed: ended with exit code 1: go: cannot find main module",
    ]
    shop.write("eslint.config.mjs", "")
    shop.program("eslint", "echo 'Oops! Something went wrong'\nexit 2")
    assert "printed no report that can be read" in (await shop("get_errors")).finished.text
    shop.program("go", "exit 0")
    mixed = await shop.done("get_errors")
    assert mixed.finished.text.startswith("no problems by go vet")
    assert "eslint failed" in mixed.finished.text


@pytest.mark.requirement("files:errors-commands")
async def test_named_files_alone_are_reported_and_every_access_is_declared(shop: Workshop):
    shop.write("pyproject.toml", "")
    shop.write("a.py", "")
    shop.write("b c.py", "")
    shop.program("ruff", printing(shop.root, *RUFF))
    shop.program("pyright", 'echo "$@" > "$PWD/asked"; echo "{}"')
    operation = next(o for o in shop.tool.operations if o.name == "get_errors")
    arguments = operation.arguments.model_validate({"filePaths": ["b c.py"]})
    kinds = [(a.kind, getattr(a, "parameter", "")) for a in operation.accesses(arguments)]
    assert kinds == [("read", "filePaths[0]"), ("run", ""), ("run", "")]
    done = await shop.done("get_errors", filePaths=["b c.py"])
    assert done.finished.text.startswith("no problems by ruff")
    assert shop.read("asked") == f"--outputjson {shop.root}/b c.py\n"
    both = await shop.done("get_errors", filePaths=["."])
    assert len(both.data["diagnostics"]) == 2


@pytest.mark.requirement("files:errors-commands")
async def test_a_checker_is_confined_and_a_name_cannot_become_a_command(shop: Workshop):
    if shop.sandbox.confinement.kind == "none":
        pytest.skip("this kernel cannot confine commands")
    outside = shop.root.parent / "touched"
    shop.write("pyproject.toml", "")
    name = f"a'; touch {shop.root.name}x; '.py"
    shop.write(name, "")
    shop.program("ruff", f"touch {outside}; true")
    await shop("get_errors", filePaths=[name])
    assert sorted(p.name for p in shop.root.parent.iterdir()) == ["data", "ws"]
    assert not [p for p in shop.root.iterdir() if p.name.startswith("wsx")]


@pytest.mark.requirement("files:errors-syntax")
async def test_syntax_is_looked_at_without_any_program(shop: Workshop):
    shop.write("a.py", "def f(:\n    pass\n")
    shop.write("b.py", "x = '\\d'\nreturn 1\n")
    shop.write("c.json", '{"a": 1,}\n')
    shop.write("d.toml", "a = \n")
    shop.write("tsconfig.json", "{ // comments are fine\n}\n")
    shop.write("good.py", "print(1)\n")
    done = await shop.done("get_errors", filePaths=["a.py", "b.py", "c.json", "d.toml"])
    places = [(d["file"], d["line"], d["source"]) for d in done.data["diagnostics"]]
    assert places == [
        ("a.py", 1, "python"),
        ("b.py", 2, "python"),
        ("c.json", 1, "json"),
        ("d.toml", 1, "toml"),
    ]
    assert done.finished.text.startswith("4 errors by syntax")
    good = await shop.done("get_errors", filePaths=["good.py"])
    assert good.finished.text.splitlines()[0] == "no problems by syntax"
    shop.write("x.ts", "")
    assert "tsc (tsconfig.json" in await shop.refused("get_errors", filePaths=["x.ts"])
    assert "none was not found" in await shop.refused("get_errors", filePaths=["none"])


@pytest.mark.requirement("files:errors-found")
async def test_projects_below_the_workspace_are_found_and_one_python_type_checker_is_enough(
    shop: Workshop,
):
    shop.write("service/pyproject.toml", "")
    for name in ("ruff", "pyright", "ty"):
        shop.program(name, "pwd > $PWD/here; test ${0##*/} = pyright && echo {}; exit 0")
    done = await shop.done("get_errors")
    assert [c["name"] for c in done.data["checkers"]] == ["ruff", "pyright"]
    assert shop.read("service/here") == f"{shop.root}/service\n"
    (shop.root / ".venv/bin/pyright").unlink()
    shop.program("ty", "echo '[]'")
    done = await shop.done("get_errors")
    assert [c["name"] for c in done.data["checkers"]] == ["ruff", "ty"]
    assert done.data["missing"] == []

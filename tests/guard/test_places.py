"""What counts as a place that later runs or instructs, and which content of one starts nothing."""

from pathlib import Path

import pytest

from sam_tui.core.authorization.paths.git_config import leads
from sam_tui.core.authorization.paths.places import leads_to_places, place_of, reason, surroundings

INITIAL = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


def judged(
    root: Path, path: str, after: str, before: str | None = None, *, earlier: str = ""
) -> str:
    """Why somebody is asked about it; empty when nobody is."""
    place = place_of(str(root / path), str(root))
    assert place is not None, path
    old = None if before is None else before.encode()
    led = leads(earlier.encode())
    return reason(place, str(root / path), old, after.encode(), roots=[str(root)], leads=led)


@pytest.mark.requirement("guard:places-grammar")
@pytest.mark.parametrize(
    "added",
    [
        '[remote "o"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/o/*\n',
        '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n\trebase = true\n',
        "[user]\n\tname = A\n\temail = a@example.org\n",
        "[core]\n\thooksPath = .husky/_\n\tfsmonitor = true\n\tautocrlf = input\n",
        "[core] ignorecase = true ; why not\n# [core] pager = x\n",
        '[submodule "lib"]\n\turl = ../lib\n\tactive = true\n\tupdate = merge\n',
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n',
        "[extensions]\n\tworktreeConfig = true\n",
        "[core]\n\tworktree = ..\n",
    ],
)
def test_a_git_configuration_that_starts_nothing_passes(tmp_path: Path, added: str) -> None:
    assert judged(tmp_path, ".git/config", INITIAL + added, INITIAL) == ""


@pytest.mark.requirement("guard:places-grammar")
def test_the_work_tree_of_a_repository_is_its_own_folder_or_its_submodules(tmp_path: Path) -> None:
    """Git writes through a link that takes the place of any other one."""
    (tmp_path / "link").symlink_to("/etc")
    cases = [
        (".git/modules/lib/a/config", "../../../../lib/a", True),
        (".git/modules/lib/modules/a/config", "../../../../../lib/a", True),
        (".git/modules/lib/config", "../../../other", False),
        (".git/modules/link/config", "../../../link", False),
        (".git/config", "../lib", False),
        ("lib/.git/config", "../../other", False),
    ]
    for path, tree, passes in cases:
        after = f"{INITIAL}[core]\n\tworktree = {tree}\n"
        assert (judged(tmp_path, path, after, INITIAL) == "") is passes, path


@pytest.mark.requirement("guard:places-grammar")
@pytest.mark.parametrize(
    "added",
    [
        "[core]\n\tfsmonitor = touch x; false\n",
        "[core]fsmonitor=x\n",
        "[CORE]\n\tFsMonitor = x\n",
        '[core]\n\tfsmonitor = "tr\\\nue x"\n',
        "[core] bare = false\n[core]\n\thooksPath = hooks\n",
        '[core]\n\thooksPath = " .husky"\n',
        "[core]\n\tsshCommand = x\n\n",
        "[core]\n\tworktree = /etc\n",
        "[core]\n\tpager\n",
        "[alias]\n\tst = !x\n",
        '[filter "x"]\n\tclean = x\n',
        '[filter "lfs"]\n\tclean = x\n',
        '[diff "a"]\n\ttextconv = x\n',
        "[diff]\n\texternal = x\n",
        '[credential "https://example.org"]\n\thelper = x\n',
        "[gpg]\n\tprogram = x\n",
        "[include]\n\tpath = ../x\n",
        '[includeIf "gitdir:/"]\n\tpath = ../x\n',
        '[url "x"]\n\tinsteadOf = y\n',
        '[remote "o"]\n\turl = ext::sh -c x\n',
        '[remote "o"]\n\tuploadpack = x\n',
        '[branch "main"]\n\tremote = ext::x\n',
        '[branch "main"]\n\tremote = /outside\n',
        '[branch "main"]\n\tremote = origin\n\tpushRemote = o\n',
        '[remote "o"]\n\tpromisor = true\n',
        "[extensions]\n\tpartialClone = o\n",
        '[submodule "a"]\n\tupdate = !x\n',
        "[gc]\n\trecentObjectsHook = x\n",
        "[something]\n\tnew = x\n",
        "[a.b]\n\tc = x\n",
        "[core\n\tpager = x\n",
        "# a note\n[core]\n\tpager = x\n",
    ],
)
def test_a_git_configuration_that_starts_or_leads_asks(tmp_path: Path, added: str) -> None:
    assert judged(tmp_path, ".git/config", INITIAL + added, INITIAL)
    assert judged(tmp_path, ".git/modules/a/config", added)
    assert judged(tmp_path, ".git/config", INITIAL + added, INITIAL + added) == ""


@pytest.mark.requirement("guard:places-grammar")
def test_what_is_there_stays_and_what_leads_is_not_turned(tmp_path: Path) -> None:
    remote = INITIAL + '[remote "o"]\n\turl = a\n'
    assert judged(tmp_path, ".git/config", remote.replace("= a", "= b"), remote)
    other = INITIAL + '[remote "o"]\n\turl = b\n'
    assert judged(tmp_path, ".git/config", other, INITIAL) == ""
    assert "b in place of a" in judged(tmp_path, ".git/config", other, INITIAL, earlier=remote)
    branch = '[branch "m"]\n\tremote = {}\n'
    two = remote + '[remote "p"]\n\turl = {}\n' + branch
    assert judged(tmp_path, ".git/config", two.format("b", "p"), two.format("b", "o"))
    assert judged(
        tmp_path, ".git/config", two.format("b", "p"), INITIAL, earlier=two.format("b", "o")
    )
    assert judged(tmp_path, ".git/config", two.format("a", "p"), two.format("a", "o")) == ""
    assert judged(
        tmp_path, ".git/config", two.format("b", "o") + "\tpushRemote = p\n", two.format("b", "o")
    )
    pager = INITIAL + "[core]\n\tpager = less\n"
    assert judged(tmp_path, ".git/config", pager + "[core]\n\tbare = true\n", pager) == ""
    assert judged(tmp_path, ".git/config", pager.replace("less", "x"), pager)
    assert judged(tmp_path, ".git/config", INITIAL, pager) == ""


@pytest.mark.requirement("guard:places-grammar")
def test_pointers_stay_in_the_repository_and_branches_may_have_any_name(tmp_path: Path) -> None:
    home = f"gitdir: {tmp_path}/.git/worktrees/w\n"
    assert judged(tmp_path, "w/.git", home) == ""
    assert judged(tmp_path, "w/.git", "gitdir: ../.git/modules/w\n") == ""
    for away in ("gitdir: /etc\n", "gitdir: ../prepared\n", "gitdir: ../.git/../prepared\n", "x"):
        assert judged(tmp_path, "w/.git", away), away
    assert judged(tmp_path, ".git/worktrees/w/commondir", "../..\n") == ""
    assert judged(tmp_path, ".git/worktrees/w/commondir", "../../../prepared\n")
    for branch in ("refs/heads/config", "refs/heads/hooks/x", "logs/refs/heads/hooks/x"):
        assert place_of(f"{tmp_path}/.git/{branch}", str(tmp_path)) is None
    assert judged(tmp_path, ".git/modules/a/refs/heads/config", "a" * 40 + "\n") == ""
    assert judged(tmp_path, ".lfsconfig", "[lfs]\n\turl = https://away.test/lfs\n")
    assert judged(tmp_path, ".git/hooks/pre-commit", "#!/bin/sh\n")
    assert place_of(f"{tmp_path}/.git/hooks/pre-commit.sample", str(tmp_path)) is None
    todo = ".git/rebase-merge/git-rebase-todo"
    assert judged(tmp_path, todo, "pick a b\nx touch y\n")
    assert judged(tmp_path, todo, "pick a b\n") == ""
    options = "[options]\n\tsignoff = true\n\tstrategy = {}\n\tstrategy-option = theirs\n"
    for name, text in (("rebase-merge/strategy", "{}\n"), ("sequencer/opts", options)):
        for folder in (".git/", ".git/worktrees/a/", ".git/modules/a/", "bare/"):
            assert judged(tmp_path, f"{folder}{name}", text.format("ort")) == "", name
            assert judged(tmp_path, f"{folder}{name}", text.format("x/evil")), name
    for text in (
        'strategy = "x/evil"',
        "[options] strategy = x/evil",
        "[options]\nStrategy = x/\\\nevil",
    ):
        assert judged(tmp_path, ".git/sequencer/opts", text), text


@pytest.mark.requirement("guard:places-grammar")
def test_a_repository_under_another_name_is_one_by_its_head(tmp_path: Path) -> None:
    assert place_of(f"{tmp_path}/bare/config", str(tmp_path)) is None
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("config", "hooks/pre-push", "commondir", "remotes/o"):
        assert place_of(f"{tmp_path}/bare/{name}", str(tmp_path)) is not None, name


PLACES = """
    .cursor/mcp.json .windsurf/rules/a.md .gemini/settings.json .claude-plugin/plugin.json .clinerules
    .clinerules/a.md .github/prompts/a.prompt.md .github/agents/a.md .github/hooks/a.json .qwen/x
    WARP.md .openhands/setup.sh .agent/rules/a.md .kilocode/x .roomodes crush.json opencode.jsonc
    sub/AGENT.md .mise.toml mise.toml mise.local.toml .mise/config.toml .config/mise/config.toml
    .config/mise.toml .tool-versions sub/.tool-versions .direnv/flake-profile.rc .envrc .bashrc.d/a
    .lessfilter .helix/languages.toml .emacs.d/init.el .config/nvim/init.lua .iex.exs .rdbgrc .renviron
    .ipython/profile_default/startup/a.py lefthook.yml .lefthook-local.toml lefthook.json prek.toml
    .pre-commit-config.yaml .devcontainer/devcontainer.json .gitpod.yml .idx/dev.nix devfile.yaml
    .semaphore/a.yml .builds/a.yml .readthedocs.yaml cloudbuild.yaml azure-pipelines.yaml bunfig.toml
    uv.toml nuget.config NuGet.Config .bundle/config .mvn/extensions.xml .pnpmfile.mjs
    .config/autostart/a.desktop .config/systemd/user/a.service Library/LaunchAgents/a.plist .xprofile
    .sl/config .hg/hgrc .jj/repo/config.toml .aiassistant/rules/a.md .gitlab/duo/chat-rules.md .amp/a
    .rvmrc sub/.autoenv.zsh .envrc.local .config/starship.toml .local/bin/git .config/zsh/.zshrc
    .lintstagedrc.json lint-staged.config.mjs rust-analyzer.toml
    .config/pip/pip.conf .venv/pip.conf .pypirc .gradle/init.d/a.gradle
    .bsp/a.json buildServer.json .vs/tasks.vs.json .lazy.lua jupyter_server_config.py ipython_config.py
    mise/config.toml mise.production.toml .prototools .flox/env/manifest.toml .huskyrc.json hk.pkl
    commitlint.config.js .git-hooks/pre_commit/a.rb .pi/settings.json .gitpod/a.yaml .RData .perldb
    .repo/repo/main.py .hg/hgrc-not-shared .corepack.env sub/.git/remotes/origin
    .git/branches/origin .git/modules/a/remotes/origin
    .github/copilot/settings.json .aider.model.settings.yml .openhands_instructions .kilo/x OpenCode.md
    .bolt/prompt conductor.json .emdash.json .mux/init firebender.json .forge.toml .pr_agent.toml
    .luarc.json hie.yaml .hie-bios .merlin .lsp/config.edn .phpactor.json .solargraph.yml .factorypath
    bin/activate-hermit .erlang .yarn/releases/yarn.cjs .yarn/plugins/a.cjs .luarocks/config-5.4.lua
    pdm.toml .pixi/config.toml .bowerrc .bazelrc .bazeliskrc .buckconfig .gitreview .west/config
    _darcs/prefs/defaults .trunk/trunk.yaml simple-git-hooks.js .simple-git-hooks.json .nano-staged.json
    lint-staged.config.mts .lintstagedrc.cts netlify.toml vercel.json .taskcluster.yml .gitea/actions/a.yml
    .config/emacs/init.el .config/sway/config .config/Code/User/tasks.json .config/hg/hgrc .jjconfig.toml
    .local/share/systemd/user/a.service .local/share/applications/a.desktop .docker/cli-plugins/a
    .local/share/nvim/site/plugin/a.vim .config/gdb/gdbinit .config/bash_completion .pyenv/shims/python
    .local/lib/python3.11/site-packages/usercustomize.py .local/lib/python3.11/site-packages/a.pth
    .config/containers/systemd/a.container .selected_editor .makepkg.conf .muttrc .config/polybar/config
    .config/xonsh/rc.xsh .julia/config/startup.jl .mongoshrc.js .zsh/a.zsh .zshrc.zwc .cargo/bin/git
    .\u017fam/policy.toml .hu\u017fky/pre-commit .g\u200cit/hooks/pre-push .vscode\u2060/tasks.json
"""
ORDINARY = """
    Makefile justfile Taskfile.yml package.json pyproject.toml setup.py conftest.py build.rs
    build.gradle Dockerfile compose.yaml flake.nix deno.json .nvmrc .python-version rust-toolchain.toml
    tsconfig.json .eslintrc.js eslint.config.mjs .prettierrc .editorconfig .gitignore .gitattributes
    README.md .github/CODEOWNERS .github/dependabot.yml .config/app.toml .sl/store/a .cache/a
    agents/run.py tools/mise.md node_modules/a/.tool-versions node_modules/a/.cursor/x
    vendor/a/.mise.toml .gitmodules .mailmap Makefile.local tox.ini noxfile.py ansible.cfg
    .venv/lib/python3/site-packages/sitecustomize.py .venv/lib/python3/site-packages/a.pth
    .venv/bin/activate gradlew tools/bazel renovate.json pnpm-workspace.yaml .clangd .trunk/out/a
    .local/lib/python3.11/site-packages/a/b.py .local/lib/a.so .local/share/app/a .lsp/.cache/a
    .yarn/cache/a.zip bin/run
"""


@pytest.mark.requirement("guard:places")
def test_programs_in_the_home_folder_are_places_where_a_login_searches_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, script = str(tmp_path), f"{tmp_path}/bin/ls"
    assert (place_of(script, root), leads_to_places(f"{root}/bin", root)) == (None, False)
    assert surroundings(f"{root}/bin", root) == surroundings(f"{root}/src", root)
    monkeypatch.setenv("HOME", root)
    assert place_of(script, root) is not None and leads_to_places(f"{root}/bin", root)
    assert place_of(f"{root}/src/bin/ls", root) is None and place_of(script, f"{root}/bin") is None
    assert surroundings(f"{root}/bin", root) != surroundings(f"{root}/src", root)


@pytest.mark.requirement("guard:places")
def test_what_runs_unasked_or_instructs_is_a_place_and_what_a_build_runs_is_none(
    tmp_path: Path,
) -> None:
    root = str(tmp_path)
    assert [path for path in PLACES.split() if not judged(tmp_path, path, "new", "old")] == []
    assert [path for path in ORDINARY.split() if place_of(f"{root}/{path}", root) is not None] == []


@pytest.mark.requirement("guard:places")
def test_what_a_trusted_envrc_has_a_shell_run_is_a_place_beside_it(tmp_path: Path) -> None:
    assert place_of(f"{tmp_path}/flake.nix", str(tmp_path)) is None
    (tmp_path / ".envrc").write_text("use flake\n")
    assert place_of(f"{tmp_path}/flake.nix", str(tmp_path)) is not None


@pytest.mark.requirement("guard:places")
def test_where_a_repository_has_its_hooks_elsewhere_that_folder_is_a_place(tmp_path: Path) -> None:
    root, tree = tmp_path / "r", tmp_path / "tree"
    hook = "Tools/Git/pre-commit"
    for folder in (root / ".git/worktrees/t", tree):
        folder.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {root}/.git/worktrees/t\n")
    (root / ".git/worktrees/t/commondir").write_text("../..\n")
    for value, places in (
        ("tools/git", (root, tree)), ("./tools/x/../git/", (root, tree)), (f"{root}/tools", (root,)),
        ("", ()), ("/etc", ()), (".", ()), ("..", ()),
    ):  # fmt: skip
        (root / ".git/config").write_text(f"[core]\n\thooksPath = {value}\n")
        found = [f for f in (root, tree) if place_of(f"{f}/{hook}", str(f)) is not None]
        assert found == list(places), value
    (root / ".git/config").write_text("no configuration")
    assert place_of(f"{root}/{hook}", str(root)) is None


CONFIGURED = """
[include]
	path = ../tools/shared
[includeIf "onbranch:x"]
	path = ../tools/Branch
[core]
	fsmonitor = tools/watch
[alias]
	st = status
	go = "!tools/go \'a b\'"
[filter "x"]
	clean = python3 filter.py %f
[blame]
	ignoreRevsFile = tools/revs
"""


@pytest.mark.requirement("guard:places-grammar")
def test_a_file_that_the_configuration_includes_or_runs_is_one(tmp_path: Path) -> None:
    root = str(tmp_path)
    for folder in (".git", "tools"):
        (tmp_path / folder).mkdir()
    for name in ("tools/watch", "tools/go", "filter.py", "status", "python3", "tools/revs"):
        (tmp_path / name).touch()
    (tmp_path / ".git/config").write_text(CONFIGURED)
    (tmp_path / "tools/shared").write_text(
        "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = more\n"
    )
    for name in ("tools/watch", "tools/go", "filter.py", "tools/hooks/pre-commit"):
        assert judged(tmp_path, name, "x"), name
    for name in ("tools/shared", "tools/branch", "tools/more"):
        assert judged(tmp_path, name, "[user]\n\tname = x\n") == "", name
        assert judged(tmp_path, name, "[core]\n\tpager = x\n"), name
    for name in ("status", "python3", "tools/revs", "tools/other"):
        assert place_of(f"{root}/{name}", root) is None, name
    (tmp_path / "filter.py").unlink()
    assert judged(tmp_path, "filter.py", "x")
    (tmp_path / "tools/more").write_text("[core]\n\thooksPath = tools/other\n")
    assert place_of(f"{root}/tools/other/pre-commit", root)
    assert leads_to_places(f"{root}/tools", root, "elsewhere")


@pytest.mark.requirement("guard:places-grammar")
def test_husky_may_set_itself_up_and_nothing_else_may(tmp_path: Path) -> None:
    hook = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"'
    assert judged(tmp_path, ".husky/_/pre-commit", hook) == ""
    assert judged(tmp_path, ".husky/_/pre-commit", hook + "; x")
    assert judged(tmp_path, ".husky/_/h", "x")
    assert judged(tmp_path, ".husky/pre-commit", hook)


@pytest.mark.requirement("guard:places")
def test_a_link_in_place_of_any_part_of_a_places_path_is_one(tmp_path: Path) -> None:
    root = str(tmp_path)
    for path in (
        ".local", ".local/share", ".local/share/systemd", "sub/.pixi", ".yarn/releases", ".local/lib",
        ".local/lib/python3.11/site-packages",
    ):  # fmt: skip
        assert leads_to_places(f"{root}/{path}", root, "../elsewhere"), path
    for path in ("bin", "share", "sub/.yarn/cache", ".venv"):
        assert not leads_to_places(f"{root}/{path}", root, "../elsewhere"), path

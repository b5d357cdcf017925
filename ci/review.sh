#!/bin/sh
# Review what this branch changed since BASE. Findings are printed, and written to OUT (./sam-tui-review) as
# review.json, review.sarif and review.xml. The model is named by SAM_TUI_MODEL and the variables of its key.
# SAM_TUI_FAIL_ON (never): error, warning or note ends with 4 where there is such a finding.
set -eu
out=${OUT:-sam-tui-review}
base=$(git rev-parse --verify --quiet --end-of-options "${BASE:?is what the branch is compared with}^{commit}") || {
    echo "There is no commit $BASE here: fetch it first (fetch-depth: 0)." >&2
    exit 2
}
mkdir -p "$out"
out=$(cd "$out" && pwd)
git diff --no-ext-diff --no-textconv --no-color "$base...HEAD" > "$out/change.diff"
if [ "${GITHUB_ACTIONS:-}" = true ]; then # words of a model are no commands of the runner
    token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$token"
    trap 'echo "::$token::"' EXIT
fi
sam-tui review --diff "$out/change.diff" --fail-on "${SAM_TUI_FAIL_ON:-never}" \
    --json "$out/review.json" --sarif "$out/review.sarif" --junit "$out/review.xml" "$@"

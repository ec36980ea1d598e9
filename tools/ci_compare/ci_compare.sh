#!/bin/sh
# Builds two revisions of a project's plugin, times both in one run of bench, and compares them:
#
#   ci_compare.sh BUILD PLUGIN BASE [HEAD] [-- OPTION...]
#
# BUILD is a command for a shell in the root of the project, and PLUGIN the file that it makes, from
# there. BASE and HEAD are revisions; without HEAD, or if it is empty, the working tree is built where
# it lies. Each OPTION goes to bench, e.g. --profile smoke. From the environment: ROPEWALK is the
# command (ropewalk), CI_COMPARE_OUT a folder for results and plugins (ci-compare-out), which is made
# anew, and CI_COMPARE_OPTIONS words for compare, e.g. "--max-regression 10 --unresolved fail".
#
# Exit code: that of compare: 0 no regression, 1 a regression, 3 it cannot tell and --unresolved fail;
# 2 bad usage, or a build or a run that failed.
set -eu
fail() { echo "ci_compare.sh: $*" >&2; exit 2; }
[ $# -ge 3 ] || fail 'usage: ci_compare.sh BUILD PLUGIN BASE [HEAD] [-- OPTION...]'
build=$1 plugin=$2 base=$3 head=
shift 3
if [ $# -gt 0 ] && [ "$1" != -- ]; then head=$1; shift; fi
if [ $# -gt 0 ]; then [ "$1" = -- ] || fail "no OPTION stands before --: $1"; shift; fi
ropewalk=${ROPEWALK:-ropewalk} out=${CI_COMPARE_OUT:-ci-compare-out}
command -v "$ropewalk" >/dev/null || fail "no command $ropewalk: ROPEWALK names it"
root=$(git rev-parse --show-toplevel) || fail 'not in a git repository'
if [ -e "$out" ] && [ ! -e "$out/ci_compare" ]; then fail "$out is there and not from here"; fi
rm -rf "$out"
mkdir -p "$out"
: >"$out/ci_compare"
trees=$(mktemp -d)
tidy_up() {
  for tree in "$trees"/*; do git -C "$root" worktree remove --force "$tree" 2>/dev/null || :; done
  rm -rf "$trees"
}
trap tidy_up EXIT
trap 'exit 2' INT TERM HUP

# build_in SIDE FOLDER
build_in() {
  (cd "$2" && sh -c "$build") >&2 || fail "$1 cannot be built"
  [ -f "$2/$plugin" ] || fail "the build of $1 makes no $plugin"
  mkdir "$out/$1"
  cp "$2/$plugin" "$out/$1/"
}
# check_out SIDE REVISION
check_out() {
  git -C "$root" worktree add -q --detach "$trees/$1" "$2" || fail "no revision $2"
  build_in "$1" "$trees/$1"
}
check_out base "$base"
if [ -n "$head" ]; then check_out head "$head"; else build_in head "$root"; fi
file=$(basename "$plugin")
code=0
"$ropewalk" bench --plugin "base=$out/base/$file" --plugin "head=$out/head/$file" \
  --kernel 'base:*' --kernel 'head:*' --no-baselines --out "$out" "$@" || code=$?
case $code in 0 | 1 | 3) ;; *) fail "bench ended with exit code $code" ;; esac
# shellcheck disable=SC2086
"$ropewalk" compare "$out/results.jsonl" ${CI_COMPARE_OPTIONS-}

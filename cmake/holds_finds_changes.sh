#!/bin/sh
# The negative control of holds.sh, cli_page.sh and architecture.sh: each planted change is seen.
#   cmake/holds_finds_changes.sh SOURCE_DIR EXECUTABLE WORK_DIR
set -eu
source=$1 ropewalk=$2 work=$3
here=$(dirname "$0")
rm -rf "$work"
mkdir -p "$work"
failed=0

must_differ() {  # must_differ WORDS FILE COMMAND...: the difference must show the words
  words=$1
  shift
  if "$here/holds.sh" "$@" >"$work/out" 2>&1; then echo "not seen: $words"; failed=1
  elif ! grep -qF -- "$words" "$work/out"; then
    echo "seen, but not told: $words"; head -n 20 "$work/out"; failed=1
  fi
}

planted_option() {  # a command whose help says one word otherwise
  printf '#!/bin/sh\n"%s" "$@" | sed "%s"\n' "$ropewalk" "$1" >"$work/ropewalk"
  chmod +x "$work/ropewalk"
}
page=$source/docs/cli.md
planted_option 's/--jobs N/--judges N/'
must_differ '+| `--judges N` |' "$page" "$here/cli_page.sh" "$work/ropewalk"
planted_option 's/^  merge /  join /'
must_differ '+| [`join`]' "$page" "$here/cli_page.sh" "$work/ropewalk"
planted_option 's/a kernel may become slower/a kernel may not become slower/'
must_differ 'a kernel may not become slower' "$page" "$here/cli_page.sh" "$work/ropewalk"
must_differ 'failed: ' "$page" "$here/cli_page.sh" "$work/none"
must_differ 'printed nothing: ' "$page" true

# A wider layout of the same help, as another version of CLI11 prints it, is no change.
for layout in 's/=5$/ [5] /' \
    's/^Options:/OPTIONS:/;s/^\\(  -[^ ][^ ]* [A-Z]*  \\) */\\1          /'; do
  planted_option "$layout"
  "$here/holds.sh" "$page" "$here/cli_page.sh" "$work/ropewalk" || failed=1
done

# A new include, an include that goes round in a circle, and no source at all.
tree=$work/tree
planted_include() {  # planted_include FILE HEADER: in a copy of the sources
  rm -rf "$tree"
  mkdir "$tree"
  (cd "$source" && cp -r base benchmarks harness kernels properties reference reports tools "$tree")
  printf '#include "%s"\n' "$2" >>"$tree/$1"
}
picture=$source/docs/architecture.svg
planted_include reports/numbers/summary.cpp base/system/program.h
must_differ '+reports/numbers includes base, base/system, ' "$picture" "$here/architecture.sh" "$tree"
planted_include reports/pages/render_pages.cpp harness/cases/case.h
must_differ 'a circle of includes at ' "$picture" "$here/architecture.sh" "$tree"
mkdir "$work/empty"
must_differ 'failed: ' "$picture" "$here/architecture.sh" "$work/empty"
exit "$failed"

#!/bin/sh
# Judges and times the adapters of build/release, in the profile PROFILE (default: smoke), and writes
# docs/findings/peers.md: adapters.sh peers. The last section of the page is written by hand, and stays.
set -eu
env=$1 page=$PWD/docs/findings/peers.md profile=${PROFILE:-smoke}
ours='--no-cuda --no-baselines --kernel plain --kernel plain_f32_angle --kernel phase --kernel avx*'
hand=$(sed -n '/^## Checked by hand/,$p' "$page" 2>/dev/null) || hand=
cd build/release/adapters
plugins=$(echo *.so)
set -f  # the shell leaves the globs of kernels alone

row() { printf '| %s | %s |\n' "$1" "$2"; }
code() { printf '\n```text\n'; cat; printf '```\n'; }

# The error of one pair in parts of its length, at the position $3. Empty: the kernel was not judged.
error() {
  ../ropewalk replay "kernel=$1 plugin=$4 property=agreement contract=$2 rotary_dim=128 positions=$3 \
q.heads=1 q.head_dim=128" 2>/dev/null | awk '$1 == "error" && $2 + 0 > 0 { printf "%.1e\n", $2 }
    $1 == "margin" { printf "%.1e\n", $2 * $7 / 2 ^ 24 }'
}

angles() {  # a table of each kernel of the plugin that makes its own angles
  ../ropewalk list --json --no-cuda --plugin "$1" --kernel "$2" |
    sed -n 's/.*"kernel":"\([^"]*\)".*"angle_contract":"\(f32_angle\|exact\)".*/\1 \2/p' |
    while read -r kernel contract; do
      [ -n "$(error "$kernel" "$contract" 1 "$1")" ] || continue
      printf '\n| position | error of `%s` against `%s` |\n|--:|--:|\n' "$kernel" "$contract"
      for power in 10 12 14 16 17 18 20 22 24 26 28 30; do
        row "2^$power" "$(error "$kernel" "$contract" $((1 << power)) "$1")"
      done
      row '2^31 - 1' "$(error "$kernel" "$contract" 2147483647 "$1")"
    done
}

{
  printf '# Peers\n\nLibraries of other projects, behind the [adapters](../../kernels/adapters). The command\n'
  printf '`tools/adapters/adapters.sh peers` wrote all but the last section on %s.\n\n' "$(date +%F)"
  printf '| what | version |\n|---|---|\n'
  row ropewalk "$(../ropewalk --version), $(git describe --always --dirty 2>/dev/null || echo 'no commit')"
  for plugin in $plugins; do
    library=$(sed -n 's|^// Adapter: \([^ ]*\) .*|\1|p' "../../../kernels/adapters/${plugin%.so}.cpp")
    row "$library" "$("$env/bin/python" -m pip show "$library" 2>/dev/null | sed -n 's/^Version: //p')"
  done
  row machine "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, $(uname -sr)"
  printf '\n## Verdicts\n\nProfile %s. Replay lines are for the folder `build/release/adapters`.\n' "$profile"
  for plugin in $plugins; do
    ../ropewalk verify --profile "$profile" --no-cuda --plugin "./$plugin" --kernel "${plugin%.so}*" 2>&1 |
      grep -v '^ *not offered' | code
  done
  printf '\n## Angles\n\nThe largest error of a pair, in parts of its length, 64 pairs of base 10,000 in f32. 2 is the\n'
  printf 'opposite direction. A library that is not here takes the table that it is given.\n'
  for plugin in $plugins; do angles "./$plugin" "${plugin%.so}*"; done
  printf '\n## Speed\n\nOne run of profile %s, one thread.\n' "$profile"
  shape=q=32,k=8,d=128,in_place=no
  ../ropewalk bench --profile "$profile" $ours $(for p in $plugins; do printf ' --plugin ./%s --kernel %s*' "$p" "${p%.so}"; done) \
    $(for words in tokens=1,position_dtype=i64 tokens=64,position_dtype=i64 tokens=64,dtype=f16; do
      printf ' --shape %s,%s' $shape $words; done) 2>/dev/null | code
  printf '\n%s\n' "${hand:-## Checked by hand}"
} >"$page.new"
mv "$page.new" "$page"

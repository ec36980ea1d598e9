#!/bin/sh
# Judges and times the CUDA kernels on this machine. It needs this folder, a CUDA driver, and the
# glibc of Debian 12 or newer.
#
#   ./run.sh [OUT]              verifies, times, and writes to OUT (default: gpu-results)
#   ./run.sh --stand-in [OUT]   the same with a stand-in for the driver: it tries this script, not a GPU
#
# OUT gets results.jsonl, report.html, table.txt and the output of each step. Exit code: 0 all steps
# hold; 1 one does not; 2 bad usage; 3 no kernel of a device can run here. It is made to take at most
# 8 minutes: what comes after the first times is left out or cut off where the time is short. Peers in
# Python are timed beside the kernels where python3, or ROPEWALK_PYTHON, has torch and what they need.
set -u
begun=$(date +%s)
gone() { echo $(($(date +%s) - begun)); }
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2
driver='' plugin="$here/ropewalk_cuda.so"
names='cuda cuda_phase cuda_naive'
# 18 rounds are whole designs of six contestants (20 of five): 54 replays or more in three launches.
effort='--rounds 18 --launches 3' workloads='*' timed=$names first='llama-3-8b-bf16/decode-1 llama-3-8b-bf16/prefill-8192'
if [ "${1-}" = --stand-in ]; then
  shift
  driver="$here/ropewalk_standin_driver.so" plugin="$here/ropewalk_device_mutants.so"
  names='control_device_cuda_table control_device_cuda_phase_exact control_device_cuda_naive_table'
  effort='--rounds 6 --launches 1' workloads=llama-3-8b-f32/decode-1 timed=control_device_cuda_table first=$workloads
fi
case "$# ${1-}" in
[01]' '-* | [2-9]*) echo "run.sh: one folder at most; usage: ./run.sh [--stand-in] [OUT]" >&2; exit 2 ;;
esac
out=${1:-gpu-results}
mkdir -p "$out" && : >"$out/table.txt" || exit 2
rm -f "$out/results.jsonl"
[ -z "$driver" ] || export ROPEWALK_CUDA_DRIVER="$driver"
export ROPEWALK_REQUIRE_GPU=1
failed=0

row() { printf '%-38s %-10s %s\n' "$1" "$2" "$3" | tee -a "$out/table.txt"; }

# step TITLE LOG PATTERN COMMAND...: the lines of the output that match are shown, or else its last one.
step() {
  title=$1 log=$out/$2.log pattern=$3
  shift 3
  begin=$(date +%s)
  "$@" >"$log" 2>&1
  code=$?
  case $code in
  0) said=ok ;;
  124) said='cut off' ;;  # by timeout
  *) said="FAIL ($code)" failed=1 ;;
  esac
  took=$(($(date +%s) - begin))
  lines=$(grep -E "$pattern" "$log" | awk '!seen[$0]++')
  [ -n "$lines" ] || lines=$(tail -n 1 "$log")
  while IFS= read -r line; do row "$title" "$said" "$line ($took s)"; done <<LINES
$lines
LINES
}

row machine - "$(uname -sr), $(getconf GNU_LIBC_VERSION), $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //')"
row device - "$([ -n "$driver" ] && echo 'none: the stand-in driver' ||
  nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null |
  head -n 1 | grep . || echo 'nvidia-smi was not found')"
set -- $names
why=$("$here/ropewalk" list --no-cuda --plugin "$plugin" --kernel "$1" 2>&1 | sed -n 's/.*SKIPPED: //p')
if [ -n "$why" ]; then row kernels SKIPPED "$why"; exit 3; fi
for name in $names; do
  step "verify $name" "verify_$name" 'claims hold' "$here/ropewalk" verify --no-cuda --plugin "$plugin" --kernel "$name" --profile smoke --out "$out"
done
peers=''
for peer in torch_on_gpu:torch_eager,torch_compiled triton_rope:triton_rope ropewalk/libraries/liger_kernel:rope_on_gpu \
    ropewalk/libraries/flashinfer:cos_sin_cache ropewalk/libraries/vllm:rotary_embedding ropewalk/libraries/flash_attn:rotary; do
  file=python/${peer%:*}.py those=$(echo "${peer#*:}" | sed 's/,/ --kernel /')
  if said=$(cd "$here" && timeout 40 ./ropewalk list --no-cuda --plugin "$file" 2>&1 >/dev/null); then peers="$peers --plugin $file --kernel $those"
  else row "peers in $file" 'not run' "$(echo "$said" | tail -n 1)"; fi
done
held=$failed  # a peer that breaks is no failure of the CUDA kernels
step 'bench with peers' peers '^bench:|^INVALID|^SKIPPED|^BROKEN' env -C "$here" timeout 150 ./ropewalk bench --no-cuda --plugin "$plugin" \
  $(printf -- '--kernel %s ' $timed) $peers --profile smoke --rounds 12 --launches 3 --workload-file workloads.toml \
  $(printf -- '--workload %s ' $first) --out "$(realpath "$out")"
failed=$held
# Profile smoke has short checks of each shape before and after a launch. --workload replaces its choice.
if [ -z "$driver" ] && [ "$(gone)" -ge 240 ]; then effort='--rounds 12 --launches 3'; fi
step bench bench '^bench:|^INVALID|^SKIPPED|^BROKEN' "$here/ropewalk" bench --no-cuda --plugin "$plugin" \
  $(printf -- '--kernel %s ' $timed) --profile smoke $effort --workload-file "$here/workloads.toml" --workload "$workloads" --out "$out"
# Boards and workloads are named in a line, and their tables are indented.
grep -hE '^[^ :;]+( / [^:;]*|, [0-9]+ threads)?$|^  ' "$out/peers.log" "$out/bench.log" | tee -a "$out/table.txt"
step report report '^report:' "$here/ropewalk" report "$out/results.jsonl"

# late TITLE LOG PATTERN COMMAND...: a step that fits into the time that is left, or is cut off.
late() {
  if [ "$(gone)" -ge 300 ]; then row "$1" 'not run' "5 minutes are gone"; return; fi
  title=$1 log=$2 pattern=$3
  shift 3
  step "$title" "$log" "$pattern" timeout $((470 - $(gone))) "$@"
}

late sanitizers sanitizers ' [1-4] (of [1-4] )?properties|: sanitizer_' env ROPEWALK_SANITIZER_LIMIT_S=20 "$here/ropewalk" verify --no-cuda \
  --plugin "$plugin" --kernel "$1" --kernel "$2" --kernel "$3" --profile smoke --one-case --sanitizers
unset ROPEWALK_CUDA_DRIVER  # mutants uses the stand-in by itself
late 'device mutants (stand-in)' mutants 'mutants killed' "$here/ropewalk" mutants --profile smoke --kernel 'mutant_device_*' --first-kill
echo "written: $out/table.txt, $out/results.jsonl, $out/report.html and the output of each step"
exit $failed

#!/usr/bin/env bash
# Kills small runs (run, bench, verify --exhaustive; two kernels, one workload, 65,536 positions) at
# random moments with kill -9 and resumes each. No result may be lost, and no resume refused.
#   kills.sh ROPEWALK [KILLS [SEED]]    exit code 0: nothing was lost, no resume was refused
# A third of the kills come within 100 ms of the start, and a sixth while the last files are written.
# A third strike the whole process group. A fifth of the runs are killed, resumed and killed again.
set -u
ropewalk=$1 kills=${2:-200} RANDOM=${3:-1}
work=$(mktemp -d "${TMPDIR:-/tmp}/ropewalk_kills.XXXXXX")
kernels='--kernel phase --kernel plain_f32_angle'
timed="$kernels --profile smoke --shape q=4,k=1,d=64,tokens=2 --launches 2 --rounds 6"
declare -A arguments=(
  [exhaustive]="verify --exhaustive $kernels --positions 0:65535 --rotary-dim 16 --jobs 2"
  [bench]="bench $timed"
  [run]="run $timed --property norm --cases 2")
verbs=(exhaustive run exhaustive bench exhaustive run)
declare -A usual_ms
killed=0 groups=0 again=0 ended=0 measured=0 lost=0 refused=0 other=0 implausible=0
began=$SECONDS

ropewalk() { "$ropewalk" ${arguments[$verb]} --out "$@"; }  # FOLDER [--resume]; words are split
pause_ms() { sleep "$(($1 / 1000)).$(printf '%03d' $(($1 % 1000)))"; }
wrong() { printf '%s %s: %s\n' "$i" "$verb" "$1"; }

# Prints the rows that a kill may not lose: positions, and timed groups that have their ceiling's row.
whole_rows() {
  grep -as '"row":"certificate".*}$' "$1/results.jsonl"
  [[ ! -e $1/measured.jsonl ]] || awk '/"role":"baseline"/ { group = "" }
    /"row":"timing".*}$/ { group = group $0 "\n" }
    /"role":"ceiling".*}$/ { printf "%s", group; group = "" }' "$1/measured.jsonl"
}

last_files_are_written() {
  compgen -G "$1/*.part-*" || [[ -e $1/certificate.jsonl || -e $1/report.md ]] ||
    grep -aqs '"row":"timing"' "$1/results.jsonl"
}

wait_for_the_moment() {  # FOLDER PROCESS
  local ms=0
  case $((RANDOM % 6)) in
    0 | 1) pause_ms $((RANDOM % 100)) ;;
    2)
      for ((ms = 0; ms < 60000; ms += 2)); do
        if ! kill -0 "$2" 2>/dev/null || last_files_are_written "$1" >/dev/null; then break; fi
        pause_ms 2
      done
      pause_ms $((RANDOM % 10)) ;;
    *) ms=$((RANDOM % (usual_ms[$verb] + 1))); pause_ms "$ms" ;;
  esac
}

kill_one() {  # FOLDER [--resume]; false if the run ended before the kill
  local process
  setsid "$ropewalk" ${arguments[$verb]} --out "$@" >/dev/null 2>&1 &
  process=$!
  wait_for_the_moment "$1" "$process"
  if ((RANDOM % 3 == 0)) && kill -9 -- "-$process"; then groups=$((groups + 1))
  else kill -9 "$process"; fi 2>/dev/null
  wait "$process" 2>/dev/null
  local code=$?
  whole_rows "$1" >>"$rows"
  ((code == 137))
}

resume_and_check() {  # FOLDER
  local code missing
  ropewalk "$1" --resume >"$1.out" 2>"$1.err"
  code=$?
  if ((code == 2)); then
    refused=$((refused + 1)); wrong "refused: $(tail -n 1 "$1.err")"; return
  fi
  # An implausible speed is removed at the end of a run, with or without a kill.
  if ((code == 1)) && grep -q '"outcome":"IMPLAUSIBLE"' "$1/results.jsonl"; then
    implausible=$((implausible + 1)); return
  fi
  # 3: the timing is INVALID, or nothing was left to do; the rows of a noisy machine must be kept too.
  if ((code != 0)) && [[ $code != 3 || $verb == exhaustive ]]; then
    other=$((other + 1)); wrong "exit code $code: $(tail -n 1 "$1.err")"
  fi
  tail -n 1 "$1/results.jsonl" | grep -q '"row":"end"' && [[ ! -e $1/measured.jsonl ]] ||
    { lost=$((lost + 1)); wrong "no end"; }
  missing=$(sort -u "$rows" | grep -vxcFf "$1/results.jsonl")
  ((missing == 0)) || { lost=$((lost + 1)); wrong "$missing rows are lost"; }
  case $verb in
    exhaustive) cmp -s "$1/certificate.jsonl" "$work/exhaustive/certificate.jsonl" ;;
    bench) "$ropewalk" report "$1/results.jsonl" >/dev/null 2>&1 ;;
    run) [[ -s $1/report.html ]] ;;
  esac || { lost=$((lost + 1)); wrong "another certificate, or no report"; }
}

i=undisturbed
for verb in exhaustive bench run; do
  start_ns=$(date +%s%N)
  ropewalk "$work/$verb" >/dev/null 2>&1 || (($? != 2)) || wrong "exit code 2"
  usual_ms[$verb]=$((($(date +%s%N) - start_ns) / 1000000))
done
for ((i = 0; i < kills; ++i)); do
  verb=${verbs[i % ${#verbs[@]}]} rows=$work/rows
  : >"$rows"
  if kill_one "$work/$i"; then
    killed=$((killed + 1))
    if ((RANDOM % 5 == 0)) && kill_one "$work/$i" --resume; then again=$((again + 1)); fi
  else ended=$((ended + 1)); fi
  [[ ! -s $rows ]] || measured=$((measured + 1))
  resume_and_check "$work/$i"
done
printf '%s runs in %s s: %s killed (%s groups), %s again; %s had ended. Rows measured before: %s runs\n' \
  "$kills" $((SECONDS - began)) "$killed" "$groups" "$again" "$ended" "$measured"
printf 'lost %s, refused %s, other %s; %s with a speed that cannot be\n' \
  "$lost" "$refused" "$other" "$implausible"
if ((lost + refused + other > 0)); then echo "kept: $work"; exit 1; fi
rm -rf "$work"

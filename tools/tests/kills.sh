#!/usr/bin/env bash
# Kills small runs (verify --exhaustive; two kernels, 65,536 positions) at random moments with kill -9
# and resumes each. No result may be lost, and no resume refused.
#   kills.sh ROPEWALK [KILLS [SEED]]    exit code 0: nothing was lost, no resume was refused
# A third of the kills come within 100 ms of the start, and a sixth while the last files are written.
# A third strike the whole process group. A fifth of the runs are killed, resumed and killed again.
set -u
ropewalk=$1 kills=${2:-200} RANDOM=${3:-1}
work=$(mktemp -d "${TMPDIR:-/tmp}/ropewalk_kills.XXXXXX")
kernels='--kernel phase --kernel plain_f32_angle'
arguments="verify --exhaustive $kernels --positions 0:65535 --rotary-dim 16 --jobs 2"
killed=0 groups=0 again=0 ended=0 measured=0 lost=0 refused=0 other=0
began=$SECONDS

ropewalk() { "$ropewalk" $arguments --out "$@"; }  # FOLDER [--resume]; words are split
pause_ms() { sleep "$(($1 / 1000)).$(printf '%03d' $(($1 % 1000)))"; }
wrong() { printf '%s: %s\n' "$i" "$1"; }

# Prints the rows that a kill may not lose.
whole_rows() { grep -as '"row":"certificate".*}$' "$1/results.jsonl"; }

last_files_are_written() { compgen -G "$1/*.part-*" || [[ -e $1/certificate.jsonl ]]; }

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
    *) ms=$((RANDOM % (usual_ms + 1))); pause_ms "$ms" ;;
  esac
}

kill_one() {  # FOLDER [--resume]; false if the run ended before the kill
  local process
  setsid "$ropewalk" $arguments --out "$@" >/dev/null 2>&1 &
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
  if ((code != 0)); then
    other=$((other + 1)); wrong "exit code $code: $(tail -n 1 "$1.err")"
  fi
  tail -n 1 "$1/results.jsonl" | grep -q '"row":"end"' ||
    { lost=$((lost + 1)); wrong "no end"; }
  missing=$(sort -u "$rows" | grep -vxcFf "$1/results.jsonl")
  ((missing == 0)) || { lost=$((lost + 1)); wrong "$missing rows are lost"; }
  cmp -s "$1/certificate.jsonl" "$work/whole/certificate.jsonl" ||
    { lost=$((lost + 1)); wrong "another certificate"; }
}

i=undisturbed
start_ns=$(date +%s%N)
ropewalk "$work/whole" >/dev/null 2>&1 || wrong "exit code $?"
usual_ms=$((($(date +%s%N) - start_ns) / 1000000))
for ((i = 0; i < kills; ++i)); do
  rows=$work/rows
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
printf 'lost %s, refused %s, other %s\n' "$lost" "$refused" "$other"
if ((lost + refused + other > 0)); then echo "kept: $work"; exit 1; fi
rm -rf "$work"

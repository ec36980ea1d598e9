#!/bin/sh
# Fails unless FILE is what the command prints: cmake/holds.sh FILE COMMAND [ARGUMENT]...
set -eu
file=$1
shift
made=$(mktemp)
trap 'rm -f "$made"' EXIT
"$@" >"$made" || { echo "failed: $*"; exit 1; }
[ -s "$made" ] || { echo "printed nothing: $*"; exit 1; }
diff -u "$file" "$made" || { echo "$file has changed; this makes it anew: $* > $file"; exit 1; }
echo "$file is what the command prints"

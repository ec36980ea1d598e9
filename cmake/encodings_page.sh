#!/bin/sh
# Fails unless FILE is what the verb encodings prints, and the numbers in curves/ beside it are those
# of its curves: cmake/encodings_page.sh EXECUTABLE FILE
set -eu
"$1" encodings | diff -u "$2" - || { echo "this makes it anew: $1 encodings > $2"; exit 1; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
curves=$(dirname "$2")/curves
"$1" encodings --curves "$made"
for file in "$made"/*.csv; do
  diff "$curves/$(basename "$file")" "$file" ||
    { echo "this makes it anew: $1 encodings --curves $curves"; exit 1; }
done

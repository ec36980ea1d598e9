#!/bin/sh
# Fails unless FILE is what the verb encodings prints: cmake/encodings_page.sh EXECUTABLE FILE
set -eu
"$1" encodings | diff -u "$2" - || { echo "this makes it anew: $1 encodings > $2"; exit 1; }

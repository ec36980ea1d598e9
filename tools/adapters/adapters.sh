#!/bin/sh
# Installs the libraries that the files of kernels/adapters name into a Python environment, and builds
# the adapters beside the command:
#
#   tools/adapters/adapters.sh          to build/release/adapters
#   tools/adapters/adapters.sh peers    also judges and times them, and writes docs/findings/peers.md
#
# ROPEWALK_ADAPTERS_ENV is the folder of the environment (default: build/adapters). A library that is
# there stays, whatever its version. Exit code: 0 all went well; 1 an adapter is missing; 2 bad usage.
set -eu
cd "$(dirname "$0")/../.."
case ${1-} in '' | peers) ;; *) echo "adapters.sh: no such word: $1 (peers, or none)" >&2; exit 2 ;; esac
mkdir -p "${ROPEWALK_ADAPTERS_ENV:=build/adapters}"
env=$(cd "$ROPEWALK_ADAPTERS_ENV" && pwd)
code=0

# Each line: a library of PyPI, its version, its megabytes.
wanted=$(sed -n 's|^[/#]* Adapter: \([^ ]*\) \([^ ]*\) (PyPI, \([0-9]*\) MB)$|\1 \2 \3|p' kernels/adapters/*.*)
echo "$wanted" | awk '{ mb += $3 } END { print "adapters: at most " mb " MB are downloaded" }'
[ -x "$env/bin/python" ] || python3 -m venv "$env" || { echo 'adapters: needs the package python3-venv'; exit 1; }
while read -r name version _; do
  here=$("$env/bin/python" -c "import importlib.metadata as m; print(m.version('$name'))" 2>/dev/null) || here=
  if [ -z "$here" ]; then
    "$env/bin/python" -m pip install -q --no-deps "$name==$version" >"$env/pip.log" 2>&1 ||
      { echo "adapters: no $name $version: $(grep -m1 ERROR "$env/pip.log" || tail -n1 "$env/pip.log")"; code=1; }
  elif [ "$here" != "$version" ]; then
    echo "adapters: $name is $here, the adapter was written for $version: run all the same"
  fi
done <<WANTED
$wanted
WANTED
# A wheel has libx.so.1.2.3 alone, but programs that link it look for libx.so.1.
for need in $(sed -n 's|^// Needs: ||p' kernels/adapters/*.cpp); do
  for file in "$env"/lib/python3*/site-packages/"${need%.so*}".so.*.*.*; do
    if [ -e "$file" ] && [ ! -e "${file%.*.*}" ]; then ln -s "${file##*/}" "${file%.*.*}"; fi
  done
done
cmake --preset release -DROPEWALK_ADAPTERS=ON -DROPEWALK_ADAPTERS_ENV="$env" >"$env/cmake.log" ||
  { tail -n 5 "$env/cmake.log"; exit 1; }
if grep '^-- Adapters: ' "$env/cmake.log"; then code=1; fi
cmake --build build/release --target ropewalk ropewalk_adapters | tail -n 1
ls build/release/adapters/*.so 2>/dev/null || echo "adapters: none was built"
[ "${1-}" != peers ] || tools/adapters/peers.sh "$env"
exit $code

#!/bin/sh
# Prints docs/cli.md, the page of all verbs and options: cmake/cli_page.sh EXECUTABLE
# The page says what --help says and nothing else, whatever layout the version of CLI11 gives it.
set -eu
ropewalk=$1

cat <<'END'
# The command line

What `ropewalk --help` and each verb's `--help` print; `cmake/cli_page.sh build/release/ropewalk >
docs/cli.md` makes the page anew, and a test holds it. The [glossary](glossary.md) explains the words, and
[reading a report](reading-a-report.md#verdicts) the verdicts. [Known failures](ledger.md) do not make the exit code 1.

END
"$ropewalk" --help | awk '
  /^[A-Za-z ]+:$/ { verbs = tolower($1) != "options:"; next }
  verbs && /^  [a-z]/ {
    if (!rows++) print "| verb | what it does |\n|---|---|"
    verb = $1; $1 = ""; sub(/^ /, "")
    print "| [`" verb "`](#ropewalk-" verb ") | " $0 " |"
  }
  sub(/^Exit codes: /, "\nExit codes:\n\n- ") { gsub(/; /, "\n- "); print }
  END { if (!rows) exit 1 }'

for verb in $("$ropewalk" --help | awk '/^[A-Za-z ]+:$/ { verbs = tolower($1) != "options:"; next }
                                        verbs && /^  [a-z]/ { print $1 }'); do
  printf '\n## ropewalk %s\n\n' "$verb"
  "$ropewalk" "$verb" --help | awk '
    function trim(text) { gsub(/^ +| +$/, "", text); return text }
    function safe(text) { gsub(/[|]/, "\\|", text); gsub(/</, "\\&lt;", text); return text }
    function note(text) { notes = notes (notes == "" ? "" : "; ") text }
    # The words after MARK at the end of name, in the order of the alphabet.
    function cut_list(mark, words,    at, list, parts, count, i, j, swap) {
      at = index(name, " " mark ":")
      if (!at) return
      count = split(trim(substr(name, at + length(mark) + 2)), parts, " ")
      name = substr(name, 1, at - 1)
      for (i = 1; i <= count; ++i)
        for (j = i + 1; j <= count; ++j)
          if (parts[j] < parts[i]) { swap = parts[i]; parts[i] = parts[j]; parts[j] = swap }
      for (i = 1; i <= count; ++i) list = list (i > 1 ? ", " : "") "`" parts[i] "`"
      note(words " " list)
    }
    function entry() {
      if (name == "") return
      notes = ""
      cut_list("Excludes", "not with"); cut_list("Needs", "only with")
      if (sub(/ +REQUIRED/, "", name)) note("required")
      sub(/ x [0-9]+ *$/, "", name); sub(/ [.][.][.]$/, "...", name)
      if (match(name, /(=| \[)[0-9.]+\]? *$/)) {
        value = substr(name, RSTART); name = substr(name, 1, RSTART - 1)
        gsub(/[^0-9.]/, "", value); note("default: " value)
      }
      sub(/:[{].*/, "", name)
      if (match(name, /:[0-9].*/)) {
        note(substr(name, RSTART + 1)); name = substr(name, 1, RSTART - 1)
      }
      if (name !~ /^-/) {
        word = name; sub(/ .*/, "", word)
        if (!sub(/^[^ ]+ /, "", name) || name == "TEXT") name = toupper(word)
      }
      if (!rows++) print "| option | meaning |\n|---|---|"
      print "| `" safe(trim(name)) "` | " safe(trim(meaning)) (notes == "" ? "" : " (" notes ")") " |"
      name = meaning = ""
    }
    NR == 1 { print toupper(substr($0, 1, 1)) substr($0, 2) ($0 ~ /[?.]$/ ? "" : ".") "\n"; next }
    /^[A-Za-z ]+:$/ { entry(); section = tolower($1); if (section == "examples:") print "\n```sh"; next }
    /^[^ ]/ { entry(); section = "" ; next }
    section == "examples:" && NF { sub(/^  /, ""); print; next }
    section == "examples:" { print "```"; section = ""; next }
    section != "" && /^  ? ?[^ ]/ {
      entry()
      line = trim($0)
      if (line ~ /^-h,/) next
      at = match(line, /  +/)
      name = at ? substr(line, 1, at - 1) : line
      meaning = at ? substr(line, at + RLENGTH) : ""
      next
    }
    NF { meaning = meaning " " trim($0) }'
done

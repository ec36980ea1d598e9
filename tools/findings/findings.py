#!/usr/bin/env python3
"""Judges the libraries of python/ropewalk/libraries in their pinned versions, runs the proofs of
docs/findings, and writes docs/findings.md.

    tools/findings/findings.py [--venv DIR | --python PYTHON] [--ropewalk FILE] [LIBRARY ...]

--venv    installs tools/findings/requirements.txt there first (default: build/findings)
--python  judges what is installed for that interpreter instead
LIBRARY   judges these alone; the others keep the results of the last time (docs/findings/entries.json)

A new version of a library is one changed line of requirements.txt, and this command.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "tools/findings/requirements.txt"
PROOFS = ROOT / "docs/findings"
ENTRIES = PROOFS / "entries.json"
PAGE = ROOT / "docs/findings.md"
# The worst that a verdict of an entry says. A kernel's failure has no severity.
WORDS = {"": "wrong", "wrong": "wrong", "edge": "wrong at an edge", "precision": "lost precision",
         "contract": "matter of contract"}
ORDER = ["wrong", "wrong at an edge", "lost precision", "matter of contract", "holds"]
FIELDS = ["severity", "from", "size", "matters", "replay", "upstream"]


def megabytes(python):
    """What an installation downloads, before it does."""
    report = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--dry-run", "--report", "-",
         "-r", REQUIREMENTS], check=True, stdout=subprocess.PIPE)
    size = 0
    for item in json.loads(report.stdout)["install"]:
        request = urllib.request.Request(item["download_info"]["url"], method="HEAD")
        with urllib.request.urlopen(request) as answer:
            size += int(answer.headers["Content-Length"])
    return size / 1e6


def installed(venv):
    python = venv / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    print(f"downloads {megabytes(python):.0f} MB into {venv}", file=sys.stderr)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", REQUIREMENTS],
                   check=True)
    return python


def judged(ropewalk, library):
    """{entry: the worst word that was said of it}"""
    run = subprocess.run([ropewalk, "verify", library, "--json"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"verify {library} ends with {run.returncode}: {run.stderr.strip()[-400:]}")
    worst = {}
    for line in run.stdout.splitlines():
        row = json.loads(line)
        if row["row"] != "verdict" or row["verdict"] in ("UNSUPPORTED", "SKIPPED"):
            continue
        held = row["verdict"] == "PASS"
        worst.setdefault(row["kernel"], []).append("holds" if held else WORDS[row["severity"]])
    return {name: min(words, key=ORDER.index) for name, words in worst.items()}


def proof(file, python):
    """The lines of a proof's head, and what it prints."""
    head = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    found = {"name": file.name, "title": head.splitlines()[0]}
    for field in FIELDS:
        line = re.search(rf"^{field}\s+(.*)$", head, re.M)
        if not line:
            sys.exit(f"{file}: its head says no {field}")
        found[field] = line[1]
    run = subprocess.run([python, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{file} ends with {run.returncode}: {run.stderr.strip()[-400:]}")
    found["prints"] = run.stdout.rstrip()
    return found


def library_table(entries):
    lines = ["| library | version | entries | hold | " + " | ".join(ORDER[:4]) + " |",
             "|---|---|--:|--:|--:|--:|--:|--:|"]
    totals = dict.fromkeys(ORDER, 0)
    for library, result in sorted(entries.items()):
        words = list(result["entries"].values())
        for word in words:
            totals[word] += 1
        counts = " | ".join(str(words.count(word) or "") for word in ["holds", *ORDER[:4]])
        lines.append(f"| {library} | {result['version']} | {len(words)} | {counts} |")
    all_of = sum(totals.values())
    counts = " | ".join(str(totals[word]) for word in ["holds", *ORDER[:4]])
    return lines + [f"| {len(entries)} libraries | | {all_of} | {counts} |"]


def finding_lines(found):
    lines = [f"### {found['title']}", ""]
    lines += [f"- {field}: {found[field]}" for field in FIELDS if field != "replay"]
    lines += [f"- replay: `{found['replay']}`", "", f"[{found['name']}](findings/{found['name']}) prints",
              "", "```text", found["prints"], "```", ""]
    return lines


def page(entries, proofs):
    lines = []
    for found in sorted(proofs, key=lambda found: ORDER.index(found["severity"])):
        lines += finding_lines(found)
    text = (ROOT / "tools/findings/page.md.in").read_text(encoding="utf-8")
    text = text.replace("@LIBRARIES@", "\n".join(library_table(entries)))
    return text.replace("@FINDINGS@", "\n".join(lines).rstrip())


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--venv", type=Path, default=ROOT / "build/findings")
    words.add_argument("--python", type=Path)
    words.add_argument("--ropewalk", default=ROOT / "build/release/ropewalk")
    words.add_argument("libraries", nargs="*")
    given = words.parse_args()
    python = given.python or installed(given.venv)
    os.environ["ROPEWALK_PYTHON"] = str(python)
    os.environ.setdefault("TRITON_INTERPRET", "1")
    listed = subprocess.run([given.ropewalk, "list", "--libraries"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    versions = dict(re.findall(r"^(\w+) +installed: (\S+)", listed, re.M))
    entries = json.loads(ENTRIES.read_text()) if ENTRIES.exists() else {}
    for library in given.libraries or versions:
        print(f"judges {library} {versions[library]}", file=sys.stderr)
        entries[library] = {"version": versions[library], "entries": judged(given.ropewalk, library)}
        ENTRIES.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
    proofs = [proof(file, python) for file in sorted(PROOFS.glob("*.py"))]
    PAGE.write_text(page(entries, proofs), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}: {len(entries)} libraries, {len(proofs)} findings",
          file=sys.stderr)


if __name__ == "__main__":
    main()

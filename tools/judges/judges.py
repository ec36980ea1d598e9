"""Which wrong rotary embeddings pass the acceptance checks of other projects?

    python tools/judges/judges.py > docs/judges.md     # --check: only the controls, by exit code
"""

import itertools
import sys

import numpy as np
from mutants import MUTANTS, STATE, is_shown, rope
from suites import SUITES, near

SEED = 20210420


def wilson(passed, count, z=1.96):
    """The 95 % interval of a share, in whole percent."""
    middle, all_of_it = passed + z * z / 2, (count + z * z) / 100
    half = z * np.sqrt(passed * (1 - passed / count) + z * z / 4)
    return f"{(middle - half) / all_of_it:.0f} to {(middle + half) / all_of_it:.0f} %"


def judge(index, s):
    """Controls, and per mutant that can be shown: "" (killed), or what the suite would need."""
    def run(function):
        STATE["calls"] = itertools.count(1)
        return [function(c) for c in cases]

    def passes(outputs):
        return all(check(y, e) for check, y, e in zip(checks, outputs, expected))

    cases, checks = zip(*s.cases(np.random.default_rng([SEED, index])))
    expected, right = run(lambda c: rope(c, float)), run(rope)
    s.is_fair = passes(right) and not passes(run(lambda c: c.x))
    s.verdicts = {}
    for m in MUTANTS:
        if m.requires <= s.offers:
            outputs = run(m.run)
            need = m.needs if all(map(near(0, 0), outputs, right)) else "limit"
            s.verdicts[m.name] = need if passes(outputs) else ""


def page():
    print(f"""# Judging the judges

{len(MUTANTS)} wrong rotary embeddings, and which pass the acceptance checks of others, rebuilt from
published rules; no code of those projects ran. They may serve their purpose well, often to guard
one kernel. A mutant counts where the interface could show its error. Written by tools/judges.

| suite | lets pass | 95 % interval | would need | rule | source |
|---|--:|--:|---|---|---|""")
    for s in SUITES:
        needs, count = [v for v in s.verdicts.values() if v], len(s.verdicts)
        groups = sorted(set(needs), key=lambda n: (-needs.count(n), n))
        print(f"| {s.name} | {len(needs)} of {count}, {100 * len(needs) / count:.0f} % "
              f"| {wilson(len(needs), count)} "
              f"| {', '.join(f'{n} {needs.count(n)}' for n in groups)} | {s.rule} | {s.source} |")
    print(f"""
"Would need" counts what would show them: positions farther out or in another order, other shapes,
types, values, bases, more calls, or a tighter limit. Each mutant has a legal call of its own that
shows it wrong; the right function passes every suite, and one that returns its input fails each.
✓ is killed, – cannot be shown through that interface.

| mutant | what it does | C++ `mutant_` | {" | ".join(s.name for s in SUITES)} |
|---|---|---|{":-:|" * len(SUITES)}""")
    for m in MUTANTS:
        shown = [{None: "–", "": "✓"}.get(s.verdicts.get(m.name), "**passes**") for s in SUITES]
        planted = f"`{m.planted}`" if m.planted else ""
        print(f"| {m.name} | {m.note} | {planted} | {' | '.join(shown)} |")
    print("""
Limits: the mutants are our choice, after [properties/mutants](../properties/mutants), and no
sample: near-duplicates are left out, most of them killed everywhere, which raises the shares. The
intervals are Wilson's. At most 4 rows, 24 tokens and 6 heads of a call are computed. Expected is
our own output, rounded once, of f32 angles; vLLM and Liger-Kernel round products too. Left out:
ggml's YaRN, multimodal and vision modes, fused quantized kernels, paths of a project against each
other, flashinfer-bench's workloads (not in its repository; the shapes are a reference test's).""")


def main():
    np.seterr(all="ignore")
    unshown = [m.name for m in MUTANTS if not is_shown(m, np.random.default_rng(SEED))]
    for i, s in enumerate(SUITES):
        judge(i, s)
    unfair = [s.name for s in SUITES if not s.is_fair]
    if unshown or unfair:
        sys.exit(f"judges: not shown wrong: {unshown}; controls fail in: {unfair}")
    if sys.argv[1:] != ["--check"]:
        page()


if __name__ == "__main__":
    main()

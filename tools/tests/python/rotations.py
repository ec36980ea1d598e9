"""A catalogue of right and wrong rotations, by code that shares nothing with identify's hypotheses.
Prints the confusion table of docs/identify.md, and exits with 1 if a figure of it is missed."""
import collections
import itertools
import sys

import numpy as np
from ropewalk import dump, identify

B, T, H, D = 2, 96, 8, 64
draw = np.random.default_rng(20210420)


def narrow(x, dtype):
    """The nearest numbers of a type, by bits."""
    x = np.asarray(x, "f8")
    if dtype == "f16":
        return x.astype("f2").astype("f8")
    f = x.astype("f4")
    if dtype == "bf16":
        bits = f.view("u4").astype("u8")
        f = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype("u4").view("f4")
    return f.astype("f8")


def contents(kind):
    x = draw.standard_normal((B, T, H, D))
    if kind == "outliers":
        x[..., [3, 17, 40]] *= 40
    if kind == "correlated":
        x = draw.standard_normal((B, T, 1, D)) + 0.2 * x
    return x


def turn(x, positions, dtype, theta=1e4, pairing="half_split", sign=1, f32=False, table=None, times=1.0):
    """The definition, pair by pair."""
    y = np.array(x)
    for k in range(D // 2):
        i, j = (k, k + D // 2) if pairing == "half_split" else (2 * k, 2 * k + 1)
        freq = theta ** (-2 * k / D) * times
        a = positions * freq
        if f32:
            a = (positions.astype("f4") * np.float32(freq)).astype("f8")
        c, s = np.cos(a)[:, :, None], sign * np.sin(a)[:, :, None]
        if table:
            c, s = narrow(c, table), narrow(s, table)
        y[..., i], y[..., j] = c * x[..., i] - s * x[..., j], c * x[..., j] + s * x[..., i]
    return y


START = np.stack([np.arange(T), np.arange(T) + 41])
# name -> (what identify must say, what it changes of turn's words, of the positions, of y)
ERRORS = {
    "backwards": ("backwards", {"sign": -1}, None, None),
    "other pairing": ("where the model has half_split", {"pairing": "interleaved"}, None, None),
    "one more": ("shifted by +1", {}, lambda p: p + 1, None),
    "one behind": ("shifted by -1", {}, lambda p: p - 1, None),
    "row 0 for all": ("those of batch row 0 for all", {}, lambda p: np.broadcast_to(p[:1], p.shape), None),
    "clamped": ("clamped at 70", {}, lambda p: np.minimum(p, 70), None),
    "wrapped": ("modulo 64", {}, lambda p: p % 64, None),
    "another base": ("theta 500000", {"theta": 5e5}, None, None),
    "linear": ("each divided by 4", {"times": 0.25}, None, None),
    "twice": ("turned twice", {"times": 2.0}, None, None),
    "written in halves": ("written as", {"pairing": "interleaved"}, None,
                          lambda y: np.concatenate((y[..., ::2], y[..., 1::2]), -1)),
    "scaled": ("scale      1.25", {}, None, lambda y: 1.25 * y),
}
RIGHT = {"half_split": {}, "interleaved": {"pairing": "interleaved"}, "base 500000": {"theta": 5e5},
         "f32 angle": {"f32": True}}


def found(x, words, positions, after, dtype, wanted="half_split"):
    x = narrow(x, dtype)
    taken = positions(START) if positions else START
    y = turn(x, np.asarray(taken, "f8"), dtype, **words)
    y = narrow(after(y) if after else y, dtype)
    tensors = {"x": x, "y": y, "position_ids": START}
    metadata = {"pairing": wanted} if wanted else {}
    return identify.identify(dump.Dump(tensors, {"x": dtype, "y": dtype}, metadata))


def said(report, names):
    """Those of the names whose words stand in the report."""
    text = "\n".join(report.lines)
    return {n for n in names if ERRORS[n][0] in text}


def implied(name):
    """What is wrong with it too: its pairs are adjacent ones."""
    return {"other pairing"} if name == "written in halves" else set()


def main():
    table, false = collections.defaultdict(list), 0
    contents_of = {"f32": "normal", "bf16": "outliers", "f16": "correlated"}
    kinds = [(d, c) for d in contents_of for c in ("normal", "outliers", "correlated")]
    whole = sys.argv[1:] == ["all"]  # a minute; else each type with one content, and few double errors
    kinds = kinds if whole else list(contents_of.items())
    for dtype, content in kinds:
        for name, words in RIGHT.items():
            report = found(contents(content), words, None, None, dtype, words.get("pairing", "half_split"))
            theta = f"theta {words.get('theta', 1e4):.6g},"
            good = report.explained and any(theta in line for line in report.lines)
            table[f"right: {name}"].append(good)
        for name, (_, words, positions, after) in ERRORS.items():
            report = found(contents(content), words, positions, after, dtype)
            names = said(report, ERRORS)
            table[name].append(name in names)
            false += len(names - {name} - implied(name))
        for one, other in [*itertools.combinations(ERRORS, 2)][:: 1 if whole else 9]:
            a, b = ERRORS[one], ERRORS[other]
            if set(a[1]) & set(b[1]) or (a[2] and b[2]) or (a[3] and b[3]):
                continue
            report = found(contents(content), {**a[1], **b[1]}, a[2] or b[2], a[3] or b[3], dtype)
            names = said(report, ERRORS)
            table["two errors, both named"].append({one, other} <= names)
            false += len(names - {one, other} - implied(one) - implied(other))
    shares = {name: np.mean(hits) for name, hits in table.items()}
    for name, hits in table.items():
        print(f"| {name} | {sum(hits)} of {len(hits)} |")
    count = sum(len(h) for h in table.values())
    print(f"| named wrongly | {false} of {count} |")
    rights = [v for n, v in shares.items() if n.startswith("right")]
    singles = [h for n, hits in table.items() if n in ERRORS for h in hits]
    held = (min(rights) == 1 and np.mean(singles) >= 0.9 and shares["two errors, both named"] >= 0.6
            and false <= 0.01 * count)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()

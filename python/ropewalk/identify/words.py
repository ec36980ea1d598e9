"""What identify says, where it is long or said in several places."""

import itertools

import numpy as np

CONFIGS, FILES, MODEL_HAS = "the config's", "the file's", ", where the model has {}"
ROUNDED, THETA, USUAL_BASE = "{}, rounded to {}", "powers of theta {:.6g}", "powers of theta 10000"
WIDTH = "powers of theta {:.6g} over a width of {}"
EXCHANGED = "the config's with {} and {} exchanged"
CUT = "the config's with the factors of the rule cut to whole numbers"
TRUNCATE = "the config's with the other word for truncate"
LONGEST = "the config's with max_position_embeddings for the original length"
TWICE, DIVIDED = ", each twice: it is turned twice", ", each divided by {:.4g}"
RAMP = "powers of theta {:.6g} up to pair {}; divided by {:g} from pair {} on, and by less between"
PAIRS = "{}, but for pairs {}: {} in place of {}"
BLIND = "; {} of {} pairs turn too little to tell"
OR = "or, as these tokens tell no difference: {}"
WRITTEN, BOTH_WRITTEN = ", written as {}", "as Q and K are both written so, q.k is that of the model"
TWO = "if {} is turned as {} by {}, {} is as {} by {}, positions {}"
TWO_PART = ("in a way that is not found; they part at batch row {}, token {} (position {}); "
            "{:.1f} % of the tokens are equal")
NOTHING, STILL = "nothing: y is x", "nothing: y is x, as it should be at position 0"
EQUAL = "nothing: {} is {}"
CHANGED = "; the others change in {:.3g} % of their elements"
OTHERS_ARE = {**dict.fromkeys(("", "window"), "; the others are copied"), "head": "; the others are normalized too"}
PERMUTED = "if a converter permuted these weights, as for GGUF, this pairing is right: give weights=permuted"
NORM = {"either": "over {}, without weights: before and after the rotation it is the same",
        "before": "before the rotation, over {}, with a weight for each element",
        "after": "after the rotation, over {}, with a weight for each element"}
OVER = {"head": "each head", "window": "the turned window of each head"}
AS_GIVEN, SHIFTED, MORE, LESS, ROUNDED_TO = "as given", "shifted by {:+d}", "{} more", "{} less", "rounded to {}"
NO_ORDER = "of no simple order"
UP_TO, FROM, BUT_FOR = "{} up to token {}; {}", "{} from token {}", "{}, but for {}"
OFF = "{}, but for {} of {} tokens; first batch row {}, token {} (position {}): {}"
BUT_PAIRS = "every pair but {}; first batch row {}, token {} (position {}): {}"
AS_POSITION, AS_NONE = "turned as position {}", "turned by {:.6g} rad times {:.4g} in pair {}, should be {:.6g}"
UNKNOWN = "unknown: the best account of those tried fits {:.1f} % of the turns"
NOT_FOUND = "unknown; by that account first batch row {}, token {} (position {}) is {}"


def numbers(values):
    return ", ".join(f"{v:.4g}" for v in values)


def listed(values):
    return ", ".join(map(str, values))


def account(other, account):
    """In what another account differs."""
    return ", ".join(filter(None, (
        other.freq.words.partition(";")[0], "backwards" * (other.sign != account.sign),
        f"positions {other.positions}" * (other.positions != account.positions),
        "" if np.array_equal(other.axes, account.axes) else f"axes {sections(other.axes)}")))


def elements(window):
    """64 elements from 0; or the runs of elements."""
    runs = np.split(window, np.flatnonzero(np.diff(window) > 1) + 1)
    text = ", ".join(f"{r[0]} to {r[-1]}" for r in runs[:8]) + (", ..." if len(runs) > 8 else "")
    return f"{len(window)} elements" + (f": {text}" if len(runs) > 1 else f" from {window[0]}")


def axes(of_pair):
    """The axis of each pair in the words of --shape: "(0,1,2)*20,0*4", "0*24,1*20,2*20"; "": it has no such
    words."""
    runs = [(a, len(list(g))) for a, g in itertools.groupby(map(int, of_pair))]
    if len(runs) <= 6:
        return ",".join(f"{a}*{count}" for a, count in runs)
    for period in (2, 3, 4):
        same = of_pair[:-period] == of_pair[period:]
        whole = (len(of_pair) if same.all() else int(np.argmin(same)) + period) // period
        rest = axes(of_pair[whole * period :]) if whole > 2 else ""
        if whole > 2 and (rest or whole * period == len(of_pair)):
            return f"({','.join(map(str, of_pair[:period]))})*{whole}" + f",{rest}" * bool(rest)
    return ""


def sections(of_pair):
    """As axes(), with "sections" where each axis has its own run."""
    text, runs = axes(of_pair), [a for a, _ in itertools.groupby(of_pair)]
    return f"sections {text}" if text and len(runs) == len(set(runs)) > 1 else text or NO_ORDER


def offset(count, shifted):
    if not count:
        return AS_GIVEN
    return SHIFTED.format(count) if shifted else (MORE if count > 0 else LESS).format(abs(count))


def jumps(off):
    """One row of shifts [tokens] in words, if few runs make it: "as given up to token 39; 40 more from token
    40, 71 more from token 71"; "as given, but for 1 more at token 31". "": one run, or more than eight."""
    edges = [0, *(np.flatnonzero(np.diff(off)) + 1).tolist(), len(off)]
    runs = [(int(off[a]), a, b - 1) for a, b in zip(edges, edges[1:])]
    if not 1 < len(runs) <= 8:
        return ""
    most = max({r[0] for r in runs}, key=lambda v: sum(r[2] - r[1] + 1 for r in runs if r[0] == v))
    strange = [r for r in runs if r[0] != most]
    if len(strange) <= 4 and all(r[1] > 0 and r[2] < len(off) - 1 for r in strange):
        odd = (f"{offset(v, False)} at token" + (f" {a}" if a == b else f"s {a} to {b}") for v, a, b in strange)
        return BUT_FOR.format(offset(most, True), "; ".join(odd))
    later = ", ".join(FROM.format(offset(v, False), a) for v, a, _ in runs[1:])
    return UP_TO.format(offset(runs[0][0], False), runs[0][2], later)

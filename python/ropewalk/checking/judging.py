"""The rows of a report: what each kind of module is held to, and the layers."""

from dataclasses import replace

import numpy as np
import torch

from .. import laws
from ..angles import MOST, Finding, Skipped, Subject, edges, frequencies_hold, turns_hold, worse
from ..channel import told
from ..decorator import KernelError
from ..judge import number
from ..libraries import DTYPES
from ..providers import Provider, declared_context
from .find import OTHER, alike, attentions, sources, who_uses_what
from .rotary import Rotary

CHUNK = 8192  # positions of a call
MOST_ELEMENTS = 1 << 24  # of cos and sin, of all rows: 131,072 of 128 pairs
ROWS = "{0:,} rows of cos and sin within {1:.2g} of the bound"
WORDS = {DTYPES[word]: word for word in ("f32", "f16", "bf16")}
DEPTHS = "num_hidden_layers", "n_layer", "num_layers", "n_layers"
GROWS = "longrope", "dynamic"  # rules that depend on the length


def part_of(config):
    """What a config says of its text."""
    return config["text_config"] if isinstance(config.get("text_config"), dict) else config


def users_of(kind):
    """The attention layers of equal sources; a module that layers share has several paths."""
    return {user for source in kind for user in source.users}


class Checked:
    """What was found in a model, and `rows` and `notes` on it."""

    def __init__(self, model, config, rule, pairing, strict):
        self.config, self.rule, self.pairing = config, rule, pairing
        self.strict, self.rows, self.notes = strict, [], []
        found, every = sources(model), attentions(model)
        own = getattr(model, "config", None)
        types = {getattr(c, "model_type", None) for c in (own, getattr(own, "text_config", None), None)}
        types.add(rule["model_type"])
        left = [n for n, m in {**every, **{s.path: s.module for s in found}}.items()
                if OTHER.search(f"{n} {type(m).__name__}")
                or getattr(getattr(m, "config", None), "model_type", None) not in types]
        self.found = [s for s in found if s.path not in left]
        self.layers = {p: m for p, m in every.items() if p not in left}
        if left:
            self.notes.append(f"not judged: {len(left)} modules of images, sound, cross-attention or parts "
                              f"with a config of their own, such as {left[0]}")
        self.why, self.rotating, others = who_uses_what(model, self.found, self.layers)
        if self.why:
            self.notes.append(f"which layers use what was taken from names: {self.why}")
        if others:
            self.notes.append(f"not judged: {others[0]} turns by cos and sin that no module made")
        kinds = [k for k in rule.get("layers") or [] if k["rotated"]]
        depth = [part_of(config)[n] for n in DEPTHS if n in part_of(config)] + [len(self.layers)]
        count = sum(k["count"] for k in kinds) or depth[0]
        self.wanted = kinds if len(kinds) > 1 else [{**rule, "layer": None, "count": count}]
        self.users = {k["layer"]: set() for k in self.wanted}
        kinds, seen = self.kinds(), not self.why and any(s.users for s in self.found)
        idle = [k for k in kinds if seen and not any(s.users for s in k)]
        if idle:
            self.notes.append("not judged, as no attention layer uses it: " + ", ".join(
                f"{k[0].path} {k[0].layer or ''}".strip() for k in idle))
        for kind in (k for k in kinds if k not in idle):
            self.judge(kind)
        self.judge_layers(sum(k["count"] for k in rule.get("layers") or [] if not k["rotated"]))

    def add(self, kind, check, found, text=""):
        severity = "" if found.holds else found.severity
        counts = severity == "wrong" or (self.strict and severity in ("edge", "precision"))
        self.rows.append({
            "verdict": "FAIL" if counts else severity or "ok", "check": check, "severity": severity,
            "layers": len(users_of(kind)), "module": kind[0].path if kind else "",
            "text": found.reason if severity else text, "cause": found.cause if severity else "",
            "where": found.where if severity else "", "margin": number(found.margin),
            "position": found.first if severity else None})

    def kinds(self):
        """Lists of equal sources."""
        out = []
        for source in self.found:
            same = next((k for k in out if alike(k[0], source)), None)
            out.append([source]) if same is None else same.append(source)
        return out

    def layer_of(self, kind):
        """The kind of layers of the config that a source is for: by its name, or its frequencies."""
        names = [k["layer"] for k in self.wanted]
        if kind[0].layer in names or len(names) == 1:
            return kind[0].layer if kind[0].layer in names else names[0]

        def far(k):
            subject = self.subject_of(kind[0], k["layer"])
            try:
                margin = frequencies_hold(subject, subject.fresh(), subject.answer, 1).margin
            except (Skipped, RuntimeError):  # none, or on meta
                margin = 0.0
            return max(margin, 1.0), k["count"] != len(users_of(kind))

        return min(self.wanted, key=far)["layer"]

    def judge(self, kind):
        source, layer = kind[0], self.layer_of(kind)
        self.users[layer] |= users_of(kind)
        if any(t.numel() == 0 or hasattr(t, "full_tensor") for t in source.tensors()):
            return self.say(kind, "found", "its tensors are not whole here: sharded, or not loaded")
        subject = self.subject_of(source, layer)
        rule = subject.answer
        if any(t.is_meta for t in source.tensors()):
            self.judge_attributes(kind, {
                "attention_scaling": rule["attention_scale"], "base": rule["rope_theta"],
                "rope_type": "default" if rule["scaling"] == "none" else rule["scaling"]})
            return self.say(kind, "found", "on meta: only attributes can be judged")
        if source.form == "position_ids" or not source.tables:
            what = f"{rule['scaling']} of the config" if rule["scaling"] != "none" else (
                f"of theta {rule['rope_theta']:,g}")
            self.one(kind, "frequencies", lambda: frequencies_now(subject), f"inv_freq {what}")
            if (own := subject.own(subject.fresh())) is not None and own.size != subject.pairs:
                return None
        if source.tables and source.form != "seq_len":
            self.judge_length(kind, subject)
        if source.form:
            self.judge_calls(kind, subject)
        elif source.tables:
            self.one(kind, "table", lambda: rows_hold(subject, subject.provider.dtypes[0]), ROWS)
        else:
            self.say(kind, "rows", "how it makes cos and sin of inv_freq is not known")
        for way, (calls, _) in source.ways.items():
            users = [user for s in kind for user in s.ways[way][1]]
            turning = self.subject_of(source, layer, calls)
            turning.context, turning.original = subject.context, subject.original
            self.one([replace(source, users=users)], "rotation", lambda: laws.rotation(turning),
                     f"q and k in {subject.pairs} pairs, {rule['pairing']}")
        if not any(source.ways):  # of vLLM's modules
            self.judge_attributes(kind, {"is_neox_style": rule["pairing"] == "half_split"})

    def subject_of(self, source, layer, calls=()):
        angles = "division" if (source.frequencies or "").endswith("timescale") else "f32"
        own = self.rule["dtype"]
        dtypes = ("f32", own) if own in ("f16", "bf16") else ("f32",)
        if source.tables:
            dtypes = (WORDS.get(getattr(source.module, source.tables[0]).dtype, "f32"),)
        axes = max(3, max(self.rule["axes"]) + 1) if "axes" in self.rule else None
        provider = Provider(lambda _: Rotary(source, axes, calls), dict(
            config=self.config, angles=angles, name=source.path or "model", layer=layer, pairing=self.pairing,
            dtypes=dtypes, context=None, scale_elsewhere=False))
        provider.units = 3 if source.tensors()[0].is_cuda else 2
        return Subject(provider)

    def judge_length(self, kind, subject):
        rotary, context = subject.fresh(), declared_context(self.config, 0)
        rows, found = len(rotary.columns()[0]), Finding()
        if rows < context:
            found = Finding(np.inf, first=rows, reason=f"its table ends at position {rows - 1:,}, and the "
                            f"config's context at {context - 1:,}")
        if rows < context and kind[0].frequencies and all(all(way) for way in kind[0].ways):
            found.severity, found.reason = "not judged", f"{found.reason}: whether it grows is not known"
            grown = self.subject_of(replace(kind[0], tables=()), subject.provider.layer)
            self.one(kind, "frequencies", lambda: frequencies_now(grown), "inv_freq, by which it may grow")
        self.add(kind, "length", found, f"a table of {rows:,} rows")
        subject.context = min(rows, context or rows)
        subject.original = min(subject.original, subject.context)

    def judge_calls(self, kind, subject):
        at = edges(min(subject.context, MOST))
        checks = [(ROWS, lambda: rows_hold(subject, subject.provider.dtypes[0]))]
        checks += [(f"in {d} too", lambda d=d: turns_hold(subject, subject.fresh(), at, subject.answer, d))
                   for d in subject.provider.dtypes[1:]]
        for text, check in (*checks, ("in batches", lambda: laws.batch_rows(subject))):
            self.one(kind, "rows", check, text)
            if self.rows[-1]["verdict"] != "ok":
                return
        self.one(kind, "autocast", lambda: under_autocast(subject), "under autocast too",
                 "under torch.autocast, ")
        if subject.answer["scaling"] in GROWS:
            self.one(kind, "state", lambda: laws.shorter_after_longer(subject), "after longer calls too")
        for dtype in ("bf16", "f16"):
            self.one(kind, f"cast_{dtype}", lambda: laws.cast(subject, dtype),
                     f"a cast to {dtype} keeps inv_freq", f"after a cast to {dtype}, ")

    def judge_attributes(self, kind, wanted):
        module, layer = kind[0].module, kind[0].layer
        for name, right in wanted.items():
            value = getattr(module, f"{layer}_{name}", getattr(module, name, None))
            value = value.get(layer) if isinstance(value, dict) else value
            if isinstance(value, (int, float, str)):
                holds = value == right if isinstance(value, str) else np.isclose(value, right, 2.0**-22, 0)
                self.add(kind, "attributes", Finding(
                    0.0 if holds else np.inf, reason=f"{name} is {value}, and {right} by the config"),
                    f"{name} {value}")

    def judge_layers(self, still):
        """How many layers turn by what, and those for which nothing was found."""
        total, users = sum(k["count"] for k in self.wanted) + still, self.users
        bare = [p for p in self.layers if not any(p in u for u in users.values())]
        for kind in self.wanted if not self.why and any(users.values()) else []:
            turning, what = len(users[kind["layer"]]), kind["layer"] or "the config's rule"
            if turning == kind["count"] or total == len(self.layers):
                self.add([], "layers", Finding(
                    0.0 if turning == kind["count"] else np.inf, first=0, reason=f"{turning} attention "
                    f"layers turn by {what}, and {kind['count']} by the config"),
                    f"{turning} layers turn by {what}")
        if bare:
            expected = f" ({still} by the config)" if still else ""
            self.notes.append(f"nothing found for {len(bare)} attention layers{expected}: "
                              f"{', '.join(bare[:4])}{', ...' * (len(bare) > 4)}")
        if not self.rotating and not self.why and any(users.values()):
            self.notes.append("what rotates q and k was not seen: it is not written in Python")

    def one(self, kind, check, judge, text, where=""):
        """A row of a finding, or of the exception in its place."""
        try:
            found = judge()
            is_order = found.severity == "contract" and not found.holds
            found.reason = where + (found.cause if is_order and found.cause else found.reason)
            self.add(kind, check, found, text.format(found.compared, found.margin))
        except Skipped:
            pass
        except Exception as error:
            # What rotates was given other words than by its model.
            known = isinstance(error, KernelError) or check != "rotation"
            reason = str(error) if isinstance(error, KernelError) else f"it raises {told(error)}"
            self.add(kind, check, Finding(np.inf, reason=f"{where}{check}: {reason}",
                                          severity="wrong" if known else "not judged"))

    def say(self, kind, check, text):
        self.add(kind, check, Finding(np.inf, reason=text, severity="not judged"))


def frequencies_now(s):
    """Stage (a). Where the rule depends on the length, inv_freq is what a call of that length leaves."""
    if s.answer["scaling"] not in GROWS:
        return frequencies_hold(s, s.fresh(), s.answer, s.context)
    longer = s.context if s.context > s.original else 2 * s.original
    return worse([laws.with_length(s, edges(n), n) for n in (s.original, longer)])


def rows_hold(s, dtype):
    """Stage (b) at each position of the context that time allows, and at its edges."""
    context, found = min(s.context, MOST), []
    end, rotary = min(context, MOST_ELEMENTS // s.pairs), s.fresh()
    ends = sorted({*range(CHUNK, end, CHUNK), min(s.original, end), end})
    chunks = [range(a, b) for a, b in zip([0, *ends], ends)] + [
        [p for p in edges(context) if p >= end]]
    for at in filter(len, chunks):
        truth = s.provider.truth(tokens=at[-1] + 1) if s.answer["scaling"] in GROWS else s.answer
        found.append(turns_hold(s, rotary, list(at), truth, dtype))
        if not found[-1].holds:
            break
    return replace(worse(found), compared=sum(f.compared for f in found) // s.pairs)


def under_autocast(s):
    rotary = s.fresh()
    with torch.autocast(rotary.device.type, torch.bfloat16):
        return turns_hold(s, rotary, edges(s.original), s.answer, "bf16")

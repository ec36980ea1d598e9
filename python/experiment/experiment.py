"""Trains tiny transformers with several position encodings, three seeds each: docs/experiment.md.

python experiment.py --plugin FILE.so --kernel NAME [--kernel NAME ...] [--out DIR]"""

import argparse
import platform
import statistics
import sys
import time
from pathlib import Path

import kernel  # first: it says in one line that torch is missing
import numpy
import torch
from model import Model
from torch.nn import functional as F

SEEDS, BATCH, LENGTH = (0, 1, 2), 32, 32
SYMBOLS = 64
SEPARATOR, VOCABULARY = SYMBOLS, SYMBOLS + 1
UNASKED = -1
HEADER = "| task | attention | encoding | L | 2L | 4L |\n|---|---|---|---|---|---|"


def copy(batch, length, generator):
    """Random symbols, the separator, the same symbols again: the second ones are asked for."""
    symbols = torch.randint(SYMBOLS, (batch, length // 2), generator=generator)
    ids = torch.cat((symbols, torch.full((batch, 1), SEPARATOR), symbols), dim=1)
    asked = ids[:, 1:].clone()
    asked[:, : length // 2] = UNASKED
    return ids[:, :-1], asked


def induction(batch, length, generator):
    """Pairs of a key and its value, drawn again and again from length / 4 pairs: behind a key that
    was there before, its value is asked for. Keys are the lower half of the symbols."""
    half, pairs = SYMBOLS // 2, length // 4
    keys = torch.rand(batch, half, generator=generator).argsort(dim=1)[:, :pairs]
    values = torch.randint(half, SYMBOLS, (batch, pairs), generator=generator)
    drawn = torch.randint(pairs, (batch, length // 2), generator=generator)
    before = (drawn[:, :, None] == drawn[:, None, :]).tril(-1).any(-1)
    value = values.gather(1, drawn)
    ids = torch.stack((keys.gather(1, drawn), value), dim=2).view(batch, length)
    asked = torch.full_like(ids, UNASKED)
    asked[:, ::2] = value.where(before, UNASKED)
    return ids, asked


def loss_of(logits, asked):
    return F.cross_entropy(logits.flatten(0, 1), asked.flatten(), ignore_index=UNASKED)


def train(task, encoding, linear, seed, steps):
    """The loss of each step, and (loss, accuracy) of new sequences at L, 2L and 4L."""
    model = Model(VOCABULARY, encoding, linear, seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 50, 2 * (1 - step / steps))
    )
    generator, curve, ends = torch.Generator().manual_seed(seed + 1000), [], []
    for _ in range(steps):
        ids, asked = task(BATCH, LENGTH, generator)
        loss = loss_of(model(ids), asked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()
        curve.append(loss.item())
    with torch.no_grad():
        for times in (1, 2, 4):
            ids, asked = task(128, times * LENGTH, torch.Generator().manual_seed(times))
            logits = model(ids)
            right = (logits.argmax(-1) == asked)[asked != UNASKED]
            ends.append((loss_of(logits, asked).item(), 100 * right.float().mean().item()))
    return curve, ends


class Progress:
    """Trainings done, on stderr, with the time that the others will take."""

    def __init__(self, runs):
        self.runs, self.done, self.began = runs, 0, time.monotonic()

    def step(self, text):
        self.done += 1
        left = (time.monotonic() - self.began) / 60 / self.done * (self.runs - self.done)
        sys.stderr.write(f"{self.done} of {self.runs}, {left:.1f} minutes left: {text}\n")

    def took(self):
        minutes = (time.monotonic() - self.began) / 60
        return f"{minutes:.1f} minutes, {time.process_time() / 60:.1f} of them the processor's"


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}}..{max(values):{form}})"


def versions():
    names = f"python {platform.python_version()}, torch {torch.__version__}"
    return f"{names}, numpy {numpy.__version__}"


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--plugin", action="append", required=True, metavar="FILE.so")
    parser.add_argument("--kernel", action="append", required=True, metavar="NAME")
    parser.add_argument("--steps", type=steps, default=500, help="of each training (default 500)")
    return parser


def steps(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def rows(kernels):
    """Task, attention and encoding of each row, with what the model is given for the encoding."""
    for task in (copy, induction):
        for attention in ("softmax", "linear"):
            for k in kernels:
                yield task, attention, "rope" if len(kernels) == 1 else f"rope {k.name}", k
            for name in ("sinusoidal", "alibi", "none") if attention == "softmax" else ("none",):
                yield task, attention, name, name


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--out", default="ropewalk-out/experiment", metavar="DIR")
    given = parser.parse_args()
    planned = list(rows(kernel.find(given.plugin, given.kernel)))
    try:
        Path(given.out).mkdir(parents=True, exist_ok=True)
        curves = open(Path(given.out) / "curves.csv", "w")
    except OSError as error:
        kernel.refuse(error)
    progress, losses, right = Progress(len(planned) * len(SEEDS)), [HEADER], [HEADER]
    with curves:
        curves.write("task,attention,encoding,seed,step,loss\n")
        for task, attention, name, encoding in planned:
            ends = []
            for seed in SEEDS:
                curve, end = train(task, encoding, attention == "linear", seed, given.steps)
                words = f"{task.__name__},{attention},{name},{seed}"
                curves.writelines(f"{words},{i},{x:.9g}\n" for i, x in enumerate(curve, 1))
                ends.append(end)
                progress.step(f"{words}: loss {end[0][0]:.4f}")
            for table, what, form in ((losses, 0, ".4f"), (right, 1, ".1f")):
                cells = [spread([e[at][what] for e in ends], form) for at in range(3)]
                table.append(f"| {' | '.join((task.__name__, attention, name, *cells))} |")
    lines = [
        "Loss at the lengths L, 2L and 4L:\n",
        *losses,
        "\nRight answers, in percent:\n",
        *right,
        "",
        f"Median (least..greatest) of {len(SEEDS)} seeds, L = {LENGTH}, {given.steps} steps.",
        f"Kernel {', '.join(given.kernel)}; {versions()}; {progress.took()}.",
        f"Command: {' '.join(sys.argv)}",
    ]
    print("\n".join(lines))
    (Path(given.out) / "table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

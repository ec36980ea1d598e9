"""Trains the copy task with RoPE by several kernels and says whether the trainings agree.

The first --kernel is the base. One with equal bits must give equal curves. One that differs by
roundings must stay within 1e-4 of the base's loss for 20 steps, and its median must end within the
spread of the base's seeds. Each seed of a --broken kernel must end above it. Of a kernel that
differs by more, nothing is claimed. Exit code 1 if a claim fails."""

import sys

import experiment
from experiment import LENGTH, SEEDS, spread, statistics
from kernel import FORWARD, TRANSPOSE, find, torch

ROUNDINGS = 1e-6  # relative to the greatest output: 16 units of f32
EARLY, NEAR = 20, 1e-4


def outputs(kernel):
    """What a kernel makes of one q and k, forward and backward."""
    generator = torch.Generator().manual_seed(0)
    shape = (experiment.BATCH, LENGTH, 2, 32)
    q, k = torch.randn(2, *shape, generator=generator)
    return torch.stack(kernel.rotate(q, k, FORWARD) + kernel.rotate(q, k, TRANSPOSE))


def apart(a, b):
    """The greatest difference of two curves in the first steps, over the seeds."""
    return max(abs(x - y) for p, q in zip(a, b) for x, y in zip(p[:EARLY], q[:EARLY]))


class Trained:
    def __init__(self, kernel, steps, progress):
        runs = []
        for seed in SEEDS:
            runs.append(experiment.train(experiment.copy, kernel, False, seed, steps))
            progress.step(f"{kernel.name}, seed {seed}: loss {runs[-1][1][0][0]:.6f}")
        self.curves = [curve for curve, _ in runs]
        self.ends = [end[0][0] for _, end in runs]


def verdict(kernel, trained, base, base_outputs, broken):
    """What holds of a kernel, in words, and whether its claim holds: None if there is none."""
    low, high = min(base.ends), max(base.ends)
    above = all(not end <= high for end in trained.ends)
    made = outputs(kernel)
    difference = ((made - base_outputs).abs().max() / base_outputs.abs().max()).item()
    ends = f"ends at {spread(trained.ends, '.6f')}"
    if broken:
        return f"broken: {ends}, {'above' if above else 'not all above'}", above
    if torch.equal(made, base_outputs):
        equal = trained.curves == base.curves
        return f"equal bits: {'equal' if equal else 'OTHER'} curves, {ends}", equal
    near = apart(trained.curves, base.curves)
    within = low <= statistics.median(trained.ends) <= high
    text = f"{near:.1e} apart in {EARLY} steps, {ends}, {'within' if within else 'outside'}"
    if difference > ROUNDINGS:
        return f"differs by {difference:.1e}: {text}", None
    return f"roundings, {difference:.1e}: {text}", near <= NEAR and within


def main():
    parser = experiment.options(__doc__.splitlines()[0])
    parser.add_argument("--broken", action="append", default=[], metavar="NAME")
    given = parser.parse_args()
    names = [*given.kernel, *given.broken, given.kernel[0]]  # the base once more, as the last
    kernels = find(given.plugin, names)
    progress, failed = experiment.Progress(len(names) * len(SEEDS)), False
    base = Trained(kernels[0], given.steps, progress)
    base_outputs = outputs(kernels[0])
    print(f"{'base':5} {names[0]}: ends at {spread(base.ends, '.6f')}")
    for kernel in kernels[1:]:
        trained = Trained(kernel, given.steps, progress)
        text, holds = verdict(kernel, trained, base, base_outputs, kernel.name in given.broken)
        word = {True: "PASS", False: "FAIL", None: "-"}[holds]
        print(f"{word:5} {kernel.name}: {text}", flush=True)
        failed |= holds is False
    print(f"{experiment.versions()}; {progress.took()}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

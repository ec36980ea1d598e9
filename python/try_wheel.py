"""Tries a wheel on a system that has Python and perhaps g++: try_wheel.py WHEEL FOLDER, from the
root of the sources. In FOLDER it makes an environment, a right and a wrong kernel in C++ and in
NumPy, and a report. Says the seconds of each step."""

import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

SHAPE = ["--shape", "q=8,k=2,d=64,tokens=16", "--rounds", "6", "--launches", "1"]


def main(wheel, folder):
    sources = Path("kernels/example/example.cpp"), Path("docs/python/numpy_rope.py")
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        text = source.read_text()
        (folder / f"right{source.suffix}").write_text(text)
        wrong = text.replace("x1 * c - x2 * s", "x1 * c + x2 * s")
        wrong = wrong.replace("a * cos - b * sin", "a * cos + b * sin")
        if wrong == text:
            sys.exit(f"{source} has no rotation to spoil")
        (folder / f"wrong{source.suffix}").write_text(wrong)
    bin = folder / "env/bin"
    venv.create(folder / "env", with_pip=True)
    step(folder, 0, bin / "pip", "install", "-q", wheel.resolve())
    step(folder, 0, bin / "ropewalk", "list", "--kernel", "plain")
    headers = bin / "python", "-c", "import ropewalk; print(ropewalk.get_include())"
    include = "-I" + subprocess.run(headers, text=True, stdout=subprocess.PIPE).stdout.strip()
    kernels = {}
    if shutil.which("g++"):
        for name in "right", "wrong":
            words = "-std=c++20", "-O3", "-ffp-contract=off", "-shared", "-fPIC", include
            step(folder, 0, "g++", *words, f"{name}.cpp", "-o", f"{name}.so")
        kernels |= {"./right.so": 0, "./wrong.so": 1}
    else:
        print("no g++ here: kernels in C++ are not tried")
    step(folder, 2, bin / "ropewalk", "verify", "right.py")  # NumPy is not there yet
    step(folder, 0, bin / "pip", "install", "-q", "numpy")
    for kernel, code in (kernels | {"right.py": 0, "wrong.py": 1}).items():
        step(folder, code, bin / "ropewalk", "verify", kernel)
    step(folder, (0, 3), bin / "ropewalk", "bench", "right.py", *SHAPE, "--out", "out")
    step(folder, 0, bin / "ropewalk", "report", "out/results.jsonl")


def step(folder, wanted, program, *words):
    """Runs a step, which must end with this exit code (3: the machine was too noisy)."""
    begin = time.monotonic()
    done = subprocess.run([program, *words], cwd=folder, text=True, capture_output=True)
    print(f"{time.monotonic() - begin:6.1f} s  {Path(program).name} {words[0]} {words[-1]}", flush=True)
    if done.returncode not in (wanted if isinstance(wanted, tuple) else (wanted,)):
        sys.exit(f"exit code {done.returncode}, not {wanted}:\n{done.stdout}{done.stderr}")


main(Path(sys.argv[1]), Path(sys.argv[2]).resolve())

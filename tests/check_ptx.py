"""ptxas, the judge of syntax, on every .ptx of device/ and tests/isa/. Says so when it is not installed."""
import pathlib
import re
import shutil
import subprocess
import sys

ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
if not ptxas:
    print("check-ptx: skipped, ptxas is not installed")
    sys.exit(0)
failed = passed = 0
# A family target assembles for each machine that can run it.
ARCHS = {"sm_90": ["sm_90a", "sm_100a"], "sm_100": ["sm_100a"]}
paths = sorted(pathlib.Path("device").rglob("*.ptx")) + sorted(pathlib.Path("tests/isa").glob("*.ptx"))
jobs = []
for path in paths:
    target = re.search(r"^\.target\s+(\w+)", path.read_text(), re.M)[1]
    jobs += [(path, arch) for arch in ARCHS.get(target, [target])]
for path, target in jobs:
    done = subprocess.run([ptxas, f"-arch={target}", str(path), "-o", "/dev/null"], text=True, capture_output=True)
    failed += done.returncode != 0
    passed += done.returncode == 0
    if done.returncode:
        print(f"{path}:\n{done.stderr}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)

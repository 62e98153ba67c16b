"""Runs every test program under BUILD/bin/tests and sums up what Criterion reports."""
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
passed = failed = 0
for program in sorted(build.glob("bin/tests/*/test_*")):
    if program.suffix:
        continue
    done = subprocess.run([str(program), "-j1"], text=True, capture_output=True)
    sums = re.search(r"Tested:.*?(\d+).*?Passing:.*?(\d+).*?Failing:.*?(\d+).*?Crashing:.*?(\d+)",
                     re.sub(r"\x1b\[[0-9;]*m", "", done.stderr))
    good, bad = (int(sums[2]), int(sums[3])) if sums else (0, 1)
    passed += good
    failed += bad
    for line in done.stdout.splitlines():
        print(f"{program.name}: {line}")
    if done.returncode != 0 or bad:
        print(f"FAILED {program}\n{done.stderr}")
        failed += 0 if bad else 1
for program in sorted(build.glob("bin/fuzz/fuzz_*")):
    if program.suffix:
        continue
    corpus = pathlib.Path(__file__).parent / "fuzz" / program.name.replace("fuzz_", "corpus_")
    done = subprocess.run([str(program), str(corpus)], text=True, capture_output=True)
    print(f"{program.name}: {done.stdout.strip()}")
    passed += done.returncode == 0
    if done.returncode != 0:
        print(f"FAILED {program} {corpus}\n{done.stderr}")
        failed += 1
print(f"{passed} passed, {failed} failed")
if failed:
    sys.exit(1)

"""Runs every test program under BUILD/bin/tests, as many at a time as there are cores, and sums up what Criterion
reports."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])


def programs(pattern):
    return [p for p in sorted(build.glob(pattern)) if not p.suffix]


def run(words):
    return subprocess.run([str(w) for w in words], text=True, errors="replace", capture_output=True)


def run_all(list_of_words):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(run, list_of_words)


passed = failed = 0
tests = programs("bin/tests/*/test_*")
for program, done in zip(tests, run_all([[p, "-j1"] for p in tests])):
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
    sys.stdout.flush()

fuzzers = programs("bin/fuzz/fuzz_*")
corpora = [pathlib.Path(__file__).parent / "fuzz" / p.name.replace("fuzz_", "corpus_") for p in fuzzers]
for program, corpus, done in zip(fuzzers, corpora, run_all(list(zip(fuzzers, corpora)))):
    print(f"{program.name}: {done.stdout.strip()}")
    passed += done.returncode == 0
    if done.returncode != 0:
        print(f"FAILED {program} {corpus}\n{done.stderr}")
        failed += 1
print(f"{passed} passed, {failed} failed")
if failed:
    sys.exit(1)

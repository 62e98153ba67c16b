"""Rules of the code that a compiler does not check: every header compiles alone, file names are
unique, no writable data in the simulator but two allowed objects, format. Then AArch64: everything is
cross-compiled and the programs of tests/isa and the small traces run under qemu-user, where the tools
are installed. usage: checks.py BUILD"""
import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
failures = []
passed = 0
# What the driver API implies: the process root (devices, primary contexts) and the thread's current
# context.
WRITABLE = {"cuda_root", "cuda_current"}
SOURCES = ["host", "sim", "harness", "tests"]


def report(name, problems):
    global passed
    print(f"{name}: {'ok' if not problems else ''}")
    for line in problems:
        print("  " + line)
    if problems:
        failures.append(name)
    else:
        passed += 1


def files(suffix):
    for top in SOURCES:
        yield from sorted(pathlib.Path(top).rglob("*" + suffix))


def allowed_folders():
    """The include table, read from SConstruct so that it stands in one place."""
    tree = ast.parse(pathlib.Path("SConstruct").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "ALLOWED":
            return ast.literal_eval(node.value)
    raise SystemExit("SConstruct has no ALLOWED")


def headers_alone():
    table = allowed_folders()
    problems = []
    for header in files(".h"):
        folder = str(header.parent)
        paths = table.get(folder)
        if paths is None:
            paths = list(table) + ["host/abi", "sim/include", "tests/support"]
        line = ["gcc", "-std=c17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-x", "c",
                "-I", folder] + [f"-I{p}" for p in paths] + ["-include", str(header), "/dev/null"]
        done = subprocess.run(line, text=True, capture_output=True)
        if done.returncode:
            problems.append(f"{header}: does not compile alone:\n{done.stderr}")
    report("headers alone", problems)


def unique_names():
    seen, problems = {}, []
    for path in list(files(".c")) + list(files(".h")):
        if path.name in seen:
            problems.append(f"{path}: the name is also {seen[path.name]}'s")
        seen[path.name] = path
    report("unique names", problems)


def writable_data():
    problems = []
    for obj in sorted(build.glob("sim/**/*.os")):
        table = subprocess.run(["objdump", "-t", str(obj)], text=True, capture_output=True, check=True).stdout
        for line in table.splitlines():
            found = re.search(r"\s(\.data(?!\.rel\.ro)\S*|\.bss\S*|\.tbss\S*|\.tdata\S*|\*COM\*)\s+([0-9a-f]+)\s+(.*)$", line)
            if found and int(found[2], 16) > 0:
                name = found[3].split()[-1].split(".")[0]
                if name not in WRITABLE:
                    problems.append(f"{obj}: writable data: {name} in {found[1]}")
    report("no writable data in the simulator", problems)


def formatted():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not tool:
        print("format: skipped, clang-format is not installed")
        return
    names = [str(p) for p in list(files(".c")) + list(files(".h"))]
    done = subprocess.run([tool, "--dry-run", "-Werror"] + names, text=True, capture_output=True)
    report("format", sorted({line.split(":")[0] for line in done.stderr.splitlines() if "error:" in line}))


CROSS = "aarch64-linux-gnu-gcc"
# With the arm64 libraries of Debian itself its own loader finds them; the cross compiler's loader would mix two
# versions of the C library, and a fork hangs.
NATIVE_ARM64 = pathlib.Path("/lib/ld-linux-aarch64.so.1").exists()
QEMU = ["qemu-aarch64"] + ([] if NATIVE_ARM64 else ["-L", "/usr/aarch64-linux-gnu"])
QEMU_SECONDS = 600  # a hang is a failure too


def recorded_families():
    """README.md's table of random cases says what the heads of the records say."""
    shown = {}
    table = pathlib.Path("README.md").read_text()
    for row in re.finditer(r"^\| `(\w+)` \|[^|]*\| ([\d,]+) \| 0 \| ([\d-]+) \|$", table, re.MULTILINE):
        shown[row[1]] = (int(row[2].replace(",", "")), row[3])
    recorded = {}
    for path in sorted(pathlib.Path("traces/silicon/h200").glob("*.conf")):
        head = re.search(rb"date (\S+)\nseed \d+\nfamily (\S+) cases (\d+) batches (\d+)\n", path.read_bytes()[:1000])
        recorded[head[2].decode()] = (int(head[3]) * int(head[4]), head[1].decode())
    report("README's table of families", [f"{name}: {shown.get(name)} in README.md, {recorded.get(name)} recorded"
                                          for name in sorted(shown | recorded)
                                          if shown.get(name) != recorded.get(name)])


def under_qemu(*args):
    """Exit status (None: still running after QEMU_SECONDS), stdout, stderr."""
    try:
        done = subprocess.run(QEMU + [str(a) for a in args], text=True, capture_output=True, timeout=QEMU_SECONDS)
    except subprocess.TimeoutExpired:
        return None, "", f"still running after {QEMU_SECONDS} s"
    return done.returncode, done.stdout, done.stderr


def cross_build(*targets):
    done = subprocess.run(["scons", "-Q", "-j2", f"--cc={CROSS}", *targets], text=True, capture_output=True)
    report("AArch64 build of " + " ".join(targets), [done.stdout + done.stderr] if done.returncode else [])
    return done.returncode == 0


def aarch64_programs():
    root = build / CROSS
    runner = root / "tests/isa_runner"
    if not cross_build(str(runner), str(root / "sim/libcuda.so.1")):
        return
    status, out, err = under_qemu(runner)
    print(out.splitlines()[-1] if out else "")
    report("programs of tests/isa on AArch64", [out + err] if status != 0 else [])


def aarch64_traces():
    if not pathlib.Path("/usr/lib/aarch64-linux-gnu/libzstd.so").exists():
        print("AArch64 traces: skipped, need libzstd-dev:arm64, libjansson-dev:arm64")
        return
    if not cross_build("cross"):
        return
    problems = []
    for trace in sorted(pathlib.Path("traces").glob("*.trace")):
        status, _, err = under_qemu(build / CROSS / "siltwin", "run", "--quiet", trace)
        if status != 0:
            problems.append(f"{trace}: exit {status}: {err}")
    report("traces on AArch64", problems)


def aarch64():
    if not (shutil.which(CROSS) and shutil.which(QEMU[0])):
        print("AArch64: skipped, needs gcc-aarch64-linux-gnu, qemu-user")
        return
    aarch64_programs()
    aarch64_traces()


headers_alone()
unique_names()
writable_data()
formatted()
recorded_families()
if "--no-cross" not in sys.argv:
    aarch64()
print(f"{passed} passed, {len(failures)} failed")
sys.exit(1 if failures else 0)

"""clang-tidy for functions over 70 lines, and cppcheck, on all C files but the tests."""
import pathlib
import shutil
import subprocess
import sys

# gcc and clang define the shift of negative numbers (arithmetic); the NULL of ptx_error's note stands before the format,
# which cppcheck miscounts behind a compound literal.
SUPPRESSED = ["internalAstError", "shiftTooManyBitsSigned", "varFuncNullUB"]
FOLDERS = ["sim/base", "sim/num", "sim/units", "sim/ptx", "sim/exec", "sim/check", "sim/cuda", "sim/include", "host",
           "host/abi", "harness"]
sources = [str(p) for f in FOLDERS for p in sorted(pathlib.Path(f).glob("*.c"))]
includes = [f"-I{f}" for f in FOLDERS]
failed = 0
tidy = shutil.which("clang-tidy") or shutil.which("clang-tidy-14")
if tidy:
    config = "{Checks: '-*,readability-function-size', WarningsAsErrors: '*', CheckOptions: " \
             "[{key: readability-function-size.LineThreshold, value: 70}, " \
             "{key: readability-function-size.StatementThreshold, value: 100000}]}"
    failed |= subprocess.run([tidy, "--quiet", "--config=" + config] + sources + ["--", "-std=c17", "-D_GNU_SOURCE"] + includes).returncode
else:
    print("clang-tidy: skipped, not installed")
if shutil.which("cppcheck"):
    failed |= subprocess.run(["cppcheck", "--quiet", "--error-exitcode=1", "--std=c11", "--enable=warning,portability",
                              "--inline-suppr", "-D_GNU_SOURCE"] + [f"--suppress={s}" for s in SUPPRESSED] + includes + sources).returncode
else:
    print("cppcheck: skipped, not installed")
sys.exit(1 if failed else 0)

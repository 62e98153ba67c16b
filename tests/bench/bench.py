"""Figures of the simulator, measured as ratios in one run. usage: bench.py BUILD

Ends with one `name value unit` line per figure. sim_matmul4_2048_over_openblas: the simulated launch of
matmul_4_n256 at 2048^3 over OpenBLAS sgemm of the same shape on the same cores, taken in turns, each
the fastest of its runs (the machine's other work only ever adds time)."""
import os
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
siltwin = str(build / "siltwin")
SIZE = 2048
ROUNDS = 3
cores = len(os.sched_getaffinity(0))
# Debian's OpenBLAS falls back to SSE kernels on processors newer than itself.
flags = pathlib.Path("/proc/cpuinfo").read_text()
coretype = "SKYLAKEX" if "avx512bw" in flags else "HASWELL" if "avx2" in flags else None
blas_env = dict(os.environ)
blas_env.pop("OPENBLAS_L2_SIZE", None)
if coretype:
    blas_env["OPENBLAS_CORETYPE"] = coretype


def output(*args, env=None):
    return subprocess.run([str(a) for a in args], text=True, capture_output=True, check=True, env=env).stdout


def blas():
    seconds, core = output(build / "bin/bench_blas", SIZE, cores, env=blas_env).split()
    return float(seconds), core


def launch_seconds(trace, jobs, *consts):
    done = subprocess.run([siltwin, "run", trace, *consts, "--jobs", str(jobs)], text=True, capture_output=True, check=True)
    return float(re.search(r"done in ([0-9.e+-]+) s", done.stdout + done.stderr)[1])


def thread_instructions(trace, *consts):
    done = subprocess.run([siltwin, "run", trace, *consts, "--stats"], text=True, capture_output=True, check=True)
    return int(re.search(r"instructions\s+\d+ warp, (\d+) thread", done.stdout + done.stderr)[1])


figures = []
best_sim = best_blas = 1e30
core = "?"
for turn in range(ROUNDS):
    seconds, core = blas()
    best_blas = min(best_blas, seconds)
    trace = "tests/bench/matmul4_2048.trace"
    best_sim = min(best_sim, launch_seconds(trace, cores))
    print(f"round {turn + 1}: sgemm {best_blas:.3f} s, simulated matmul_4 {best_sim:.3f} s (fastest so far)", flush=True)
print(f"OpenBLAS kernels: {core}; {cores} cores; {SIZE}^3")
figures.append(("openblas_sgemm_2048", best_blas, "s"))
figures.append(("sim_matmul4_2048", best_sim, "s"))
figures.append(("sim_matmul4_2048_over_openblas", best_sim / best_blas, "ratio"))
naive = "tests/bench/matmul1.trace"
count = thread_instructions(naive)
seconds = min(launch_seconds(naive, 1) for _ in range(ROUNDS))
figures.append(("sim_simt_thread_instr_per_s_core", count / seconds, "1/s"))
for program in ("bench_mma", "bench_ptx_parse"):
    for line in output(build / "bin" / program).splitlines():
        words = line.split()
        if len(words) == 3:
            figures.append((words[0], float(words[1]), words[2]))
for name, value, unit in figures:
    print(f"{name} {value:.6g} {unit}")

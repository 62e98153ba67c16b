"""The whole acceptance matrix of the ladder on the simulator. usage: acceptance.py BUILD [quick]

Kernels 1 to 4, both tiles, sizes {one tile, 512, 1024, 2048 for kernels 2-4} and K not equal to M.
Integer inputs: C is the exact product rounded once. uniform(-1,1): C is bit for bit the documented
tensor core arithmetic chained over K, and within 1 bf16 ulp of max(|float64|, 0.25). eager, lazy and
five random policies, one and two host threads: records are the same."""
import pathlib
import re
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1])
quick = "quick" in sys.argv
siltwin = str(build / "siltwin")
POLICIES = ["eager", "lazy"] + [f"random:{seed}" for seed in range(1, 2 if quick else 6)]
passed = failed = 0


def run(*args):
    return subprocess.run([siltwin, *map(str, args)], text=True, capture_output=True)


def case(name, good, text=""):
    global passed, failed
    passed += good
    failed += not good
    print(f"{'ok' if good else 'FAILED'}  {name}", flush=True)
    if not good:
        print(text)


def variant(trace, inputs, expects, folder):
    """The committed trace with other inputs and expectations, its paths kept."""
    text = trace.read_text()
    text = re.sub(r"uniform\(-1,1\)", inputs, text)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("expect"))
    text = text.replace("../device", str(pathlib.Path("device").resolve()))
    path = folder / f"{trace.stem}_{re.sub('[^a-z0-9]', '', inputs)}.trace"
    path.write_text(text + "\n" + "\n".join(expects) + "\n")
    return path


def sizes(stem, tile_n):
    one = (64, tile_n, 64) if tile_n else (32, 32, 64)
    squares = [512] if quick else [512, 1024] + ([2048] if tile_n else [])
    return [one] + [(s, s, s) for s in squares] + [(256, 512, 192), (512, 256, 1024)]


def policies_agree(path, consts, name, folder):
    digest = first = None
    for policy in POLICIES:
        for jobs in (1, 2):
            record = folder / "out.rec"
            done = run("run", path, *consts, "--policy", policy, "--jobs", jobs, "-o", record, "--quiet",
                       "--allow-path", "device")
            if done.returncode:
                return case(f"{name} {policy} jobs {jobs}", False, done.stderr)
            now = run("show", "--digest", record).stdout.strip()
            if digest is None:
                digest = now
                first = folder / "first.rec"
                record.rename(first)
            else:
                same = run("diff", first, record)
                if now != digest or same.returncode:
                    return case(f"{name} {policy} jobs {jobs}", False, f"{digest} {now}\n{same.stdout}{same.stderr}")
    case(f"{name} same record under {len(POLICIES)} policies and 1 and 2 jobs", True)


with tempfile.TemporaryDirectory() as tmp:
    folder = pathlib.Path(tmp)
    for trace in sorted(pathlib.Path("traces").glob("matmul_*.trace")):
        tile = re.search(r"_64x(\d+)$", trace.stem)
        tile_n = int(tile[1]) if tile else 0
        exact = ["expect C == matmul_nt(A, B) exact"]
        real = ["expect C == matmul_nt(A, B) within 1 ulp"]
        if tile_n:
            real.append("expect C == matmul_nt_tc(A, B) bits")
        else:
            real.append("expect C == matmul_nt_fma(A, B) bits")
        integers = variant(trace, "ints(-4,4)", exact, folder)
        uniform = variant(trace, "uniform(-1,1)", real, folder)
        for m, n, k in sizes(trace.stem, tile_n):
            consts = [f"M={m}", f"N={n}", f"K={k}"]
            for path, kind in ((integers, "integers"), (uniform, "uniform")):
                name = f"{trace.stem} {m}x{n}x{k} {kind}"
                done = run("run", path, *consts, "--quiet", "--allow-path", "device")
                case(name, done.returncode == 0, done.stderr)
            big = m * n * k >= 1024 ** 3
            if not big or not quick:
                policies_agree(uniform, consts, f"{trace.stem} {m}x{n}x{k}", folder)
    if not quick:
        done = run("run", "traces/matmul_4_tma_store_64x256.trace", "M=4096", "N=4096", "K=4096", "--quiet")
        case("matmul_4_tma_store_64x256 4096^3", done.returncode == 0, done.stderr)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)

#!/usr/bin/env python3
"""Records on this machine's GPU everything that traces/silicon/ holds of one, and compares it with the simulator.

    scons record                                     all of it, into traces/silicon/<gpu>/
    python3 tests/record_silicon.py --only 'probe_*' some traces
    python3 tests/record_silicon.py --driver build/sim/libcuda.so.1 --out /tmp/dry   without a GPU: the same steps
                                                     on the simulator (SILTWIN_DEVICE chooses its model)

Steps: every trace of traces/ that this GPU's modules exist for (X.rec), the programs of tests/isa (isa.txt), the random
cases of every family of build/conform (X.conf), cases of misuse (build/conform_fault, fault.txt). Each answer is
compared with the simulator at once. A step that fails or takes too long is said and the next one follows. Exit status: 0 everything recorded and equal, 1 a difference or a
failed expectation, 2 wrong usage, 3 no GPU, 4 something ended without a verdict.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
AS_EXPECTED, DIFFERENT, USAGE, MACHINE, NO_VERDICT = 0, 1, 2, 3, 4
# Random cases of a family of which no record is committed; their answers take 8 bytes for 64 cases.
# A case of approx is 16384 operands: the simulator is asked a part alone.
COMPARED = {"approx": 225280}
FAULT_CASES = 1024
OTHER_CASES = 32768


def committed_cases(family):
    """As many cases as the records of other GPUs have."""
    for record in sorted((ROOT / "traces" / "silicon").glob(f"*/{family}.conf")):
        found = re.search(rb"^family \S+ cases (\d+) batches (\d+)$", record.read_bytes(), re.M)
        if found:
            return int(found[1]) * int(found[2])
    return OTHER_CASES


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build", help="folder of siltwin, sim/libcuda.so.1, conform, tests/isa_runner")
    p.add_argument("--out", help="folder for the records (default: traces/silicon/<gpu>)")
    p.add_argument("--driver", help="a libcuda.so.1 in place of the machine's own; needs --out")
    p.add_argument("--only", action="append", metavar="PATTERN", help="traces and families whose names fit")
    p.add_argument("--traces", default=str(ROOT / "traces"), help="folder of the traces (default: traces)")
    p.add_argument("--parts", default="traces,isa,conform,fault",
                   help="which of traces, isa, conform, fault (default: all)")
    p.add_argument("--cases", type=int, help="random cases of each family (default: as many as are committed)")
    p.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="time for one step (default 600)")
    p.add_argument("--jobs", type=int, default=1, help="traces that run at the same time (default 1)")
    options = p.parse_args()
    if set(options.parts.split(",")) - {"traces", "isa", "conform", "fault"}:
        p.error("--parts takes traces, isa, conform, fault")
    if options.driver and not options.out:
        p.error("--driver needs --out: records of another driver do not belong into traces/silicon")
    if options.driver and not pathlib.Path(options.driver).is_file():
        p.error(f"there is no {options.driver}")
    return options


class Recorder:
    def __init__(self, options):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.env = dict(os.environ)
        self.sim_env = dict(os.environ)
        if options.driver:
            folder = str(pathlib.Path(options.driver).resolve().parent)
            self.env["LD_LIBRARY_PATH"] = folder + ":" + self.env.get("LD_LIBRARY_PATH", "")
            self.env.setdefault("SILTWIN_DEVICE", "h200")
        self.counts = {"recorded": 0, "different": 0, "failed": 0, "skipped": 0}
        self.status = AS_EXPECTED

    def command(self, words, gpu, errors=True):
        """Exit status (None: it took too long) and what it printed, on stdout alone without `errors`."""
        # The comparing side must find its own driver, never the one that stands in for a GPU; its model is the GPU's.
        env = self.env if gpu else self.sim_env
        # A session of its own, so that what it started ends with it.
        with subprocess.Popen([str(w) for w in words], cwd=ROOT, env=env, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
                              start_new_session=True) as process:
            try:
                text = process.communicate(timeout=self.options.limit)[0]
                return process.returncode, text
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None, process.communicate()[0]

    def say(self, verdict, name, text="", seconds=None):
        self.counts[verdict] += 1
        worse = {"recorded": AS_EXPECTED, "skipped": AS_EXPECTED, "different": DIFFERENT, "failed": NO_VERDICT}[verdict]
        # A difference is a verdict; nothing that came without one hides it.
        if worse == DIFFERENT or self.status == AS_EXPECTED:
            self.status = worse
        took = "" if seconds is None else f" ({seconds:.1f} s)"
        print(f"{verdict:9} {name}{took}")
        for line in text.strip().splitlines():
            print(f"          {line}")
        sys.stdout.flush()

    def wanted(self, name):
        return not self.options.only or any(fnmatch.fnmatch(name, o) for o in self.options.only)

    # ---- the machine ----

    def find_gpu(self):
        """Device model, folder name and compute capability of the first GPU; None: said."""
        code, text = self.command([self.build / "siltwin", "doctor", "--json"], True)
        checks = json.loads(text)["checks"] if code == 0 else []
        gpu = next((c for c in checks if c["check"] == "gpu"), {"found": False, "text": text})
        print(f"gpu       {gpu['text']}")
        found = re.match(r"(.*), compute capability (\d+)\.(\d+)", gpu["text"])
        if not gpu["found"] or not found:
            return None
        name, capability = found[1].lower(), (int(found[2]), int(found[3]))
        models = {(9, 0): "h100" if "h100" in name else "h200", (10, 0): "b200"}
        if capability not in models:
            print(f"no traces are for compute capability {capability[0]}.{capability[1]}")
            return None
        known = re.search(r"[ghb]+\d+", name)
        folder = known[0] if known else re.sub(r"\W+", "-", name).strip("-")
        return models[capability], folder, capability

    # ---- the parts ----

    def traces(self, out, device):
        paths = [t for t in sorted(pathlib.Path(self.options.traces).resolve().glob("*.trace")) if self.wanted(t.stem)]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for verdict in pool.map(lambda trace: self.record_trace(out, device, trace), paths):
                self.say(*verdict)

    def record_trace(self, out, device, trace):
        """What `say` is to say of one trace."""
        siltwin, shown, record = self.build / "siltwin", os.path.relpath(trace, ROOT), out / (trace.stem + ".rec")
        code, text = self.command([siltwin, "run", shown, "--device", device, "--emit-ptx"], False)
        if code == MACHINE:
            return "skipped", trace.stem, text.partition("\n")[0]
        begun = time.monotonic()
        partial = record.with_suffix(".new")
        partial.unlink(missing_ok=True)
        code, text = self.command([siltwin, "run", shown, "--device", device, "--on", "gpu", "-o", partial], True)
        took = time.monotonic() - begun
        if not partial.exists():
            why = "took too long" if code is None else f"exit status {code}, nothing to record"
            return "failed", trace.stem, f"{why}\n{text}", took
        partial.replace(record)
        same, difference = self.command([siltwin, "diff", shown, "--device", device, "--against", record], False)
        if code == 0 and same == 0:
            probes = [line for line in text.splitlines() if line.startswith("probes: ")]
            return "recorded", trace.stem, "\n".join(probes), took
        if same == DIFFERENT or code == DIFFERENT:
            return "different", trace.stem, (text if code else "") + difference, took
        return "failed", trace.stem, f"exit status {code} on the GPU, {same} of diff\n{text}{difference}", took

    def isa(self, out):
        begun = time.monotonic()
        runner = self.build / "tests" / "isa_runner"
        code, text = self.command([runner, "--on", "gpu", "--record", out], True, False)
        took = time.monotonic() - begun
        if code is None:
            self.say("failed", "isa programs", "took too long\n" + text, took)
            return
        same, difference = self.command([runner, "--against", out / "isa.txt"], False)
        lines = text.strip().splitlines()
        other = sum("needs another device" in line for line in lines)
        if same == 0 and code == 0:
            self.say("recorded", "isa programs", f"{lines[-1]} ({other} need another device)" if lines else "", took)
        else:
            self.say("different", "isa programs", f"on the GPU:\n{text}\non the simulator:\n{difference}", took)

    def conform(self, out, capability):
        conform = self.build / "conform"
        _, usage = self.command([conform, "--help", "x"], False)
        listed = re.search(r"families:(.*)", usage)
        for family in listed[1].split() if listed else []:
            if not self.wanted(family):
                continue
            if capability != (9, 0) and "wgmma" in family:
                self.say("skipped", f"family {family}", "wgmma is an instruction of compute capability 9.0")
                continue
            begun = time.monotonic()
            record = out / f"{family}.conf"
            cases = self.options.cases or committed_cases(family)
            code, text = self.command(
                [conform, "--on", "gpu", "--family", family, "--cases", cases, "--record", record], True)
            took = time.monotonic() - begun
            if code != 0:
                self.say("failed", f"family {family}", ("took too long\n" if code is None else "") + text, took)
                continue
            part = ["--cases", COMPARED[family]] if family in COMPARED else []
            same, difference = self.command([conform, "--against", record] + part, False)
            self.say("recorded" if same == 0 else "different", f"family {family}", difference, took)

    def fault(self, out):
        begun = time.monotonic()
        runner, record, jobs = self.build / "conform_fault", out / "fault.txt", min(os.cpu_count() or 1, 12)
        cases = self.options.cases or FAULT_CASES
        code, text = self.command([runner, "--on", "gpu", "--cases", cases, "--jobs", jobs, "--record", record], True)
        took = time.monotonic() - begun
        if code != 0:
            self.say("failed", "misuse", ("took too long\n" if code is None else "") + text, took)
            return
        same, difference = self.command([runner, "--against", record], False)
        self.say("recorded" if same == 0 else "different", "misuse", difference, took)

    def run(self):
        gpu = self.find_gpu()
        if gpu is None:
            print("no GPU to record: this needs an NVIDIA driver and an H100, H200 or B200")
            return MACHINE
        device, folder, capability = gpu
        self.sim_env["SILTWIN_DEVICE"] = device
        out = pathlib.Path(self.options.out or ROOT / "traces" / "silicon" / folder).resolve()
        out.mkdir(parents=True, exist_ok=True)
        print(f"records   {out} (device model {device})")
        parts = self.options.parts.split(",")
        if "traces" in parts:
            self.traces(out, device)
        if "isa" in parts:
            self.isa(out)
        if "conform" in parts:
            self.conform(out, capability)
        if "fault" in parts and capability == (9, 0):
            self.fault(out)
        size = sum(f.stat().st_size for f in out.iterdir() if f.is_file())
        print(", ".join(f"{n} {name}" for name, n in self.counts.items()) + f"; {size / 1e6:.2f} MB in {out}")
        if not sum(self.counts.values()):
            print("nothing was asked for: no trace and no family fits")
            return USAGE
        return self.status


sys.exit(Recorder(arguments()).run())

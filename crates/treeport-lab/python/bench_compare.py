"""The same questions to treeport and to other packages: ``cargo xtask bench-peers --all``, or ``treeport-lab bench compare``.

Every package solves every question it supports, each in its own process, from the same arrays. The output is a Markdown
table: whether the values agree, the processor time, its ratio to ours, and the memory beyond that of the process before. A
second table has the reaction of each package to invalid input. Times are the sum over all threads, which other work on the
machine changes less than elapsed time; they include distances, but no imports and, with JAX, no compilation. Packages that
are not installed are skipped, with a note. docs/COMPARE.md has such a table, and its limits.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import numpy as np
from compare_questions import ASKED, NONSENSE, PACKAGES, QUESTIONS, Problem, Question, Solve

# Set before the packages of a worker start threads.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


# A worker: one way of one question.


def peak_bytes() -> Optional[int]:
    """Returns the peak memory of this process; `None` if the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def bytes_now() -> Optional[int]:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_bytes()


def hold_memory(gibibytes: float) -> None:
    """Limits the memory of this process, if the system supports that."""
    try:
        import resource

        most = int(gibibytes * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError, ValueError, AttributeError):
        pass


def measured(
    prepare: Callable[[Problem], Solve], problem: Problem, repeat: float, compiles: bool
) -> tuple[Any, dict[str, Any]]:
    """Returns values and shortest times of calls that are repeated for some seconds."""
    solve = prepare(problem)
    before = bytes_now()
    times: list[tuple[float, float]] = []
    values: Any = None
    while not times or sum(wall for _, wall in times) < repeat or (compiles and len(times) < 2):
        busy, begun = time.process_time(), time.perf_counter()
        values = solve()
        times.append((time.process_time() - busy, time.perf_counter() - begun))
    peak = peak_bytes()
    found = {
        "seconds": min(times)[0],
        "wall_seconds": min(wall for _, wall in times),
        "first_seconds": times[0][0],
        "calls": len(times),
        "bytes": None if peak is None or before is None else max(peak - before, 0),
    }
    return values, found


def said(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}".rstrip(": ")


def work(folder: Path, question: str, number: int, memory: float, repeat: float) -> None:
    """Writes values and figures to the folder."""
    hold_memory(memory)
    warnings.simplefilter("ignore")
    way = next(one for one in QUESTIONS if one.name == question).ways[number]
    with np.load(folder / "problem.npz") as arrays:
        problem = dict(arrays)
    try:
        # Modules loaded by the first call are not part of the measured memory.
        for module in PACKAGES[way.package].modules:
            __import__(module)
        values, found = measured(way.prepare, problem, repeat, compiles=way.package == "OTT")
        np.save(folder / "values.npy", np.asarray(values, dtype=float))
    except MemoryError:
        found = {"stopped": f"more than {memory:g} GiB"}
    except Exception as error:
        found = {"stopped": said(error)}
    (folder / "found.json").write_text(json.dumps(found))


def refuse(folder: Path, package: str) -> None:
    """Writes the result of a package for each invalid input."""
    found = {}
    for name, (a, b, x, y) in NONSENSE.items():
        arrays = [np.array(part) for part in (a, b, x, y)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = float(ASKED[package](*arrays))
                found[name] = f"{value + 0.0:.4g}" + (", and a warning" if caught else "")
            except Exception as error:
                found[name] = "error"
                found[f"{name}: words"] = said(error)
    (folder / "found.json").write_text(json.dumps(found))


# The parent process, which starts workers, compares their values and prints tables.


def in_a_process(arguments: list[str], folder: Path, limit: float) -> dict[str, Any]:
    """Returns the result of a worker, or the reason why there is none."""
    command = [sys.executable, __file__, "--folder", str(folder), *arguments]
    environment = {**os.environ, **ONE_THREAD}
    result = folder / "found.json"
    result.unlink(missing_ok=True)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            _, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            child.kill()
            return {"stopped": f"more than {limit:g} s"}
        except BaseException:
            child.kill()
            child.wait()
            raise
    if result.exists():
        return json.loads(result.read_text())
    if child.returncode < 0:
        return {"stopped": f"ended by {signal.Signals(-child.returncode).name}"}
    return {"stopped": (errors.strip().splitlines() or ["ended without an answer"])[-1]}


def installed() -> dict[str, str]:
    """Returns the versions of installed packages."""
    found = {}
    for name, (pip, modules) in PACKAGES.items():
        if all(importlib.util.find_spec(module) for module in modules):
            found[name] = importlib.metadata.version(pip)
    return found


def agreement(values: np.ndarray, ours: np.ndarray, tolerance: float) -> tuple[str, float]:
    """Returns a verdict and the largest difference as a share of the largest value."""
    if values.shape != ours.shape:
        return f"{values.shape} values, not {ours.shape}", np.inf
    signed = (values - ours) / np.abs(ours).max()
    most = float(np.abs(signed).max())
    if most <= tolerance:
        return "agrees", most
    way = "above" if signed.min() >= -tolerance else "below" if signed.max() <= tolerance else "off"
    return f"up to {100 * most:.2g} % {way}", most


def ask(
    question: Question,
    versions: dict[str, str],
    folder: Path,
    args: argparse.Namespace,
    stopped: set[tuple[str, str]],
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    problem = question.make(np.random.default_rng(args.seed))
    np.savez(folder / "problem.npz", **problem)
    ours: Optional[np.ndarray] = None
    our_seconds: Optional[float] = None
    for number, way in enumerate(question.ways):
        row: dict[str, Any] = {"question": question.name, "package": way.package, "call": way.call}
        size = (question.family, way.call)
        if way.package not in versions:
            continue
        if question.family and size in stopped:
            rows.append(row | {"stopped": "not asked: it was stopped at a question before"})
            continue
        print(f"{question.name}: {way.package} {way.call}", file=sys.stderr, flush=True)
        asked = f"--question {question.name} --way {number} --memory {args.memory}"
        row |= in_a_process(f"{asked} --repeat {args.repeat}".split(), folder, args.limit)
        if "stopped" in row:
            stopped.add(size)
        else:
            values = np.load(folder / "values.npy")
            for key in ("seconds", "wall_seconds", "first_seconds"):
                row[key] /= question.answers
            row["mean_value"] = float(values.mean())
            if way.package == "treeport":
                ours, our_seconds = values, row["seconds"]
            if ours is not None and our_seconds is not None:
                row["values"], row["difference"] = agreement(values, ours, question.tolerance)
                row["ratio"] = row["seconds"] / our_seconds
        rows.append(row)
    return rows


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def amount(value: Optional[int]) -> str:
    return "" if value is None else f"{value / 1e6:.0f} MB" if value >= 1e6 else "< 1 MB"


def times(ratio: Optional[float]) -> str:
    return "" if ratio is None else f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| question | package | values | processor time | times ours | memory |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    titles = {question.name: question.title for question in QUESTIONS}
    last = None
    for row in rows:
        title = "" if row["question"] == last else titles[row["question"]]
        last = row["question"]
        call = f"`{row['call']}`" if "(" in row["call"] else row["call"]
        who = f"{row['package']}: {call}"
        if "stopped" in row:
            cells = [row["stopped"], "", "", ""]
        else:
            values = "" if row["package"] == "treeport" else row.get("values", "")
            cells = [values, seconds(row["seconds"]), times(row.get("ratio")), amount(row["bytes"])]
        lines.append(f"| {title} | {who} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def refusals(found: dict[str, dict[str, str]]) -> str:
    lines = ["| input | " + " | ".join(found) + " |", "| --- |" + " --- |" * len(found)]
    for name in NONSENSE:
        cells = [each.get(name, each.get("stopped", "")) for each in found.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def written(path: Path, text: str) -> None:
    """Writes a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def run(args: argparse.Namespace) -> None:
    versions = installed()
    missing = [name for name in PACKAGES if name not in versions]
    for name in missing:
        print(
            f"without {name}, which is not installed (`pip install {PACKAGES[name].pip}`)",
            file=sys.stderr,
        )
    if "treeport" in missing:
        sys.exit("error: treeport itself is not installed here (`pip install ./python`)")
    chosen = [
        one for one in QUESTIONS if (one.name in args.only if args.only else args.all or one.quick)
    ]
    rows: list[dict[str, Any]] = []
    stopped: set[tuple[str, str]] = set()
    nonsense: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for question in chosen:
            rows += ask(question, versions, folder, args, stopped)
        for package in [] if args.only else [name for name in ASKED if name in versions]:
            print(f"nonsense: {package}", file=sys.stderr, flush=True)
            nonsense[package] = in_a_process(["--nonsense", package], folder, args.limit)
    if args.json is not None:
        about = {
            "bench": "compare",
            "versions": versions,
            "missing": missing,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "limit_seconds": args.limit,
            "limit_gibibytes": args.memory,
            "seed": args.seed,
            "rows": rows,
            "nonsense": nonsense,
        }
        written(args.json, json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    print(
        ", ".join(f"{name} {version}" for name, version in versions.items())
        + f"; Python {platform.python_version()}"
    )
    print(f"\n{markdown(rows)}")
    if nonsense:
        print(f"\n{refusals(nonsense)}")


def names(text: str) -> list[str]:
    known = [question.name for question in QUESTIONS]
    found = text.split(",")
    for name in found:
        if name not in known:
            raise argparse.ArgumentTypeError(
                f"there is no question {name}; there are {', '.join(known)}"
            )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    known = ", ".join(one.name for one in QUESTIONS)
    add("--all", action="store_true", help="all questions [default: the quick ones]")
    add("--only", type=names, default=[], metavar="NAME,…", help=f"these questions: {known}")
    add("--json", type=Path, metavar="FILE", help="write all figures there, too")
    for option, default, unit, what in (
        ("--limit", 120, "SECONDS", "stop an answer after so long"),
        ("--memory", 6, "GIB", "and beyond so much memory"),
        ("--repeat", 1, "SECONDS", "ask again until so long has passed"),
    ):
        add(option, type=float, default=default, metavar=unit, help=f"{what} [default: {default}]")
    add("--seed", type=int, default=0)
    # For workers.
    for option, kind in (
        ("--folder", Path),
        ("--question", str),
        ("--way", int),
        ("--nonsense", str),
    ):
        add(option, type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.folder is not None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if args.nonsense:
            refuse(args.folder, args.nonsense)
        else:
            work(args.folder, args.question, args.way, args.memory, args.repeat)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(args)
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of the pipe has ended; Python's last flush must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

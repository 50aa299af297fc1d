"""Builds and checks all parts of a release in target/dist: `cargo xtask package`.

The checked-out commit is the only input. The source archive contains every crate that it needs; the
wheel is built from it in an empty folder without a network, which proves that the archive is
complete. zig links the program and the wheel for an old glibc. All artifacts are searched for names
of the build machine. Archives written here depend only on the names and contents of their files.
"""

import gzip
import hashlib
import io
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
DIST = TARGET / "dist"
TOOLS = TARGET / "venv-package-tools" / "bin"
CARGO_HOME = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
CARGO = os.environ.get("CARGO", "cargo")

# Published crates in the order of their dependencies.
CRATES = ["treeport", "treeport-jobs", "treeport-report", "treeport-cli"]
# Newest glibc that programs may require: 2.17, that of manylinux2014 and the oldest that Rust supports.
GLIBC = 17
# Largest size of a wheel in bytes.
WHEEL_SIZE = 8_000_000

# Files of a packed crate besides its sources, and endings of sources and of the wheel's modules.
CRATE_FILES = {".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig", "build.rs"}
CRATE_FILES |= {"LICENSE-APACHE", "LICENSE-MIT", "README.md", "commit.rs"}
SOURCES = (".rs", ".csv", ".js", ".css", ".html")
MODULES = (".py", ".pyi", ".typed", ".so")

COMPLETIONS = {"bash": "treeport.bash", "zsh": "_treeport", "fish": "treeport.fish"}
COMPLETIONS |= {"elvish": "treeport.elv", "powershell": "_treeport.ps1"}

# Settings that make cargo use the vendored crates.
VENDORED = """\
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
"""


def without_table(manifest, table):
    """Returns a manifest without one of its tables."""
    return re.sub(rf"(?ms)^\[{re.escape(table)}\]\n.*?(?=^\[|\Z)", "", manifest)


def locked(lock):
    """Returns the checksums of the packages of a lock file by name and version; None without one."""
    entry = r'^name = "(.+)"\nversion = "(.+)"\n(?:source = .+\n)?(?:checksum = "(.+)"\n)?'
    found = re.finditer(entry, lock, re.MULTILINE)
    return {(match[1], match[2]): match[3] for match in found}


def files_of(folder):
    """Returns the contents of all files below a folder by their relative names."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(paths)}


def tar_gz(folder, files, seconds, programs=()):
    """Returns an archive of files in one folder, without owners, with the same time for all."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as gz:
        with tarfile.open(fileobj=gz, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name in sorted(files):
                about = tarfile.TarInfo(f"{folder}/{name}")
                about.size, about.mtime = len(files[name]), seconds
                about.mode = 0o755 if name in programs else 0o644
                tar.addfile(about, io.BytesIO(files[name]))
    return packed.getvalue()


def check_crate(package, files):
    """Refuses a crate with missing or unexpected files."""
    needed = {"Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"}
    for file in needed - set(files):
        sys.exit(f"the crate {package} has no `{file}`")
    for file in files:
        if not (file in CRATE_FILES or (file.startswith("src/") and file.endswith(SOURCES))):
            sys.exit(f"the crate {package} would be packed with `{file}`, which is not a source")


def check_wheel(version, files):
    """Refuses a wheel with missing or unexpected files."""
    about = f"treeport-{version}.dist-info/"
    needed = ["METADATA", "RECORD", "WHEEL", "licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"]
    modules = ["treeport/__init__.py", "treeport/_core.abi3.so", "treeport/py.typed"]
    for name in {about + name for name in needed}.union(modules) - set(files):
        sys.exit(f"the wheel has no `{name}`")
    for name in files:
        is_module = name.startswith("treeport/") and name.endswith(MODULES)
        if not (is_module or name.startswith(about)):
            sys.exit(f"the wheel has `{name}`, which is not a module")


def identifying_strings(folders, host):
    """Returns strings that identify the machine: its folders, and its name unless that is common."""
    # `/` is in every path. With a trailing slash, `/root` does not match `/rooted`.
    names = {f"{folder}/" for folder in (str(folder).rstrip("/") for folder in folders) if folder}
    names.add("registry/src/")
    if len(host) >= 6 and host != "localhost":
        names.add(host)
    return sorted(names)


def check_names(place, files, names):
    """Refuses files that contain one of the names; compressed files are unpacked."""
    for file, content in files.items():
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        for name in names:
            at = content.find(name.encode())
            if at >= 0:
                around = content[max(at - 20, 0) : at + len(name) + 60]
                sys.exit(f"`{file}` in {place} names this machine: {around!r}")


def check_glibc(name, program):
    """Refuses a program that imports symbols of a newer glibc than maturin and zig declare."""
    newest = max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", program)), default=None)
    if newest is None or newest > GLIBC:
        sys.exit(f"`{name}` requires glibc 2.{newest}; 2.{GLIBC} is promised")
    print(f"    {name} requires glibc 2.{newest}", flush=True)


def bill_of_materials(metadata, lock, roots, about):
    """Returns the crates of some workspace packages as CycloneDX 1.6.

    A crate is `required` if its code is part of the program or the wheel, and `excluded` if it is
    only used to compile: build scripts, macros and their dependencies. The list has no serial number
    or time of its own, so that a commit always gives the same bytes.
    """
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    ids = {package["name"]: key for key, package in packages.items()}
    roots = [ids[root] for root in roots]

    def reference(key):
        return f"pkg:cargo/{packages[key]['name']}@{packages[key]['version']}"

    def needs(key, kinds):
        deps = nodes[key]
        return [dep["pkg"] for dep in deps if kinds & {kind["kind"] for kind in dep["dep_kinds"]}]

    def is_macro(key):
        return any("proc-macro" in target["kind"] for target in packages[key]["targets"])

    def reached(kinds, macros):
        found, left = set(), list(roots)
        while left:
            key = left.pop()
            if key not in found and (macros or not is_macro(key)):
                found.add(key)
                left += needs(key, kinds)
        return found

    compiled, shipped = {None, "build"}, reached({None}, False)
    checksums = locked(lock)
    components, dependencies = [], [(f"treeport@{about['version']}", roots)]
    for key in reached(compiled, True):
        package = packages[key]
        component = {"type": "library", "bom-ref": reference(key), "name": package["name"]}
        component["version"] = package["version"]
        component["scope"] = "required" if key in shipped else "excluded"
        component["purl"] = reference(key)
        if package["license"]:
            expression = package["license"].replace("/", " OR ")
            component["licenses"] = [{"expression": expression}]
        checksum = checksums.get((package["name"], package["version"]))
        if checksum:
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(component)
        dependencies.append((reference(key), needs(key, compiled)))
    licenses = [{"expression": "MIT OR Apache-2.0"}]
    top = {"type": "application", "bom-ref": f"treeport@{about['version']}", "name": "treeport"}
    top |= {"version": about["version"], "licenses": licenses}
    properties = [
        {"name": f"treeport:{name}", "value": about[name]} for name in ["commit", "target"]
    ]
    head = {"timestamp": about["time"], "component": top, "properties": properties}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": head,
        "components": sorted(components, key=lambda component: component["bom-ref"]),
        "dependencies": [
            {"ref": ref, "dependsOn": sorted({reference(other) for other in others})}
            for ref, others in sorted(dependencies)
        ],
    }


class Package:
    """The steps of the build, with the facts about the commit that they share."""

    def __init__(self, work):
        self.work = Path(work)
        self.times = []
        # The tools come first: cargo finds its subcommand there, and that its linker. Python must
        # not import from the checkout.
        self.env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.env["PATH"] = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
        self.env |= {"PYTHONNOUSERSITE": "1", "CARGO_INCREMENTAL": "0", "TZ": "UTC"}
        self.env["CARGO_ZIGBUILD_CACHE_DIR"] = str(TARGET / "packaging/zigbuild")
        self.env["ZIG_GLOBAL_CACHE_DIR"] = str(TARGET / "packaging/zig")
        changed = self.output("git", "status", "--porcelain")
        if changed:
            sys.exit(f"packages are made from commits, and these files differ from it:\n{changed}")
        date = "--date=format-local:%FT%TZ"
        about = self.output("git", "show", "-s", "--format=%H %ct %cd", date).split()
        self.commit, self.seconds, self.time = about[0], int(about[1]), about[2]
        self.env["SOURCE_DATE_EPOCH"] = about[1]
        self.triple = re.search("host: (.+)", self.output("rustc", "-vV"))[1]
        self.zig = "linux-gnu" in self.triple
        self.version = re.search(r'(?m)^version = "(.+)"', (ROOT / "Cargo.toml").read_text())[1]

    def output(self, *args):
        """Returns the stdout of a command."""
        return subprocess.run(
            args, cwd=ROOT, env=self.env, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def step(self, name, *args, cwd=ROOT, **env):
        """Runs a command, and keeps its time for the summary."""
        args = [str(arg) for arg in args]
        print(f"==> {name}: {shlex.join(args)}", flush=True)
        begun = time.monotonic()
        code = subprocess.run(args, cwd=cwd, env={**self.env, **env}, check=False).returncode
        if code:
            sys.exit(f"step `{name}` failed with exit code {code}")
        self.times.append((name, time.monotonic() - begun))

    def venv(self, name, folder):
        """Creates an empty environment; returns its interpreter."""
        self.step(name, sys.executable, "-m", "venv", "--clear", folder)
        return folder / "bin" / "python"

    def pip(self, name, python, *args):
        quiet = ["--quiet", "--disable-pip-version-check"]
        self.step(name, python, "-m", "pip", "install", *quiet, *args)

    def remapped(self, *more):
        """Flags for rustc that replace folders of this machine by fixed names."""
        # The last matching flag wins, so the most specific comes last.
        names = [(self.work, "/build"), (ROOT, "/treeport"), (CARGO_HOME, "/cargo")]
        names += [(path, "/crates") for path in (CARGO_HOME / "registry/src").glob("*")]
        flags = [f"--remap-path-prefix={path}={name}" for path, name in [*names, *more]]
        return {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)}

    def unpacked(self, archive, name):
        """Unpacks an archive into a new folder; returns that of a wheel, the one inside of others."""
        folder = self.work / name
        if archive.suffix == ".whl":
            zipfile.ZipFile(archive).extractall(folder)
            return folder
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        return next(folder.iterdir())

    def tools(self):
        """Installs the pinned tools."""
        python = TOOLS / "python"
        if not python.exists():
            self.venv("tools venv", TOOLS.parent)
        self.pip("tools", python, "--requirement", "xtask/package.txt")

    def sdist(self):
        """Builds the source archive: maturin's, with all crates that it needs."""
        name = f"treeport-{self.version}"
        manifest = ["--manifest-path", "python/Cargo.toml"]
        self.step("sdist", "maturin", "sdist", *manifest, "--out", self.work / "bare")
        sources = self.unpacked(self.work / f"bare/{name}.tar.gz", "vendored")
        # The archive has no Rust tests.
        for path in [sources / "python/Cargo.toml", *sources.glob("crates/*/Cargo.toml")]:
            path.write_text(without_table(path.read_text(), "dev-dependencies"))
        self.step("vendor", CARGO, "vendor", "--quiet", "--versioned-dirs", "vendor", cwd=sources)
        ours, theirs = ((folder / "Cargo.lock").read_text() for folder in (ROOT, sources))
        new = locked(theirs).keys() - locked(ours).keys()
        if new:
            sys.exit(f"the source archive would be built with {new}, which Cargo.lock lacks")
        (sources / ".cargo").mkdir(exist_ok=True)
        (sources / ".cargo/config.toml").write_text(VENDORED)
        # As in packed crates, so that builds from the archive can name the commit.
        about = json.dumps({"git": {"sha1": self.commit}}, indent=2) + "\n"
        (sources / "python/.cargo_vcs_info.json").write_text(about)
        path = DIST / f"{name}.tar.gz"
        path.write_bytes(tar_gz(name, files_of(sources), self.seconds))
        return path

    def wheel(self, sdist):
        """Builds the wheel from only the source archive, with an empty cargo home."""
        sources = self.unpacked(sdist, "offline")
        home = self.work / "cargo-home"
        home.mkdir()
        args = ["build", "--release", "--offline", "--quiet", "--out", DIST]
        if self.zig:
            args += ["--zig", "--compatibility", "manylinux2014"]
        env = {"CARGO_HOME": str(home), "CARGO_NET_OFFLINE": "true"}
        env["CARGO_TARGET_DIR"] = str(self.work / "offline-target")
        env |= self.remapped((sources.parent, "/treeport"))
        self.step("wheel", "maturin", *args, cwd=sources, **env)
        (wheel,) = DIST.glob("*.whl")
        return wheel

    def crates(self):
        """Packs the crates and builds them from the packed sources."""
        for crate in CRATES:
            files = self.output(CARGO, "package", "--locked", "--list", "--package", crate)
            check_crate(crate, files.splitlines())
        packages = [arg for crate in CRATES for arg in ("--package", crate)]
        self.step("crates", CARGO, "package", "--locked", "--quiet", *packages)
        for crate in CRATES:
            shutil.copy(TARGET / f"package/{crate}-{self.version}.crate", DIST)

    def program(self):
        """Builds the `treeport` program and its archive."""
        build, target = (
            ("zigbuild", f"{self.triple}.2.{GLIBC}") if self.zig else ("build", self.triple)
        )
        args = [build, "--release", "--locked", "--package", "treeport-cli"]
        args += ["--target", target, "--target-dir", TARGET / "packaging"]
        env = self.remapped() | {"CARGO_PROFILE_RELEASE_STRIP": "symbols"}
        self.step("program", CARGO, *args, **env)
        program = TARGET / f"packaging/{self.triple}/release/treeport"
        files = {"treeport": program.read_bytes()}
        for name in [
            "CHANGELOG.md",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "crates/treeport-cli/README.md",
        ]:
            files[Path(name).name] = (ROOT / name).read_bytes()
        man = self.work / "man"
        self.output(program, "man", "--quiet", "--output", man)
        files |= {f"man/man1/{name}": page for name, page in files_of(man).items()}
        for shell, name in COMPLETIONS.items():
            files[f"completions/{name}"] = self.output(program, "completions", shell).encode()
        folder = f"treeport-{self.version}-{self.triple}"
        archive = tar_gz(folder, files, self.seconds, programs={"treeport"})
        (DIST / f"{folder}.tar.gz").write_bytes(archive)
        return program

    def materials(self):
        """Writes the bill of materials of the program and the wheel."""
        args = ["metadata", "--locked", "--format-version", "1", "--filter-platform", self.triple]
        metadata = json.loads(self.output(CARGO, *args))
        about = {"version": self.version, "commit": self.commit, "time": self.time}
        about["target"] = self.triple
        lock = (ROOT / "Cargo.lock").read_text()
        found = bill_of_materials(metadata, lock, ["treeport-cli", "treeport-py"], about)
        text = json.dumps(found, indent=2, sort_keys=True) + "\n"
        (DIST / f"treeport-{self.version}.cdx.json").write_text(text)

    def check(self, wheel, sdist, program):
        """Checks sizes, files, compatible systems, and traces of the build machine."""
        size = wheel.stat().st_size
        if size >= WHEEL_SIZE:
            sys.exit(f"the wheel has {size} bytes; less than {WHEEL_SIZE} are allowed")
        folders = [
            ROOT,
            TARGET,
            self.work,
            CARGO_HOME,
            Path.home(),
            os.environ.get("RUSTUP_HOME", ""),
        ]
        names = identifying_strings(folders, platform.node())
        inside = files_of(self.unpacked(wheel, "wheel"))
        check_wheel(self.version, inside)
        check_names("the wheel", inside, names)
        sources = files_of(self.unpacked(sdist, "sources"))
        # Published sources of other crates are verified by cargo with their digests.
        ours = {name: text for name, text in sources.items() if not name.startswith("vendor/")}
        check_names("the source archive", ours, names)
        others = files_of(DIST)
        del others[sdist.name]
        check_names("target/dist", others, names)
        if self.zig:
            check_glibc("treeport", program.read_bytes())
            check_glibc("treeport/_core.abi3.so", inside["treeport/_core.abi3.so"])

    def test(self, wheel, program):
        """Tests the wheel in an empty environment: a first picture, the README, and all tests."""
        python = self.venv("empty venv", TARGET / "venv-package")
        constraints = ["--constraint", "python/constraints.txt"]
        self.pip("pip install", python, *constraints, wheel)
        self.step("first picture", python, "python/tests/first_picture.py")
        self.step("readme", python, "python/tests/readme.py")
        pinned = ["--no-deps", "--no-compile", "--requirement", "python/constraints.txt"]
        self.pip("test packages", python, *pinned)
        self.pip("the rest", python, *constraints, f"{wheel}[test]")
        tests = ["-m", "pytest", "--quiet", "-n", "2", "--dist", "loadfile", "python/tests"]
        self.step("wheel's tests", python, *tests, TREEPORT_BINARY=str(program))

    def run(self):
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir(parents=True)
        self.tools()
        sdist = self.sdist()
        wheel = self.wheel(sdist)
        self.crates()
        program = self.program()
        self.materials()
        self.check(wheel, sdist, program)
        self.test(wheel, program)
        digests = [
            (hashlib.sha256(file).hexdigest(), name) for name, file in files_of(DIST).items()
        ]
        lines = "".join(f"{digest}  {name}\n" for digest, name in digests)
        (DIST / "SHA256SUMS").write_text(lines)
        print("==> passed")
        for name, seconds in self.times:
            print(f"  {name:<14}{seconds:>8.1f} s")
        print(f"==> {DIST}")
        for path in sorted(DIST.iterdir()):
            print(f"  {path.stat().st_size / 1e6:>8.3f} MB  {path.name}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        Package(work).run()

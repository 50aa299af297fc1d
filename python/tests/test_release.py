"""The rules by which `cargo xtask package` builds and checks a release."""

import gzip
import importlib.util
import json
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("package", ROOT / "xtask" / "package.py")
package = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(package)

CRATE = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs", "src/a/b.csv"]
WHEEL = [
    *("treeport/__init__.py", "treeport/_core.abi3.so", "treeport/py.typed"),
    *("METADATA", "RECORD", "WHEEL", "licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"),
]
WHEEL = [name if "treeport/" in name else f"treeport-1.0.dist-info/{name}" for name in WHEEL]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", package.CRATES)
def test_every_crate_is_ready_for_its_page(name):
    manifest = read(f"crates/{name}/Cargo.toml")
    for key in ["description", "license", "keywords", "categories", "readme", "documentation"]:
        assert f"\n{key}" in manifest
    for file in ["LICENSE-MIT", "LICENSE-APACHE"]:
        assert read(f"crates/{name}/{file}") == read(file)
    assert read(f"crates/{name}/README.md").startswith(f"# {name}\n")


def test_both_build_scripts_determine_the_commit_in_the_same_way():
    # A package cannot include files of another, so there are two copies.
    assert read("crates/treeport-cli/commit.rs") == read("python/commit.rs")


def test_tools_are_pinned():
    tools = [line for line in read("xtask/package.txt").splitlines() if line[0] != "#"]
    assert all("==" in tool for tool in tools)
    maturin = next(tool for tool in tools if tool.startswith("maturin=="))
    assert maturin in read("python/constraints.txt").splitlines()


def test_a_crate_has_its_licenses_and_no_stray_file():
    package.check_crate("x", CRATE)
    with pytest.raises(SystemExit, match="the crate x has no `LICENSE-MIT`"):
        package.check_crate("x", [name for name in CRATE if name != "LICENSE-MIT"])
    for stray in ["notes.txt", "src/lib.rs.orig", "tests/it/main.rs", "src/.lib.rs.swp"]:
        with pytest.raises(SystemExit, match=stray):
            package.check_crate("x", [*CRATE, stray])


def test_a_wheel_has_its_modules_and_no_stray_file():
    package.check_wheel("1.0", WHEEL)
    for missing in WHEEL:
        with pytest.raises(SystemExit, match=missing):
            package.check_wheel("1.0", [name for name in WHEEL if name != missing])
    for stray in ["treeport/__pycache__/a.pyc", "tests/test_a.py"]:
        with pytest.raises(SystemExit, match=stray):
            package.check_wheel("1.0", [*WHEEL, stray])


def test_names_of_the_machine_are_found_inside_of_archives():
    names = package.identifying_strings(["/home/ada/", "/", ""], "box")
    # In two parts: the source archive holds this file, and is searched for the whole.
    assert names == ["/home/ada/", "registry/" + "src/"]
    assert "ada-laptop" in package.identifying_strings([], "ada-laptop")
    content = b"\0panicked at /home/ada/src/lib.rs\0"
    for packed in [content, gzip.compress(content)]:
        with pytest.raises(SystemExit, match="/home/ada/src/lib.rs"):
            package.check_names("the wheel", {"a": packed}, names)
    package.check_names("the wheel", {"a": b"/home/adam/x"}, names)


def test_the_newest_glibc_is_the_largest_number():
    package.check_glibc("a", b"GLIBC_2.9\0GLIBC_2.17\0GLIBC_2.2.5\0")
    for program, said in [(b"GLIBC_2.9\0GLIBC_2.18\0", "2.18"), (b"no symbol GLIBC_2.x", "None")]:
        with pytest.raises(SystemExit, match=said):
            package.check_glibc("a", program)


def test_archives_depend_on_names_and_contents_alone(tmp_path):
    files = {"a" * 80 + "/" + "b" * 60 + "/file.rs": b"long", "treeport": bytes(513)}
    packed = package.tar_gz("t", files, 1_000_000_000, {"treeport"})
    turned = dict(reversed(files.items()))
    assert packed == package.tar_gz("t", turned, 1_000_000_000, {"treeport"})
    (tmp_path / "t.tar.gz").write_bytes(packed)
    with tarfile.open(tmp_path / "t.tar.gz") as tar:
        about = tar.getmember("t/treeport")
        assert (about.mode, about.mtime, about.uname, about.uid) == (0o755, 10**9, "", 0)
        tar.extractall(tmp_path)
    assert package.files_of(tmp_path / "t") == files


def test_the_lock_file_of_the_sources_is_read():
    # Ours have no checksum, all others one.
    found = package.locked(read("Cargo.lock"))
    assert len(found) == read("Cargo.lock").count("[[package]]")
    ours = {name for (name, _), checksum in found.items() if checksum is None}
    assert ours >= set(package.CRATES) and all(
        name.startswith(("treeport", "xtask")) for name in ours
    )


def test_one_table_is_taken_out_of_a_manifest():
    kept = '[package]\nname = "x"\n\n[lints]\nworkspace = true\n'
    manifest = kept.replace("[lints]", '[dev-dependencies]\na = "1"\n\n[lints]')
    assert package.without_table(manifest, "dev-dependencies") == kept
    assert package.without_table(kept, "dev-dependencies") == kept


def test_the_bill_of_materials_separates_what_runs_from_what_compiles():
    """A program needs `a`, which needs the macro `m`, which needs `syn`; `t` tests `a`, `b` builds."""
    needed = {"cli": [("a", None), ("b", "build")], "a": [("m", None), ("t", "dev")]}
    needed["m"] = [("syn", None)]
    names = ["cli", "a", "m", "syn", "b", "t"]
    packages = [
        {
            "id": name,
            "name": name,
            "version": "1.0.0",
            "license": "MIT/Apache-2.0",
            "targets": [{"kind": ["proc-macro" if name == "m" else "lib"]}],
        }
        for name in names
    ]
    nodes = [
        {
            "id": name,
            "deps": [
                {"pkg": other, "dep_kinds": [{"kind": kind}]}
                for other, kind in needed.get(name, [])
            ],
        }
        for name in names
    ]
    lock = '[[package]]\nname = "a"\nversion = "1.0.0"\nsource = "x"\nchecksum = "00ff"\n'
    about = {"version": "1.0.0", "commit": "0123", "time": "2024-01-01T00:00:00Z", "target": "x"}
    metadata = {"packages": packages, "resolve": {"nodes": nodes}}
    found = json.loads(json.dumps(package.bill_of_materials(metadata, lock, ["cli"], about)))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    scopes = {part["name"]: part["scope"] for part in found["components"]}
    assert [name for name in scopes if scopes[name] == "required"] == ["a", "cli"]
    assert [name for name in scopes if scopes[name] == "excluded"] == ["b", "m", "syn"]
    a = found["components"][0]
    assert a["purl"] == "pkg:cargo/a@1.0.0"
    assert a["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert a["hashes"] == [{"alg": "SHA-256", "content": "00ff"}]
    references = {part["bom-ref"] for part in found["components"]}
    depends = {part["ref"]: part["dependsOn"] for part in found["dependencies"]}
    assert depends["treeport@1.0.0"] == ["pkg:cargo/cli@1.0.0"]
    assert all(references.issuperset(others) for others in depends.values())

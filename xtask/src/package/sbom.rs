//! Bill of materials of the shipped artifacts (CycloneDX 1.6), from `cargo metadata`.
//!
//! A crate is `required` if its code is part of the program or the wheel, and `excluded` if it is
//! only used to compile: build scripts, macros and their dependencies. The list has no serial
//! number or time of its own, so that a commit always gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Facts that `cargo metadata` does not have.
pub(crate) struct About<'a> {
    pub(crate) version: &'a str,
    pub(crate) commit: &'a str,
    /// Time of the commit (ISO 8601).
    pub(crate) time: &'a str,
    pub(crate) target: &'a str,
    /// Text of `Cargo.lock`.
    pub(crate) lock: &'a str,
}

/// Returns the bill of materials of the workspace crates `roots` as text.
pub(crate) fn sbom(metadata: &Value, roots: &[&str], about: &About<'_>) -> Result<String> {
    let packages = Packages::of(metadata)?;
    let root_ids = roots.iter().map(|root| packages.by_name(root)).collect::<Result<Vec<_>>>()?;
    let shipped = packages.reached(&root_ids, false);
    let all = packages.reached(&root_ids, true);
    let sums = checksums(about.lock);
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for id in &all {
        components.push(packages.component(id, shipped.contains(id), &sums));
        let needs = packages.needs(id, true).filter(|other| all.contains(*other));
        let needs: BTreeSet<_> = needs.map(|other| packages.reference(other)).collect();
        dependencies.push(json!({ "ref": packages.reference(id), "dependsOn": needs }));
    }
    let by = |key: &'static str| move |value: &Value| value[key].as_str().unwrap_or("").to_owned();
    components.sort_by_key(by("bom-ref"));
    let top = format!("treeport@{}", about.version);
    let roots: Vec<_> = root_ids.iter().map(|id| packages.reference(id)).collect();
    dependencies.push(json!({ "ref": top, "dependsOn": roots }));
    dependencies.sort_by_key(by("ref"));
    let property = |name: &str, value: &str| json!({ "name": name, "value": value });
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": about.time,
            "component": {
                "type": "application",
                "bom-ref": top,
                "name": "treeport",
                "version": about.version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
            "properties": [
                property("treeport:commit", about.commit),
                property("treeport:target", about.target),
            ],
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&list)? + "\n")
}

/// Packages of `cargo metadata` and their dependencies, by ID.
struct Packages<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    nodes: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Packages<'a> {
    fn of(metadata: &'a Value) -> Result<Self> {
        let by_id = |list: &'a Value| -> Result<BTreeMap<&'a str, &'a Value>> {
            let list = list.as_array().context("`cargo metadata` has no such list")?;
            let entry = |value: &'a Value| Some((value["id"].as_str()?, value));
            list.iter().map(|value| entry(value).context("a package without ID")).collect()
        };
        let packages = by_id(&metadata["packages"])?;
        Ok(Self { packages, nodes: by_id(&metadata["resolve"]["nodes"])? })
    }

    fn by_name(&self, name: &str) -> Result<&'a str> {
        let found = self.packages.iter().find(|(_, package)| package["name"] == name);
        found.map(|(id, _)| *id).with_context(|| format!("there is no package `{name}`"))
    }

    /// Iterates over the dependencies of a package; with `build`, build dependencies, too.
    fn needs(&self, id: &str, build: bool) -> impl Iterator<Item = &'a str> {
        let deps = self.nodes.get(id).and_then(|node| node["deps"].as_array());
        let wanted = move |dep: &&Value| {
            let kinds = dep["dep_kinds"].as_array().map_or(&[][..], Vec::as_slice);
            kinds.iter().any(|kind| kind["kind"].is_null() || (build && kind["kind"] == "build"))
        };
        deps.into_iter().flatten().filter(wanted).filter_map(|dep| dep["pkg"].as_str())
    }

    fn is_macro(&self, id: &str) -> bool {
        let targets = self.packages[id]["targets"].as_array();
        let kinds = targets.into_iter().flatten().filter_map(|target| target["kind"].as_array());
        kinds.flatten().any(|kind| kind == "proc-macro")
    }

    /// Returns all transitive dependencies of some packages; with `build`, those for compiling,
    /// too.
    fn reached(&self, roots: &[&'a str], build: bool) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut open = roots.to_vec();
        while let Some(id) = open.pop() {
            if (build || !self.is_macro(id)) && found.insert(id) {
                open.extend(self.needs(id, build));
            }
        }
        found
    }

    fn text(&self, id: &str, key: &str) -> &'a str {
        self.packages[id][key].as_str().unwrap_or("")
    }

    fn reference(&self, id: &str) -> String {
        format!("pkg:cargo/{}@{}", self.text(id, "name"), self.text(id, "version"))
    }

    fn component(
        &self,
        id: &str,
        shipped: bool,
        sums: &BTreeMap<(String, String), String>,
    ) -> Value {
        let (name, version) = (self.text(id, "name"), self.text(id, "version"));
        let mut component = json!({
            "type": "library",
            "bom-ref": self.reference(id),
            "name": name,
            "version": version,
            "scope": if shipped { "required" } else { "excluded" },
            "purl": self.reference(id),
        });
        let license = self.text(id, "license").replace('/', " OR ");
        if !license.is_empty() {
            component["licenses"] = json!([{ "expression": license }]);
        }
        if let Some(sum) = sums.get(&(name.to_owned(), version.to_owned())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    }
}

/// Parses the digests of packed crates, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let entry = |block: &str| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key));
            line.map(|line| line.trim_matches('"').to_owned())
        };
        Some(((value("name = ")?, value("version = ")?), value("checksum = ")?))
    };
    lock.split("[[package]]").filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that depends on `a`; `a` depends on `m`, a macro that depends on `syn`, and is
    /// tested by `t`.
    fn metadata() -> Value {
        let package = |name: &str, kind: &str| {
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                "targets": [{ "kind": [kind] }] })
        };
        let needs = |pkg: &str, kind: Value| json!({ "pkg": pkg, "dep_kinds": [{ "kind": kind }] });
        let node = |id: &str, deps: Vec<Value>| json!({ "id": id, "deps": deps });
        json!({
            "packages": [package("cli", "bin"), package("a", "lib"), package("m", "proc-macro"),
                package("syn", "lib"), package("b", "lib"), package("t", "lib")],
            "resolve": { "nodes": [
                node("cli", vec![needs("a", Value::Null), needs("b", json!("build"))]),
                node("a", vec![needs("m", Value::Null), needs("t", json!("dev"))]),
                node("m", vec![needs("syn", Value::Null)]),
                node("syn", vec![]), node("b", vec![]), node("t", vec![]),
            ]},
        })
    }

    const LOCK: &str = "\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n\n\
        [[package]]\nname = \"cli\"\nversion = \"1.0.0\"\ndependencies = [\n \"a\",\n]\n";

    fn list() -> Value {
        let about = About {
            version: "1.0.0",
            commit: "0123",
            time: "2024-01-01T00:00:00Z",
            target: "x",
            lock: LOCK,
        };
        serde_json::from_str(&sbom(&metadata(), &["cli"], &about).unwrap()).unwrap()
    }

    #[test]
    fn what_runs_is_required_and_what_compiles_is_excluded() {
        let list = list();
        let scope = |value: &Value| format!("{} {}", value["name"], value["scope"]);
        let scopes: Vec<_> = list["components"].as_array().unwrap().iter().map(scope).collect();
        let scopes: Vec<_> = scopes.iter().map(|scope| scope.replace('"', "")).collect();
        let expected = ["a required", "b excluded", "cli required", "m excluded", "syn excluded"];
        assert_eq!(scopes, expected);
    }

    #[test]
    fn the_list_has_the_shape_of_cyclonedx() {
        let list = list();
        assert_eq!(
            (&list["bomFormat"], &list["specVersion"]),
            (&json!("CycloneDX"), &json!("1.6"))
        );
        assert_eq!(list["metadata"]["component"]["name"], "treeport");
        let a = &list["components"][0];
        assert_eq!(a["purl"], "pkg:cargo/a@1.0.0");
        assert_eq!(a["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(a["hashes"][0]["content"], "00ff");
        let refs: BTreeSet<_> = list["components"]
            .as_array()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
            .iter()
            .map(|component| component["bom-ref"].as_str().unwrap())
            .collect();
        for needs in list["dependencies"].as_array().unwrap() {
            for other in needs["dependsOn"].as_array().unwrap() {
                assert!(refs.contains(other.as_str().unwrap()), "{other} is not listed");
            }
        }
    }

    #[test]
    fn a_root_that_is_not_there_is_named() {
        let about = About { version: "", commit: "", time: "", target: "", lock: "" };
        let error = sbom(&metadata(), &["none"], &about).unwrap_err();
        assert_eq!(error.to_string(), "there is no package `none`");
    }
}

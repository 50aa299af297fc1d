//! Tests that planted faults are found: a script replaces the program.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Writes its outputs and succeeds; from its second run on it executes `fault` at the end.
const SCRIPT: &str = r#"#!/bin/sh
for word in "$@"; do case "$word" in out.*) echo result > "$word" ;; esac; done
[ -e "$0.ran" ] || { : > "$0.ran"; exit 0; }
"#;

/// Creates an arena whose program has a fault.
fn arena(root: &Path, fault: &str) -> Arena {
    let program = root.join("program");
    std::fs::write(&program, format!("{SCRIPT}{fault}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let programs = Programs { treeport: program.clone(), lab: program, python: Some("sh".into()) };
    let scene = |name: &str| {
        let mut scene = Scene::without_own_files(&programs, &root.join(name), 12, 8);
        for name in scene::inputs() {
            scene.inputs.entry(name.into()).or_insert_with(|| b"to be made\n".to_vec());
        }
        scene
    };
    let (small, large) = (scene("small"), scene("large"));
    Arena { programs, small, large, tmpfs: false, least_memory: 1 << 20 }
}

/// Returns the findings of the first round that has any; every round has a fresh program.
fn found(round: Round, fault: &str) -> String {
    for number in 0..40 {
        let root = tempfile::tempdir().unwrap();
        let arena = arena(root.path(), fault);
        let findings =
            round(&arena, &mut Random::new(1, number), &root.path().join("round")).unwrap();
        if !findings.is_empty() {
            return findings.join("\n");
        }
    }
    String::new()
}

#[test]
fn a_good_program_has_no_faults() {
    for round in [kills::round, files::round, writers::round, memory::round, journals::round] {
        assert_eq!(found(round, "exit 0"), "");
    }
}

#[test]
fn stray_files_are_found() {
    let fault = "echo half > .treeport-x; exit 0";
    for round in [kills::round, files::round, writers::round, memory::round] {
        let found = found(round, fault);
        assert!(found.contains(".treeport-x"), "{found}");
    }
}

#[test]
fn wrong_bytes_are_found() {
    let fault = r#"for word in "$@"; do case "$word" in out.*) echo wrong > "$word";; esac; done"#;
    for round in [kills::round, files::round, writers::round, memory::round] {
        let found = found(round, fault);
        assert!(found.contains("differs at byte 0"), "{found}");
    }
}

#[test]
fn panics_and_aborts_are_found() {
    for round in [files::round, disk::round, memory::round, arguments::round] {
        let panic = found(round, "echo \"thread 'main' panicked at x.rs\" >&2; exit 101");
        assert!(panic.starts_with("panicked; thread"), "{panic}");
        let abort = found(round, "kill -ABRT $$");
        assert!(abort.starts_with("ended by signal 6"), "{abort}");
    }
}

#[test]
fn inputs_that_are_written_to_are_found() {
    for round in [kills::round, files::round, arguments::round] {
        let found = found(round, "echo gone > points.csv; exit 0");
        assert!(found.contains("points.csv"), "{found}");
    }
}

#[test]
fn an_ignored_full_disk_is_found() {
    let found = found(disk::round, "exit 0");
    assert!(found.contains("success, though nothing could be "), "{found}");
}

#[test]
fn a_dead_interpreter_is_found() {
    let root = tempfile::tempdir().unwrap();
    let arena = arena(root.path(), "");
    // A shell fails to execute Python code in some way; the interpreter never does.
    for round in [python::round, python::checks] {
        let found = round(&arena, &mut Random::new(1, 0), &root.path().join("round")).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn wrong_distances_are_found() {
    let root = tempfile::tempdir().unwrap();
    let mut arena = arena(root.path(), "sed '1s/$/,distance/; 2,$s/$/,1/' pairs.csv");
    arena.programs.python = None;
    std::fs::write(root.path().join("program.ran"), "").unwrap();
    let found = python::certificates(&arena, &mut Random::new(1, 0), &root.path().join("round"));
    assert!(found.unwrap().concat().contains("W(0, 0) = 1"));
}

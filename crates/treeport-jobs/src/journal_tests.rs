//! Tests of journals after crashes, with damage, of other jobs, opened twice, and of every kind.

use std::fs;

use proptest::prelude::*;
use treeport::Error::{Canceled, Write};

use super::*;

fn job() -> JobFingerprint {
    JobFingerprint::new("test-1").part("metric", 7).part("pairs", 8)
}

/// A temporary folder, and the path of a journal in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Journal::beside(&folder.path().join("labels.csv"));
    assert!(path.ends_with("labels.csv.part"));
    (folder, path)
}

/// Bytes of a journal with these lines.
fn journal(job: &JobFingerprint, lines: &[&str]) -> Vec<u8> {
    let (_folder, path) = place();
    let mut journal = Journal::open(&path, job).unwrap();
    journal.append(b"").unwrap();
    for line in lines {
        journal.append(format!("{line}\n").as_bytes()).unwrap();
    }
    fs::read(&path).unwrap()
}

#[test]
fn lines_that_were_cut_off_are_dropped() {
    let (_folder, path) = place();
    let long = "x".repeat(10_000);
    let lines = ["one", "", &long, "two"];
    let all = journal(&job(), &lines);
    let mut kept = Vec::new();
    for size in (0..150).chain(all.len() - 60..=all.len()) {
        fs::write(&path, &all[..size]).unwrap();
        let mut opened = Journal::open(&path, &job()).unwrap();
        kept = opened.lines().unwrap();
        assert!(kept.iter().eq(&lines[..kept.len()]), "{size}");
        assert_eq!(fs::read(&path).unwrap(), all[..size], "opened is not changed");
        let cut = size > opened.head.len() && size > opened.end.unwrap().at as usize;
        assert_eq!(opened.dropped(), usize::from(cut));
        for line in &lines[kept.len()..] {
            opened.append(format!("{line}\n").as_bytes()).unwrap();
        }
        drop(opened);
        assert_eq!(fs::read(&path).unwrap(), all, "{size}");
    }
    assert_eq!(kept, lines);
}

proptest! {
    /// The undamaged lines at the front of a journal are kept, the others are repeated, and the
    /// result is the same.
    #[test]
    fn damage_ends_what_counts(
        (kind, at, to, byte) in (0..6_usize, any::<usize>(), any::<usize>(), any::<u8>()),
        lines in prop::collection::vec("[0-9a-f ,.]{0,12}", 1..12),
    ) {
        let (_folder, path) = place();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let all = journal(&job(), &lines);
        let mut rows: Vec<&[u8]> = all.split_inclusive(|&byte| byte == b'\n').collect();
        let (from, to) = (at % rows.len(), to % rows.len());
        let mut changed = all.clone();
        match kind {
            0 => changed[at % all.len()] = byte,
            1 => changed[at % all.len()] ^= 1 << (byte % 8),
            2 => changed.truncate(at % all.len()),
            3 => { rows.remove(from); changed = rows.concat(); }
            4 => { rows.swap(from, to); changed = rows.concat(); }
            _ => { rows.insert(to, rows[from]); changed = rows.concat(); }
        }
        fs::write(&path, &changed).unwrap();
        match Journal::open(&path, &job()) {
            Ok(mut opened) => {
                let kept = opened.lines().unwrap();
                prop_assert!(kept.len() <= lines.len());
                prop_assert!(kept.iter().eq(&lines[..kept.len()]), "{kept:?}");
                for line in &lines[kept.len()..] {
                    opened.append(format!("{line}\n").as_bytes()).unwrap();
                }
                prop_assert_eq!(opened.lines().unwrap(), lines);
                let same = fs::read(&path).unwrap() == all;
                prop_assert!(same || kind == 5 && changed.starts_with(&all));
            }
            // The word for the kind of job is damaged or missing from the first line.
            Err(Error::NotAJournal { .. }) => prop_assert_eq!(fs::read(&path).unwrap(), changed),
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn a_damaged_checkpoint_is_none(
        (at, byte, cut) in (any::<usize>(), 1..=u8::MAX, any::<bool>()),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let (_folder, path) = place();
        Journal::open(&path, &job()).unwrap().replace(&bytes).unwrap();
        let mut changed = fs::read(&path).unwrap();
        let at = at % changed.len();
        if cut { changed.truncate(at) } else { changed[at] ^= byte }
        fs::write(&path, &changed).unwrap();
        match Journal::open(&path, &job()) {
            Ok(opened) => prop_assert_eq!(opened.rest().unwrap(), None),
            Err(error) => prop_assert!(matches!(error, Error::NotAJournal { .. }), "{error}"),
        }
    }
}

#[test]
fn nothing_is_made_before_something_is_written() {
    let (folder, path) = place();
    let mut journal = Journal::open(&path, &job()).unwrap();
    assert_eq!((journal.lines().unwrap().len(), journal.rest().unwrap()), (0, None));
    assert!(!path.exists());
    journal.append(b"1\n").unwrap();
    journal.remove().unwrap();
    remove(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let nowhere = folder.path().join("no/labels.csv.part");
    let error = Journal::open(&nowhere, &job()).unwrap_err();
    assert!(matches!(error, Error::Treeport(Write { path, .. }) if path == nowhere));
}

/// An empty journal would block the next job.
#[test]
fn what_never_got_a_line_goes() {
    let (folder, path) = place();
    Journal::open(&path, &job()).unwrap().append(b"").unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    Journal::open(&path, &job()).unwrap().append(b"1\n").unwrap();
    Journal::open(&path, &job()).unwrap().append(b"").unwrap();
    assert_eq!(Journal::read(&path, &job()).unwrap(), ["1"]);
    Journal::open(&path, &job()).unwrap().replace(b"").unwrap();
    assert!(path.exists());
}

#[test]
fn it_is_in_one_hand() {
    let (folder, path) = place();
    let mut mine = Journal::open(&path, &job()).unwrap();
    mine.append(b"1\n").unwrap();
    let error = Journal::open(&path, &job()).unwrap_err();
    assert!(matches!(&error, Error::Treeport(Write { path: at, .. }) if *at == path));
    assert!(error.to_string().contains("`: another run is writing it"));
    assert_eq!(Journal::read(&path, &job()).unwrap(), ["1"], "reading is for everybody");
    mine.append(b"2\n").unwrap();
    drop(mine);
    assert_eq!(Journal::open(&path, &job()).unwrap().lines().unwrap(), ["1", "2"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_is_not_taken_is_overwritten() {
    let (_folder, path) = place();
    let mut journal = Journal::open(&path, &job()).unwrap();
    journal.append(b"1\n2\nthree\n4\n").unwrap();
    let number = |line: &str| Ok::<_, Error>(line.parse::<u8>().is_ok());
    assert_eq!((journal.take_lines(number).unwrap(), journal.dropped()), (2, 2));
    journal.append(b"3\n").unwrap();
    assert_eq!(journal.lines().unwrap(), ["1", "2", "3"]);
    assert_eq!((journal.take_lines(number).unwrap(), journal.dropped()), (3, 0));
    let stop = journal.take_lines(|_| Err(Error::Treeport(Canceled)));
    assert!(matches!(stop, Err(Error::Treeport(Canceled))));
    assert_eq!(journal.take_lines(number).unwrap(), 3, "an error forgets nothing");
    journal.append(b"\xff\n5\n").unwrap();
    assert_eq!(journal.take_lines(number).unwrap(), 3, "what is no text is not taken");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    assert!(journal.take_lines(number).unwrap() < 3, "another program has cut it");
}

#[test]
fn a_foreign_file_is_left_alone() {
    let (_folder, path) = place();
    let other = JobFingerprint::new("test-1").part("metric", 7).part("pairs", 9);
    let kind = JobFingerprint::new("test-2").part("metric", 7).part("pairs", 8);
    for (contents, parts) in [
        (journal(&other, &["0,1,0.5"]), Some("pairs")),
        (journal(&JobFingerprint::new("test-1").part("pairs", 8), &[]), Some("metric")),
        (journal(&job().part("start", 1), &[]), Some("start")),
        (journal(&kind, &[]), None),
        (format!(" {}\n", job()).into(), None),
        (b"my notes\n".to_vec(), None),
        (vec![0; 1 << 16], None),
    ] {
        fs::write(&path, &contents).unwrap();
        match (Journal::open(&path, &job()).unwrap_err(), parts) {
            (Error::OtherJob { parts: found, .. }, Some(parts)) => assert_eq!(found, parts),
            (Error::NotAJournal { .. }, None) => {}
            (error, _) => panic!("{error} for {contents:?}"),
        }
        assert_eq!(fs::read(&path).unwrap(), contents);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(Journal::open(&path, &job()).is_err());
}

#[test]
fn a_checkpoint_is_replaced_as_a_whole() {
    let (folder, path) = place();
    for bytes in [&b"\x01\n\x02"[..], b"", b"\n\n\n\xff"] {
        let mut journal = Journal::open(&path, &job()).unwrap();
        journal.replace(bytes).unwrap();
        assert_eq!(journal.rest().unwrap().as_deref(), Some(bytes));
        drop(journal);
        let again = Journal::open(&path, &job()).unwrap();
        assert_eq!(again.rest().unwrap().as_deref(), Some(bytes));
        drop(again);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

//! Journals after crashes, of other jobs, and of every kind.

use std::fs;

use super::*;

fn job() -> Job {
    Job::new("test-1").part("metric", 7).part("pairs", 8)
}

/// A folder, and the place of a journal in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Journal::beside(&folder.path().join("labels.csv"));
    assert!(path.ends_with("labels.csv.part"));
    (folder, path)
}

#[test]
fn lines_that_were_cut_off_are_dropped() {
    let (_folder, path) = place();
    let first = job().to_string();
    let long = "x".repeat(10_000);
    for (left, lines) in [
        (String::new(), vec![]),
        (first[..12].to_owned(), vec![]),
        (first.clone(), vec![]),
        (format!("{first}\n"), vec![]),
        (format!("{first}\nhalf"), vec![]),
        (format!("{first}\none\nhalf"), vec!["one"]),
        (format!("{first}\none\n\n\0\0\0\0"), vec!["one", ""]),
        (format!("{first}\none\n{long}\ntwo\n{long}"), vec!["one", &long, "two"]),
    ] {
        fs::write(&path, &left).unwrap();
        let mut journal = Journal::open(&path, &job()).unwrap();
        assert_eq!(journal.lines().unwrap(), lines, "{left:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), left, "opened is not changed");
        journal.append(b"more\n").unwrap();
        journal.append(b"and\nmore\n").unwrap();
        let all = [&lines[..], &["more", "and", "more"]].concat();
        assert_eq!(journal.lines().unwrap(), all);
        let expected: String = [&first[..]].iter().chain(&all).flat_map(|l| [l, "\n"]).collect();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(Journal::open(&path, &job()).unwrap().lines().unwrap(), all);
    }
}

#[test]
fn nothing_is_made_before_something_is_written() {
    let (folder, path) = place();
    let mut journal = Journal::open(&path, &job()).unwrap();
    assert_eq!((journal.lines().unwrap().len(), journal.rest().unwrap()), (0, None));
    assert!(!path.exists());
    journal.append(b"").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", job()));
    assert_eq!(journal.rest().unwrap().as_deref(), Some(&b""[..]));
    journal.remove().unwrap();
    remove(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let nowhere = folder.path().join("no/labels.csv.part");
    let error = Journal::open(&nowhere, &job()).unwrap().append(b"").unwrap_err();
    assert!(matches!(error, Error::Write { path, .. } if path == nowhere));
}

#[test]
fn what_is_not_taken_is_overwritten() {
    let (_folder, path) = place();
    let mut journal = Journal::open(&path, &job()).unwrap();
    journal.append(b"1\n2\nthree\n4\n").unwrap();
    let number = |line: &str| Ok::<_, Error>(line.parse::<u8>().is_ok());
    assert_eq!(journal.take_lines(number).unwrap(), 2);
    assert_eq!(journal.lines().unwrap(), ["1", "2"]);
    journal.append(b"3\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n1\n2\n3\n", job()));
    assert_eq!(journal.take_lines(number).unwrap(), 3);
    let stop = journal.take_lines(|_| Err(Error::Cancelled));
    assert!(matches!(stop, Err(Error::Cancelled)));
    assert_eq!(journal.take_lines(number).unwrap(), 3, "an error forgets nothing");
    journal.append(b"\xff\n5\n").unwrap();
    assert_eq!(journal.take_lines(number).unwrap(), 3, "what is no text is not taken");
    fs::write(&path, format!("{}\n1\n", job())).unwrap();
    assert_eq!(journal.take_lines(number).unwrap(), 1, "another program has cut it");
}

#[test]
fn a_foreign_file_is_left_alone() {
    let (_folder, path) = place();
    let other = Job::new("test-1").part("metric", 7).part("pairs", 9);
    let kind = Job::new("test-2").part("metric", 7).part("pairs", 8);
    let binary = "\0".repeat(1 << 16);
    for (contents, parts) in [
        (format!("{other}\n0,1,0.5\n"), Some("pairs")),
        (format!("{}\n", Job::new("test-1").part("pairs", 8)), Some("metric")),
        (format!("{}\n", job().part("start", 1)), Some("start")),
        (format!("{kind}\n"), None),
        (format!(" {}\n", job()), None),
        ("my notes\n".into(), None),
        (binary, None),
    ] {
        fs::write(&path, &contents).unwrap();
        match (Journal::open(&path, &job()).unwrap_err(), parts) {
            (Error::OtherJob { parts: found, .. }, Some(parts)) => assert_eq!(found, parts),
            (Error::NotAJournal { .. }, None) => {}
            (error, _) => panic!("{error} for {contents:?}"),
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), contents);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(Journal::open(&path, &job()).is_err());
}

#[test]
fn a_checkpoint_is_replaced_as_a_whole() {
    let (folder, path) = place();
    let mut journal = Journal::open(&path, &job()).unwrap();
    for bytes in [&b"\x01\n\x02"[..], b"", b"\n\n\n\xff"] {
        journal.replace(bytes).unwrap();
        assert_eq!(journal.rest().unwrap().as_deref(), Some(bytes));
        let again = Journal::open(&path, &job()).unwrap();
        assert_eq!(again.rest().unwrap().as_deref(), Some(bytes));
    }
    journal.replace(b"1\n2\nhal").unwrap();
    journal.append(b"3\n").unwrap();
    assert_eq!(journal.lines().unwrap(), ["1", "2", "3"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// As a run of many cells keeps one object a line, of several commands in one file.
#[test]
fn lines_without_a_job_speak_for_themselves() {
    let (_folder, path) = place();
    let mut journal = Journal::open(&path, &Job::unnamed()).unwrap();
    journal.append(b"{\"cell\":1}\n").unwrap();
    journal.append(b"{\"cell\":2}\n").unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "{\"cell\":1}\n{\"cell\":2}\n");
    fs::write(&path, text + "{\"ce").unwrap();
    let mut journal = Journal::open(&path, &Job::unnamed()).unwrap();
    assert_eq!(journal.lines().unwrap(), ["{\"cell\":1}", "{\"cell\":2}"]);
    journal.append(b"{\"cell\":3}\n").unwrap();
    assert_eq!(journal.lines().unwrap().len(), 3);
}

//! Alone in its process: it removes what is being written there.

use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use treeport::io::file;

alone! {
    fn nothing_is_begun_once_everything_begun_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let write = |name: &str, wait: &dyn Fn()| {
            file::save(folder.path().join(Path::new(name)), |out| {
                wait();
                writeln!(out, "whole").map_err(Box::<dyn std::error::Error>::from)
            })
        };
        let (began, begun) = mpsc::channel();
        let (keep_going, go_on) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let first = scope.spawn(move || {
                let wait = || {
                    began.send(()).unwrap();
                    go_on.recv().unwrap();
                };
                write("first", &wait).is_err()
            });
            begun.recv().unwrap();
            assert_eq!(files(), 1);
            let none = file::remove_pending();
            assert_eq!(files(), 0);
            let second = scope.spawn(move || write("second", &|| ()).is_ok());
            std::thread::sleep(Duration::from_millis(100));
            assert_eq!(files(), 0);
            drop(none);
            assert!(second.join().unwrap());
            keep_going.send(()).unwrap();
            assert!(first.join().unwrap(), "its file is gone");
            assert_eq!(files(), 1);
        });
    }
}

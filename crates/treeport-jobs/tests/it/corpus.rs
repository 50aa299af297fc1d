//! The committed corpus of the fuzz targets, through the same functions, without a nightly compiler:
//! here, because journals and shards are among them as well as the readers of the library.

#[path = "../../../../fuzz/src/targets.rs"]
mod targets;

#[test]
fn every_file_of_the_corpus_is_read_or_refused() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, _) in targets::TARGETS {
        let files = std::fs::read_dir(corpus.join(name)).expect(name);
        let files: Vec<_> = files.map(|file| file.expect("an entry").path()).collect();
        assert!(files.len() > 2, "{name} has a corpus");
        for file in &files {
            targets::run(name, &std::fs::read(file).expect("a file"));
        }
    }
}

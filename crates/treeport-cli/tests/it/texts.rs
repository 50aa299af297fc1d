//! `index` and `nearest` with texts and word vectors.

use insta::assert_snapshot;
use treeport::io::word_vectors::WordVectors;
use treeport::search::IndexFile;
use treeport::texts::{StopWords, WordTable, WordWeights};
use treeport::{GroundMetric, Index, IndexOptions, PointMetric, silent};

use crate::folder::Folder;

const BUILD: &str = "index --texts news --vectors glove.txt";

/// A folder with three texts, word vectors and two queries.
fn with_texts() -> Folder {
    let folder = Folder::new();
    folder.write("glove.txt", "zoo 9 9\ncat 0 0\ndog 0 1\ncar 5 5\nbus 5 6\n");
    std::fs::create_dir_all(folder.path("news/traffic")).expect("a folder");
    folder.write("news/pets.txt", "The cat and the dog.\nA cat!");
    folder.write("news/traffic/bus.txt", "Bus, bus: the car");
    folder.write("news/traffic/cat", "My cat; a car");
    folder.write("new.txt", "A dog, dogs and a cat\nBus\n");
    folder
}

#[test]
fn texts_are_searched_by_their_words() {
    let folder = with_texts();
    assert_snapshot!(folder.run(&format!("{BUILD} -o news.index")), @r#"
    measures  3
    points    4 in use of 4
    memory    244 bytes beside points and measures
    seconds   [time]
    written   news.index
    --- exit 0
    "#);
    assert_snapshot!(folder.run("nearest news.index --texts new.txt -k 2"), @r#"
    query,rank,neighbor,distance,bound
    0,1,pets,0.16666666666666669,7.180598735809326
    0,2,traffic/cat,3.2015621187164243,7.180598735809326
    1,1,traffic/bus,0.33333333333333337,7.3047404289245605
    1,2,traffic/cat,4.405124837953327,7.3047404289245605
    --- stderr
    warning: new.txt: 25% of the text has no vector, such as dogs; these words are left out
    --- exit 0
    "#);
    assert_snapshot!(folder.run("nearest news.index news.index --texts new.txt -k 1"), @r#"
    --- stderr
    warning: new.txt: 25% of the text has no vector, such as dogs; these words are left out
    error: a measure of news.index and one of news.index are both called `pets`; remove one of them
    --- exit 2
    "#);
    folder.write("more.txt", "dog dog\n");
    assert_snapshot!(
        folder.run("index news.index --texts more.txt -o news.index"),
        @r#"
    --- stderr
    error: more.txt against news.index: the measures of the index have names; name those that are added, too

    hint: `--measure-names` names them, and so does a column `id` of their table
    --- exit 2
    "#
    );
    folder.write("more.names", "dogs\n");
    folder.run("index news.index --texts more.txt --measure-names more.names -o news.index");
    assert_snapshot!(folder.run("nearest news.index -k 1"), @r#"
    query,rank,neighbor,distance,bound
    pets,1,dogs,0.6666666666666667,3.312884072236313
    traffic/bus,1,traffic/cat,4.071791504619994,6.848313808441162
    traffic/cat,1,pets,3.3128860477885285,3.7014102935791016
    dogs,1,pets,0.6666666666666667,1.144363522529602
    --- exit 0
    "#);
    let piped = folder.run_with("nearest news.index --texts - -k 1", b"Bus\n");
    assert_snapshot!(piped, @r#"
    query,rank,neighbor,distance,bound
    0,1,traffic/bus,0.33333333333333337,0.855596661567688
    --- exit 0
    "#);
}

#[test]
fn the_library_and_the_command_line_index_the_same_texts() {
    let folder = with_texts();
    let table = |stop_words| {
        WordTable::read(folder.path("news"), stop_words, &silent).expect("three texts")
    };
    let vectors = WordVectors::read(folder.path("glove.txt"), None, &silent).expect("vectors");
    let place = |word: &str| vectors.words.iter().position(|one| one == word);
    folder.write("stop.txt", "cat\n");
    let stop = ["cat".to_owned()].into_iter().collect();
    for (args, stop_words, weights) in [
        ("", StopWords::english(), WordWeights::Counts),
        ("--word-weights tfidf --stop-words none", StopWords::default(), WordWeights::Tfidf),
        ("--stop-words stop.txt", stop, WordWeights::Counts),
    ] {
        let mut table = table(stop_words);
        table.weigh(weights);
        let texts = table.texts(|word| place(word).is_some()).expect("known words");
        let points = texts.words.iter().flat_map(|word| {
            let at = 2 * place(word).expect("a known word");
            vectors.coordinates[at..at + 2].iter().copied().map(f64::from)
        });
        let metric = GroundMetric::from_points(2, points.collect(), PointMetric::Manhattan);
        let metric = metric.expect("points");
        let measures = texts.measures.normalized();
        let index = Index::new(&metric, &measures, &IndexOptions::default(), &silent);
        let file = IndexFile { index: index.expect("an index"), point_names: Some(texts.words) };
        folder.json(&format!("{BUILD} --metric manhattan {args} --json -o a.index"));
        assert!(file.to_bytes().expect("a file") == folder.read("a.index"), "{args}");
    }
}

#[test]
fn errors_name_files_lines_and_documents() {
    let folder = with_texts();
    assert_snapshot!(folder.error("index --texts news -o a.index"), @"the words of `--texts` need `--vectors`, or an INDEX to add the texts to");
    assert_snapshot!(folder.error("index --vectors glove.txt --measures measures.csv -o a.index"), @"`--vectors` are for the words of `--texts`; `--points` has vectors for `--measures`");
    folder.write("bad.txt", "cat 0 0\ndog 0\n");
    assert_snapshot!(folder.error("index --texts news --vectors bad.txt -o a.index"), @"bad.txt: word vectors, line 2, word `dog 0`: it does not have 2 numbers");
    folder.write("other.txt", "tree 0 0\n");
    assert_snapshot!(folder.error("index --texts news --vectors other.txt -o a.index"), @"other.txt: word vectors, all lines: none of the 4 words asked for is there, such as bus, car, cat; upper and lower case differ");
    folder.write("news/trees.txt", "Tree");
    assert_snapshot!(folder.error("index --texts news --vectors glove.txt -o a.index"), @"news: 1 of 4 documents have no word with a vector, such as document trees, `Tree`; leave them out, or give more vectors");
    std::fs::remove_file(folder.path("news/trees.txt")).expect("a file");
    folder.run(&format!("{BUILD} -o a.index"));
    folder.write("unknown.txt", "cat\ntrees\n");
    assert_snapshot!(folder.error("nearest a.index --texts unknown.txt"), @"unknown.txt: 1 of 2 documents have no word with a vector, such as document 1, `trees`; leave them out, or give more vectors");
    assert_snapshot!(folder.error("nearest a.index --texts new.txt --queries measures.csv"), @r#"
    the argument '--texts <PATH>' cannot be used with '--queries <FILE>'

    Usage: treeport nearest --texts <PATH> <INDEX|MODEL> [INDEX]...

    For more information, try '--help'.
    "#);
    folder.run("index --points line.csv --measures measures.csv -o b.index");
    assert_snapshot!(folder.error("nearest b.index --texts new.txt"), @"b.index: its points have no names, which the words of `--texts` need");
    assert_snapshot!(folder.error("index b.index --texts new.txt -o b.index"), @"b.index: its points have no names, which the words of `--texts` need");
}

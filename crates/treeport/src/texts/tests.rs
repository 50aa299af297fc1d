use proptest::prelude::*;

use super::*;

fn counted(texts: &[&str], stop_words: StopWords) -> WordTable {
    let mut counter = WordCounter::new(stop_words);
    for text in texts {
        counter.add_text(text).unwrap();
    }
    counter.finish()
}

const NEWS: [&str; 3] =
    ["The cat sees the cat and a dog", "Car, car: a bus!", "dog and zebra and zebra"];

fn has_vector(word: &str) -> bool {
    ["cat", "dog", "car", "bus"].contains(&word)
}

#[test]
fn words_are_runs_of_two_or_more_letters_in_lower_case() {
    let text = "Don't panic: x_1 é Éa ÀB_c 42 a-b I'm na\u{ef}ve 北京 हिन्दी\nΟΔΟΣ";
    let lower = text.to_lowercase();
    let found: Vec<&str> = words_of(&lower).collect();
    let expected =
        ["don", "panic", "x_1", "éa", "àb_c", "42", "na\u{ef}ve", "北京", "हिन", "दी", "οδος"];
    assert_eq!(found, expected);
}

#[test]
fn texts_are_counts_of_known_words() {
    let table = counted(&NEWS, StopWords::english());
    assert_eq!(table.words(), ["bus", "car", "cat", "dog", "sees", "zebra"]);
    let found = table.texts(has_vector).unwrap();
    assert_eq!(found.words, ["bus", "car", "cat", "dog"]);
    assert_eq!(found.unknown, [("zebra".into(), 2), ("sees".into(), 1)]);
    assert!((found.known_share - 0.7).abs() < 1e-15);
    let expected = "30% of the text has no vector, such as zebra, sees; these words are left out";
    assert_eq!(found.warning().unwrap(), expected);
    let rows =
        [[0.0, 0.0, 2.0 / 3.0, 1.0 / 3.0], [1.0 / 3.0, 2.0 / 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    assert_eq!(found.measures, Measures::from_dense(4, &rows.concat()).unwrap());
    let names = ["dog", "cat", "apple", "car", "bus"].map(String::from);
    let on = found.on(&names).unwrap();
    assert_eq!(on.row(0).support(), [0, 1]);
    assert_eq!(on.row(0).masses(), [1.0 / 3.0, 2.0 / 3.0]);
    let error = found.on(&names[1..]).unwrap_err().to_string();
    assert!(error.contains("`dog`, and no point is called so"), "{error}");
}

#[test]
fn rarity_is_that_of_the_documents_or_of_a_collection() {
    let mut table = counted(&NEWS, StopWords::english());
    table.weigh(WordWeights::Tfidf);
    let rarity = |with: f64| (4.0_f64 / (1.0 + with)).ln() + 1.0;
    let (cat, dog) = (2.0 * rarity(1.0), rarity(2.0));
    let all = table.texts(has_vector).unwrap();
    let masses = all.measures.row(0).masses().to_vec();
    assert_eq!(masses, [cat * (1.0 / (cat + dog)), dog * (1.0 / (cat + dog))]);
    // A query that is one of the documents has the same masses.
    let mut query = counted(&NEWS[..1], StopWords::english());
    query.weigh_as(WordWeights::Tfidf, &all.measures, &all.words);
    assert_eq!(query.texts(has_vector).unwrap().measures.row(0).masses(), masses);
    query.weigh_as(WordWeights::Counts, &all.measures, &all.words);
    assert_eq!(query.texts(has_vector).unwrap().measures.row(0).masses(), [2.0 / 3.0, 1.0 / 3.0]);
}

#[test]
fn documents_without_words_are_named() {
    let error = |texts: &[&str], ids: Option<Vec<String>>| {
        counted(texts, StopWords::default()).with_ids(ids).texts(has_vector).unwrap_err()
    };
    assert_eq!(error(&[], None).to_string(), "there are no documents");
    let expected = "2 of 3 documents have no word with a vector, such as document 1, `the\u{20}zebra`; leave them out, or give more vectors";
    assert_eq!(error(&["cat", "the\nzebra", ""], None).to_string(), expected);
    let ids = ["a", "b"].map(String::from).to_vec();
    assert!(error(&["dog", "zebra"], Some(ids)).to_string().contains("document b, `zebra`"));
}

#[test]
fn tables_from_elsewhere_are_checked() {
    let csr = |start: &[usize], indices: &[usize]| Csr {
        rows: start.len() - 1,
        cols: 2,
        start: start.to_vec(),
        indices: indices.to_vec(),
        values: vec![1.0; indices.len()],
    };
    let words = ["bus", "zebra"].map(String::from).to_vec();
    let table = WordTable::new(words.clone(), csr(&[0, 2], &[0, 1]), vec![0.5, 2.0]).unwrap();
    let found = table.texts(has_vector).unwrap();
    assert_eq!((found.words.as_slice(), found.measures.row(0).masses()), (&words[..1], &[1.0][..]));
    assert!(WordTable::new(words.clone(), csr(&[0, 2], &[0, 2]), vec![0.5, 2.0]).is_err());
    assert!(WordTable::new(words, csr(&[0, 2], &[0, 1]), vec![0.5]).is_err());
}

proptest! {
    /// Counting by hand, word by word.
    #[test]
    fn counts_are_those_of_a_slow_count(
        documents in prop::collection::vec(prop::collection::vec("[a-c]{2,3}|the|of", 1..12), 1..6),
    ) {
        let texts: Vec<String> = documents.iter().map(|words| words.join(" ")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let table = counted(&texts, StopWords::english());
        let mut listed = WordCounter::new(StopWords::english());
        for words in &documents {
            listed.add_words(words).unwrap();
        }
        prop_assert_eq!(&listed.finish().counts, &table.counts);
        for (row, words) in documents.iter().enumerate() {
            for (column, word) in table.words().iter().enumerate() {
                let times = words.iter().filter(|one| *one == word).count() as f64;
                let entries = table.counts.start[row]..table.counts.start[row + 1];
                let found = entries.filter(|&e| table.counts.indices[e] == column);
                let found: f64 = found.map(|e| table.counts.values[e]).sum();
                prop_assert_eq!(found, times);
            }
        }
        prop_assert!(table.words().is_sorted());
        prop_assert!(!table.words().iter().any(|word| word == "the"));
    }
}

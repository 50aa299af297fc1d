//! `export --format pgvector`; the Python tests load its text into a real PostgreSQL.

use insta::assert_snapshot;
use treeport::Model;

use crate::folder::Folder;

const EXPORT: &str = "export model.tree --measures measures.csv --format pgvector";

#[test]
fn a_table_of_vectors() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.run(EXPORT), @r#"
    \set ON_ERROR_STOP on
    SET client_encoding = 'UTF8';
    CREATE EXTENSION IF NOT EXISTS vector;
    BEGIN;
    CREATE TABLE "measures" (id bigint PRIMARY KEY, embedding sparsevec(7) NOT NULL);
    COPY "measures" (id, embedding) FROM stdin;
    0	{1:0.25,2:0.25,5:2}/7
    1	{3:0.25,4:0.25,6:2}/7
    2	{1:0.5,5:2}/7
    \.
    CREATE INDEX ON "measures" USING hnsw (embedding sparsevec_l1_ops);
    ANALYZE "measures";
    COMMIT;

    -- The ten nearest to row 0; `SET hnsw.ef_search = 100;` finds more of them:
    -- SELECT id FROM "measures"
    --   ORDER BY embedding <+> (SELECT embedding FROM "measures" WHERE id = 0) LIMIT 10;
    --- exit 0
    "#);
}

#[test]
fn names_and_queries() {
    let folder = Folder::with_model();
    folder.write("titles.txt", "tab\there\n\\N\n\\.\n");
    folder.write("query.csv", "a,b,c,d\n0,1,1,0\n");
    folder.write("asked.txt", "what?\n");
    let named = "--measure-names titles.txt --table a\"b --normalize";
    let queries = "--queries query.csv --query-names asked.txt";
    assert_snapshot!(folder.run(&format!("{EXPORT} {named} {queries}")), @r#"
    \set ON_ERROR_STOP on
    SET client_encoding = 'UTF8';
    CREATE EXTENSION IF NOT EXISTS vector;
    BEGIN;
    CREATE TABLE "a""b" (id bigint PRIMARY KEY, name text NOT NULL, embedding sparsevec(7) NOT NULL);
    COPY "a""b" (id, name, embedding) FROM stdin;
    0	tab\there	{1:0.25,2:0.25,5:2}/7
    1	\\N	{3:0.25,4:0.25,6:2}/7
    2	\\.	{1:0.5,5:2}/7
    \.
    CREATE TABLE "a""b_queries" (id bigint PRIMARY KEY, name text NOT NULL, embedding sparsevec(7) NOT NULL);
    COPY "a""b_queries" (id, name, embedding) FROM stdin;
    0	what?	{2:0.25,3:0.25,5:1,6:1}/7
    \.
    CREATE INDEX ON "a""b" USING hnsw (embedding sparsevec_l1_ops);
    ANALYZE "a""b";
    ANALYZE "a""b_queries";
    COMMIT;

    -- The ten nearest of every query; `SET hnsw.ef_search = 100;` finds more of them:
    -- SELECT q.id AS query, n.id, n.distance FROM "a""b_queries" q CROSS JOIN LATERAL
    --   (SELECT id, embedding <+> q.embedding AS distance FROM "a""b"
    --    ORDER BY embedding <+> q.embedding LIMIT 10) n ORDER BY 1, 3;
    --- exit 0
    "#);
}

#[test]
fn a_contraction_says_what_it_changes() {
    let folder = Folder::with_model();
    let export = "export model.tree --measures measures.csv --most 2";
    assert_snapshot!(folder.run(&format!("{export} --contracted small.tree -o rows.sql")), @r#"
    --- stderr
    2 edges contracted, so that rows have at most 2 entries: distances change by at most 5.000e-1, 14.29 % of their mean (of all pairs)
    pgvector of 4 leaves written to rows.sql
    --- exit 0
    "#);
    let text = folder.text("rows.sql");
    let rows: Vec<&str> = text.lines().filter(|line| line.ends_with("/7")).collect();
    assert_eq!(rows, ["0\t{2:0.25,5:2}/7", "1\t{3:1.25,4:1.25}/7", "2\t{5:2}/7"]);
    let small = Model::load(folder.path("small.tree")).expect("a model");
    assert_eq!(small.tree().expect("a tree").lengths(), [0.0, 0.5, 2.5, 2.5, 2.0, 0.0, 0.0]);
    assert_snapshot!(folder.run(&format!("{export} -q -o rows.sql --json")), @r#"
    {"change":{"exact":true,"least":-0.5,"mean_distance":3.5,"most":0.0},"columns":7,"command":"export","contracted_edges":2,"file":"rows.sql","format":"pgvector","leaves":4,"longest_row":2,"measures":3,"queries":null,"rounding":2.980232238769531e-7,"trees":1}
    --- exit 0
    "#);
}

#[test]
fn what_pgvector_would_refuse() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.error("export model.tree --format pgvector"),
        @"a table of vectors needs measures: `--measures M.npz`");
    assert_snapshot!(folder.error("export model.tree --table docs"),
        @"`--table` belongs to the format pgvector; give `--format pgvector`, or leave it out");
    assert_snapshot!(folder.error(&format!("{EXPORT} --table {}", "x".repeat(70))),
        @"the name `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` has 70 bytes, and PostgreSQL keeps 63");
    assert_snapshot!(folder.error(&format!("{EXPORT} --most 16001")), @r#"
    invalid value '16001' for '--most <N>': it must be from 1 to 16000, the most that pgvector stores

    For more information, try '--help'.
    "#);
    folder.write("titles.txt", "a\nb\0\nc\n");
    assert_snapshot!(folder.error(&format!("{EXPORT} --measure-names titles.txt")),
        @"the name of row 1 of measures has a zero byte");
    folder.write("uneven.csv", "a,b,c,d\n1,1,0,0\n");
    assert_snapshot!(folder.error(&format!("{EXPORT} --queries uneven.csv")),
        @r#"
    uneven.csv against measures.csv: measures 0 and 0 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    folder.write("huge.nwk", "((a:1e39,b:1):2,(c:1,d:1):2);");
    let huge = "export huge.nwk --measures measures.csv --format pgvector";
    assert_snapshot!(folder.error(huge),
        @"row 0 of measures has 500000000000000000000000000000000000000, too large for single precision; scale the model");
    let same = "--contracted same.sql -o same.sql";
    assert!(folder.error(&format!("{EXPORT} {same}")).contains("are the same file"));
}

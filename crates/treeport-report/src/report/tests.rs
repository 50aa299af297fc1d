use treeport::{Forest, Measures, Tree, silent};

use super::*;

#[test]
fn templates_are_filled_once() {
    let values = [("A", "%B%"), ("B", "x")];
    assert_eq!(fill("100% %A% and %B%, %C%", &values), "100% %B% and x, %C%");
    assert_eq!(fill("width: 50%", &values), "width: 50%");
}

fn page_model(model: &treeport::Model) -> Model<'_> {
    let (name, file) = ("m".into(), "m.tree".into());
    Model { name, file, model, history: &[], predicted: vec![], bounds: None }
}

fn small() -> treeport::Model {
    treeport::Model::from_newick("((a:1,b:1):2,c:3);", None).unwrap()
}

fn report<'a>(title: &str, model: &'a treeport::Model) -> Report<'a> {
    Report {
        title: title.into(),
        summary: String::new(),
        unit: String::new(),
        tiles: vec![],
        models: vec![page_model(model)],
        test: None,
        search: None,
        scores: vec![],
        front: None,
        groups: None,
        places: None,
        facts: vec![],
        version: "1".into(),
    }
}

#[test]
fn a_page_needs_nothing_but_itself() {
    let page = html(&report("100% <b>", &small()), &silent).unwrap();
    for part in ["src=", "@import", "<link", "fetch(", "%SCRIPT%", "<b>"] {
        assert!(!page.contains(part), "{part}");
    }
    // The only URL is the SVG namespace, which is never loaded.
    assert_eq!(page.matches("://").count(), page.matches("http://www.w3.org/2000/svg").count());
    assert!(page.contains("100% &lt;b&gt;"));
}

#[test]
fn names_stay_text() {
    let names = ["</script><script>boom()</script>", "<!--", "%DATA%"].map(String::from).to_vec();
    let model = small().with_names(names).unwrap();
    let page = html(&report("t", &model), &silent).unwrap();
    assert!(!page.contains("boom()</script>") && !page.contains("\"<!--"));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn plans_are_spread_over_the_errors_and_can_be_stopped() {
    let model = small();
    let metric = GroundMetric::from_condensed(3, vec![2.0, 6.0, 6.0]).unwrap();
    let measures = Measures::unit_masses(3, [0, 1, 2]).unwrap();
    let pairs = vec![(0, 1), (0, 2), (1, 2), (0, 0)];
    let data = Labeled::new(&measures, pairs, vec![2.5, 6.0, 5.0, 0.0]).unwrap();
    let mut report = report("t", &model);
    report.models[0].predicted = model.pairs(&measures, data.pairs(), &silent).unwrap();
    report.models[0].bounds = Some(vec![(1.0, 3.0); 4]);
    report.test = Some(Test { metric: &metric, data: &data, names: None });
    // The pair at distance 0 has no relative error and no plan.
    assert_eq!(data::choose_plans(&report), [1, 0, 2]);
    let page = html(&report, &silent).unwrap();
    assert!(page.contains("Certified bounds") && page.contains("data-plan=\"2\""));
    assert!(matches!(html(&report, &|_| false), Err(treeport::Error::Canceled)));
}

#[test]
fn the_trees_of_a_forest_can_be_chosen_and_plans_are_those_of_all() {
    let two = "((a:1,b:1):1,(c:1,d:1):1);\n((a:1,c:1):1,(b:1,d:1):1);";
    let trees = treeport::Model::from_newick(two, None).unwrap().trees().to_vec();
    let forest = Forest::new(trees, vec![1.0, 3.0]).unwrap();
    let model = treeport::Model::Forest(forest);
    let metric = GroundMetric::from_condensed(4, vec![1.0; 6]).unwrap();
    let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5]).unwrap();
    let data = Labeled::new(&measures, vec![(0, 1)], vec![1.0]).unwrap();
    let mut report = report("t", &model);
    report.models[0].predicted = model.pairs(&measures, data.pairs(), &silent).unwrap();
    report.test = Some(Test { metric: &metric, data: &data, names: None });
    let page = html(&report, &silent).unwrap();
    for part in [
        "<option value=\"0\">1 of 2, weight 25.0 %</option>",
        "<option value=\"1\" selected>2 of 2, weight 75.0 %</option>",
        "weighted mean of 2 trees",
        "25.0 % to 75.0 %",
        "\"first\":1",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // The heavier tree matches a with c and b with d; the optimal plan is the same.
    assert!(page.contains("\"plans\":[[0.0,2.0,0.5,1.0,1.0,3.0,0.5,1.0]]"), "{page}");
}

/// Extracts the page's data.
fn data_of(page: &str) -> serde_json::Value {
    let data = page.split_once("id=\"data\">").expect("data").1;
    serde_json::from_str(data.split_once("</script>").expect("an end").0).expect("JSON")
}

#[test]
fn a_small_tree_is_in_the_page_as_a_whole() {
    let model = treeport::Model::Tree(Tree::star(20_000, 1.0).unwrap());
    let data = data_of(&html(&report("t", &model), &silent).unwrap());
    assert_eq!(data["names"].as_array().unwrap().len(), 20_000);
    let page = html(&report("t", &small()), &silent).unwrap();
    assert_eq!(
        data_of(&page),
        serde_json::json!({
            "unit": "", "names": ["a", "b", "c"], "groups": null, "weights": null, "pairs": [],
            "neighbors": null,
            "models": [{"name": "m", "forest": false, "whole": true, "first": 0, "trees": [{
                "weight": 1.0, "leaves": 3, "parent": [3, 3, 4, 4, 4],
                "length": [1.0, 1.0, 3.0, 2.0, 0.0], "ultrametric": true,
            }]}],
        })
    );
    assert!(!page.contains("a summary: at most"));
}

/// A random tree of 200,000 leaves: the parent of a node is one of the next few nodes.
fn bushy() -> Tree {
    let (leaves, nodes) = (200_000, 399_999);
    let length =
        (0..nodes).map(|v| if v == nodes - 1 { 0.0 } else { 1.0 + (v * 7919 % 13) as f64 });
    let parent = (0..nodes).map(|v| (leaves + v / 2 + v * v % 5).max(v + 1).min(nodes - 1) as u32);
    Tree::new(leaves, parent.collect(), length.collect()).unwrap()
}

#[test]
fn a_large_tree_is_a_small_page() {
    let n = 200_000;
    let names: Vec<String> = (0..n).map(|p| format!("point number {p}")).collect();
    let tree = bushy().with_names(names).unwrap();
    let two = vec![tree.clone(), tree.scaled(2.0).unwrap()];
    let at = (0..n).map(|p| p as f64).collect();
    let metric = GroundMetric::from_points(1, at, treeport::PointMetric::Euclidean).unwrap();
    let row = |r: usize| (0..50).map(move |k| ((k * 3989 + r * 977) % n, 0.02));
    let measures = Measures::from_rows(n, (0..40).map(row)).unwrap();
    let pairs: Vec<(usize, usize)> = (1..40).map(|r| (0, r)).collect();
    let labels = Labeled::new(&measures, pairs, vec![1000.0; 39]).unwrap();
    for model in [tree.into(), treeport::Model::Forest(Forest::uniform(two).unwrap())] {
        let mut report = report("t", &model);
        report.groups = Some((0..n).map(|p| format!("{}", p % 3)).collect());
        report.models[0].predicted = model.pairs(&measures, labels.pairs(), &silent).unwrap();
        report.test = Some(Test { metric: &metric, data: &labels, names: None });
        report.search = Some(search(&measures, Some(&metric)));
        let page = html(&report, &silent).unwrap();
        assert!(page.len() < 2_000_000, "{}", page.len());
        assert!(page.contains("a summary: at most 2,000 groups of points"));
        let data = data_of(&page);
        let trees = data["models"][0]["trees"].as_array().unwrap();
        let groups: u64 = trees.iter().map(|tree| tree["leaves"].as_u64().unwrap()).sum();
        assert!((400..=2_000).contains(&groups), "{groups}");
        for tree in trees {
            let sizes: u64 =
                tree["size"].as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).sum();
            assert_eq!(sizes, n as u64);
            assert!(tree["parent"].as_array().unwrap().len() <= 4_000);
            // The end of every move has a group and a name.
            let near = &data["neighbors"]["queries"][3]["found"][7]["plan"][1];
            for moved in [&data["pairs"][0]["best"][0], near] {
                let moved = moved.as_f64().unwrap().to_string();
                assert!(tree["at"][&moved].is_u64() && data["names"][&moved].is_string());
            }
        }
    }
}

fn search<'a>(measures: &'a Measures, metric: Option<&'a GroundMetric>) -> NeighborSearch<'a> {
    NeighborSearch { measures, names: None, metric, of: vec![] }
}

#[test]
fn neighbors_are_there_if_measures_are() {
    let model = small();
    let mut report = report("t", &model);
    let section = "<section class=\"card\" id=\"neighbors\">";
    let shown = |report: &Report<'_>| {
        let page = html(report, &silent).unwrap();
        assert_eq!(page.contains(section), data_of(&page)["neighbors"].is_object());
        page.contains(section)
    };
    assert!(!shown(&report));
    let measures = Measures::unit_masses(3, [0, 1, 2]).unwrap();
    report.search = Some(search(&measures, None));
    assert!(shown(&report));
    let one = Measures::unit_masses(3, [1]).unwrap();
    report.search = Some(search(&one, None));
    assert!(!shown(&report));
    let unequal = Measures::from_rows(3, [vec![(0, 1.0)], vec![(1, 2.0)]]).unwrap();
    report.search = Some(search(&unequal, None));
    assert!(html(&report, &silent).is_err());
}

#[test]
fn names_of_neighbors_stay_text() {
    let model = small();
    let mut report = report("t", &model);
    let measures = Measures::unit_masses(3, [0, 1]).unwrap();
    let names = ["</script><script>boom()</script>", "%DATA%<img src=x>"].map(String::from);
    let names = Some(names.to_vec());
    report.search = Some(NeighborSearch { names: names.clone(), ..search(&measures, None) });
    let page = html(&report, &silent).unwrap();
    assert!(!page.contains("boom()</script>") && !page.contains("<img"));
    assert_eq!(page.matches("</script>").count(), 2);
    let found = &data_of(&page)["neighbors"]["queries"][0]["found"][0];
    assert_eq!(found["name"].as_str(), names.map(|names| names[1].clone()).as_deref());
}

#[test]
fn of_many_trees_those_that_count_most_are_shown() {
    let trees = vec![Tree::star(3, 1.0).unwrap(); 20];
    let weights = (0..20).map(|k| f64::from(1 + k % 5)).collect();
    let model = treeport::Model::Forest(Forest::new(trees, weights).unwrap());
    let shown = data::choose_trees(&model);
    assert_eq!(shown, (0..20).filter(|k| k % 5 > 0).collect::<Vec<_>>());
    let page = html(&report("t", &model), &silent).unwrap();
    assert!(
        page.contains("The 16 with the largest weights are here.")
            && page.contains("\"whole\":false")
    );
    assert!(page.contains("selected>5 of 20, "));
}

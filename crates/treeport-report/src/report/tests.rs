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
        scores: vec![],
        groups: None,
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
    // The only address is the name space of SVG, which is never loaded.
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
    let data = Labelled::new(&measures, pairs, vec![2.5, 6.0, 5.0, 0.0]).unwrap();
    let mut report = report("t", &model);
    report.models[0].predicted = model.pairs(&measures, data.pairs(), &silent).unwrap();
    report.models[0].bounds = Some(vec![(1.0, 3.0); 4]);
    report.test = Some(Test { metric: &metric, data: &data, names: None });
    // The pair at distance 0 has no relative error and no plan.
    assert_eq!(data::choose_plans(&report), [1, 0, 2]);
    let page = html(&report, &silent).unwrap();
    assert!(page.contains("Certified bounds") && page.contains("data-plan=\"2\""));
    assert!(matches!(html(&report, &|_| false), Err(treeport::Error::Cancelled)));
}

#[test]
fn the_trees_of_a_forest_can_be_chosen_and_plans_are_those_of_all() {
    let two = "((a:1,b:1):1,(c:1,d:1):1);\n((a:1,c:1):1,(b:1,d:1):1);";
    let trees = treeport::Model::from_newick(two, None).unwrap().trees().to_vec();
    let forest = Forest::new(trees, vec![1.0, 3.0]).unwrap();
    let model = treeport::Model::Forest(forest);
    let metric = GroundMetric::from_condensed(4, vec![1.0; 6]).unwrap();
    let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5]).unwrap();
    let data = Labelled::new(&measures, vec![(0, 1)], vec![1.0]).unwrap();
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
    // The heavier tree pairs a with c and b with d; the cheapest plan of both does the same.
    assert!(page.contains("\"plans\":[[0.0,2.0,0.5,1.0,1.0,3.0,0.5,1.0]]"), "{page}");
}

#[test]
fn of_many_trees_those_that_count_most_are_shown() {
    let trees = vec![Tree::star(3, 1.0).unwrap(); 20];
    let weights = (0..20).map(|k| f64::from(1 + k % 5)).collect();
    let model = treeport::Model::Forest(Forest::new(trees, weights).unwrap());
    let shown = data::choose_trees(&model);
    assert_eq!(shown, (0..20).filter(|k| k % 5 > 0).collect::<Vec<_>>());
    let page = html(&report("t", &model), &silent).unwrap();
    assert!(page.contains("The 16 that count most are here.") && page.contains("\"whole\":false"));
    assert!(page.contains("selected>5 of 20, "));
}

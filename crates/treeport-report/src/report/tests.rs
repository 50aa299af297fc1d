use super::*;

#[test]
fn templates_are_filled_once() {
    let values = [("A", "%B%"), ("B", "x")];
    assert_eq!(fill("100% %A% and %B%, %C%", &values), "100% %B% and x, %C%");
    assert_eq!(fill("width: 50%", &values), "width: 50%");
}

fn model(tree: &Tree) -> Model<'_> {
    let (name, file) = ("m".into(), "m.tree".into());
    Model { name, file, tree, history: &[], predicted: vec![], bounds: None }
}

fn report<'a>(title: &str, tree: &'a Tree) -> Report<'a> {
    Report {
        title: title.into(),
        summary: String::new(),
        unit: String::new(),
        tiles: vec![],
        models: vec![model(tree)],
        test: None,
        scores: vec![],
        groups: None,
        facts: vec![],
        version: "1".into(),
    }
}

#[test]
fn a_page_needs_nothing_but_itself() {
    let tree = Tree::from_newick("((a:1,b:1):2,c:3);").unwrap();
    let page = html(&report("100% <b>", &tree), &treeport::silent).unwrap();
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
    let tree = Tree::from_newick("((a:1,b:1):2,c:3);").unwrap().with_names(names).unwrap();
    let page = html(&report("t", &tree), &treeport::silent).unwrap();
    assert!(!page.contains("boom()</script>") && !page.contains("\"<!--"));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn plans_are_spread_over_the_errors_and_can_be_stopped() {
    let tree = Tree::from_newick("((a:1,b:1):2,c:3);").unwrap();
    let metric = GroundMetric::from_condensed(3, vec![2.0, 6.0, 6.0]).unwrap();
    let measures = Measures::unit_masses(3, [0, 1, 2]).unwrap();
    let (pairs, exact) = ([(0, 1), (0, 2), (1, 2), (0, 0)], [2.5, 6.0, 5.0, 0.0]);
    let diameter = 6.0;
    let test = Test {
        metric: &metric,
        measures: &measures,
        names: None,
        pairs: &pairs,
        exact: &exact,
        diameter,
    };
    let mut report = report("t", &tree);
    report.models[0].predicted = tree.pairs(&measures, &pairs, &treeport::silent).unwrap();
    report.models[0].bounds = Some(vec![(1.0, 3.0); 4]);
    report.test = Some(test);
    // The pair at distance 0 has no relative error and no plan.
    assert_eq!(data::choose_plans(&report), [1, 0, 2]);
    let page = html(&report, &treeport::silent).unwrap();
    assert!(page.contains("Certified bounds") && page.contains("data-plan=\"2\""));
    assert!(matches!(html(&report, &|_| false), Err(treeport::Error::Cancelled)));
}

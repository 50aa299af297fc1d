use super::*;
use crate::svg::tests::parse;

/// ((a,b),(c,d,e)) with leaves at different depths.
fn small() -> Tree {
    let parent = vec![5, 5, 6, 6, 6, 7, 7, 7];
    let length = vec![1.0, 2.0, 1.0, 1.5, 0.0, 3.0, 2.0, 0.0];
    let names = ["a", "R&D", "<c>", "d\"", "N'Djamena"].map(String::from).to_vec();
    Tree::new(5, parent, length).expect("a tree").with_names(names).expect("five names")
}

/// A caterpillar tree, the deepest: leaf k is attached to a chain of n − 1 inner nodes.
fn caterpillar(n: usize) -> Tree {
    let leaf_parents = (0..n).map(|k| (n + k.saturating_sub(1)) as u32);
    let inner_parents = (0..n - 1).map(|k| (n + (k + 1).min(n - 2)) as u32);
    let mut length = vec![1.0; 2 * n - 1];
    length[2 * n - 2] = 0.0;
    Tree::new(n, leaf_parents.chain(inner_parents).collect(), length).expect("a tree")
}

#[test]
fn pictures_parse_and_name_every_leaf() {
    let svg = dendrogram_svg(&small().into(), &DendrogramOptions::default());
    assert!(parse(&svg) > 10);
    assert_eq!(svg.matches("class=\"tp-leaf").count(), 5);
    for name in ["R&amp;D", "&lt;c&gt;", "d&quot;", "N&#39;Djamena"] {
        assert!(svg.contains(name), "{name}");
    }
    assert!(svg.contains("prefers-color-scheme: dark"));
    assert!(svg.contains("distance from the root"));
}

#[test]
fn no_edges_cross_and_leaves_keep_their_rows() {
    let tree = small();
    let layout = Layout::new(&tree, &DendrogramOptions::default(), 0);
    assert_eq!(leaf_order(&tree), [0, 1, 2, 3, 4]);
    assert_eq!(layout.y[5], f64::midpoint(layout.y[0], layout.y[1]));
    assert_eq!(layout.y[6], layout.y[3]);
    let deepest = layout.x.iter().copied().fold(0.0, f64::max);
    assert!((deepest - layout.right).abs() < 1e-9);
    assert_eq!(layout.x[7], layout.left);
}

#[test]
fn small_subtrees_come_first() {
    // ((0,1,2),3)
    let tree =
        Tree::new(4, vec![4, 4, 4, 5, 5, 5], vec![1.0, 1.0, 1.0, 2.0, 1.0, 0.0]).expect("ok");
    assert_eq!(leaf_order(&tree), [3, 0, 1, 2]);
    let svg = dendrogram_svg(
        &tree.into(),
        &DendrogramOptions { unit: "km".into(), ..Default::default() },
    );
    assert!(svg.contains("distance between leaves that meet here (km)"));
}

#[test]
fn whole_subtrees_take_the_color_of_their_group() {
    let groups = ["x", "x", "y", "y", "z"].map(String::from).to_vec();
    let found = LeafGroups::new(&small(), Some(&groups));
    assert_eq!(found.names, ["x", "y", "z"]);
    assert_eq!(found.of[5..], [Some(0), None, None]);
    let options = DendrogramOptions { groups: Some(groups), ..DendrogramOptions::default() };
    let svg = dendrogram_svg(&small().into(), &options);
    parse(&svg);
    assert_eq!(svg.matches("rx=\"2\"").count(), 3);
    assert_eq!(svg.matches("<path class=\"tp-line").count(), 4);
}

#[test]
fn a_single_point_and_a_flat_tree_are_drawn() {
    let point = Tree::new(1, vec![0], vec![0.0]).expect("a tree");
    let flat = Tree::new(2, vec![2, 2, 2], vec![0.0, 0.0, 0.0]).expect("a tree");
    for tree in [point, flat] {
        let svg = dendrogram_svg(&tree.into(), &DendrogramOptions::default());
        parse(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn many_leaves_in_a_chain_are_drawn_without_names() {
    let tree = caterpillar(20_000);
    let svg = dendrogram_svg(&tree.into(), &DendrogramOptions::default());
    parse(&svg);
    assert_eq!(svg.matches("class=\"tp-leaf").count(), 0);
    assert!(svg.len() < 4_000_000);
}

#[test]
fn a_forest_is_drawn_by_its_heaviest_tree_and_says_so() {
    let trees = vec![small(), small().scaled(2.0).expect("a tree")];
    let groups = ["x", "x", "y", "y", "z"].map(String::from).to_vec();
    let options = DendrogramOptions { groups: Some(groups), ..DendrogramOptions::default() };
    let forest = treeport::Forest::new(trees, vec![1.0, 3.0]).expect("a forest");
    let svg = dendrogram_svg(&forest.into(), &options);
    parse(&svg);
    assert!(svg.contains("tree 2 of 2, which has the largest weight: 75.0 %"), "{svg}");
    // The legend is shifted down for that line.
    assert!(svg.contains("y=\"56\""), "{svg}");
}

#[test]
fn legends_wrap() {
    let names: Vec<String> = (0..30).map(|k| format!("group number {k}")).collect();
    assert!(legend_rows(&names, 600.0) > 3);
    assert_eq!(legend_rows(&[], 600.0), 0);
}

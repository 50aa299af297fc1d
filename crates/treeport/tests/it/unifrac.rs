//! UniFrac of samples without counts, and of trees that are no phylogenies.

use treeport::tree::{UniFrac, UniFracOptions};
use treeport::{Error, Measures, Tree, silent};

fn options(variant: UniFrac) -> UniFracOptions {
    UniFracOptions { variant, ..UniFracOptions::default() }
}

#[test]
fn all_shares_of_a_sample_without_counts_are_0() {
    let tree = Tree::from_newick("((a:1,b:3):2,(c:1,d:2):1);").unwrap();
    let counts = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0];
    let samples = Measures::from_dense_or_empty(4, &counts).unwrap();
    let found = |variant| tree.unifrac(&samples, &options(variant), &silent).unwrap();
    #[rustfmt::skip]
    let weighted = [
        0.0, 4.0, 6.5, 4.0,
        4.0, 0.0, 2.5, 0.0,
        6.5, 2.5, 0.0, 2.5,
        4.0, 0.0, 2.5, 0.0,
    ];
    assert_eq!(found(UniFrac::Weighted), weighted);
    let ones = weighted.map(|distance| f64::from(distance > 0.0));
    for variant in [
        UniFrac::WeightedNormalized,
        UniFrac::Unweighted,
        UniFrac::Generalized,
        UniFrac::VarianceAdjusted,
    ] {
        assert_eq!(found(variant), ones, "{variant}");
    }
    assert!(matches!(Measures::from_dense(4, &counts), Err(Error::NoMass { measure: 1 })));
    assert!(matches!(samples.clone().with_mass(), Err(Error::NoMass { measure: 1 })));
    assert_eq!(samples.clone().normalized().row(1).total(), 0.0);
    // Everything that wants mass says that there is none.
    assert!(matches!(samples.check_pairs(&[(1, 3)]), Err(Error::NoMass { measure: 1 })));
    assert!(tree.pairwise(&samples, &silent).is_err());
}

#[test]
fn trees_without_a_root_or_lengths_are_refused() {
    let samples = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
    let error = |text: &str, options: &UniFracOptions| {
        Tree::from_newick(text).unwrap().unifrac(&samples, options, &silent).unwrap_err()
    };
    let plain = UniFracOptions::default();
    assert!(matches!(error("(a:1,b:1,c:1);", &plain), Error::Unrooted { children: 3 }));
    let said = error("((a:1,b:1),c:1);", &plain).to_string();
    assert_eq!(
        said,
        "the edge above an inner node over leaf `a` has no length; write 0 where that is meant"
    );
    assert!(matches!(error("((a:0,b:0):0,c:0);", &plain), Error::NoLengths));
    let tree = Tree::from_newick("(a:1,b:1,c:1);").unwrap();
    let as_it_is = UniFracOptions { unrooted: true, ..plain };
    assert_eq!(tree.unifrac(&samples, &as_it_is, &silent).unwrap(), [0.0, 2.0, 2.0, 0.0]);
}

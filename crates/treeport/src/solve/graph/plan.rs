//! Which mass goes where: the flows on a tree taken apart.

const NONE: u32 = u32::MAX;

/// Mass of one node on its way up the tree.
#[derive(Clone, Copy)]
struct Parcel {
    node: u32,
    /// Below 0 where it is wanted.
    mass: i128,
    next: u32,
}

/// Parcels of one sign, as a list.
#[derive(Clone, Copy)]
struct Pile {
    first: u32,
    last: u32,
}

const EMPTY: Pile = Pile { first: NONE, last: NONE };

/// Moves of whole masses between nodes, from those above 0 to those below; their sum is 0.
///
/// Every node matches what comes from below with what it has, and sends the rest up: whatever passes
/// an edge goes the same way, so that together the moves cost what the flows on the tree do. Each
/// empties one side, so there are fewer moves than nodes with mass.
///
/// # Complexity
/// O(nodes + masses): piles are joined at their ends.
pub(in crate::solve) fn plan(
    parent: &[u32],
    masses: impl Iterator<Item = (usize, i128)>,
    mut moved: impl FnMut(usize, usize, i128),
) {
    let mut pile = vec![EMPTY; parent.len()];
    let mut parcels = Vec::new();
    for (node, mass) in masses {
        let place = parcels.len() as u32;
        parcels.push(Parcel { node: node as u32, mass, next: NONE });
        pile[node] = Pile { first: place, last: place };
    }
    for v in upwards(parent) {
        let (here, above) = (pile[v], parent[v] as usize);
        if above != v && here.first != NONE {
            pile[above] = join(&mut parcels, pile[above], here, &mut moved);
        }
    }
}

/// Puts two piles together; what one has and the other wants is moved.
fn join(
    parcels: &mut [Parcel],
    mut a: Pile,
    mut b: Pile,
    moved: &mut impl FnMut(usize, usize, i128),
) -> Pile {
    while a.first != NONE && b.first != NONE {
        let (x, y) = (parcels[a.first as usize], parcels[b.first as usize]);
        if (x.mass > 0) == (y.mass > 0) {
            parcels[a.last as usize].next = b.first;
            return Pile { first: a.first, last: b.last };
        }
        let (from, to) = if x.mass > 0 { (x, y) } else { (y, x) };
        let step = from.mass.min(-to.mass);
        moved(from.node as usize, to.node as usize, step);
        for (pile, parcel) in [(&mut a, x), (&mut b, y)] {
            let rest = parcel.mass - parcel.mass.signum() * step;
            parcels[pile.first as usize].mass = rest;
            if rest == 0 {
                pile.first = parcel.next;
            }
        }
    }
    if a.first == NONE { b } else { a }
}

/// The nodes of a tree, children before parents.
fn upwards(parent: &[u32]) -> Vec<usize> {
    let mut children = vec![0u32; parent.len()];
    for (v, &above) in parent.iter().enumerate() {
        children[above as usize] += u32::from(above as usize != v);
    }
    let mut order = Vec::with_capacity(parent.len());
    for leaf in 0..parent.len() {
        let mut v = leaf;
        // A node follows its last child.
        while children[v] == 0 {
            children[v] = NONE;
            order.push(v);
            let above = parent[v] as usize;
            if above == v {
                break;
            }
            children[above] -= 1;
            v = above;
        }
    }
    order
}

//! The plan of the flows on a tree.

const NONE: u32 = u32::MAX;

/// Unmatched mass of a node.
#[derive(Clone, Copy)]
struct Parcel {
    node: u32,
    /// Supply, or a negative demand.
    mass: i128,
    next: u32,
}

/// A linked list of parcels of one sign.
#[derive(Clone, Copy)]
struct ParcelList {
    first: u32,
    last: u32,
}

const EMPTY: ParcelList = ParcelList { first: NONE, last: NONE };

/// Calls `moved` with the moves of a plan between nodes of a tree, from supplies to demands
/// (negative masses); those that are left at a root stay behind.
///
/// Every node matches the parcels of its subtree, and passes the unmatched ones to its parent.
/// These have one sign, so all mass on an edge has one direction, and the plan costs as much as the
/// flows on the tree. Each move exhausts a parcel, so there are fewer moves than masses. O(nodes +
/// masses): lists are concatenated in constant time.
pub(in crate::solve) fn plan(
    parent: &[u32],
    masses: impl Iterator<Item = (usize, i128)>,
    mut moved: impl FnMut(usize, usize, i128),
) {
    let mut list = vec![EMPTY; parent.len()];
    let mut parcels = Vec::new();
    for (node, mass) in masses {
        let place = parcels.len() as u32;
        parcels.push(Parcel { node: node as u32, mass, next: NONE });
        list[node] = ParcelList { first: place, last: place };
    }
    for v in upwards(parent) {
        let (here, above) = (list[v], parent[v] as usize);
        if above != v && here.first != NONE {
            list[above] = merge(&mut parcels, list[above], here, &mut moved);
        }
    }
}

/// Makes every neighbor of a node of a tree the root of a tree of its own, and the node, too.
pub(in crate::solve) fn detach(parent: &mut [u32], node: u32) {
    let (mut v, mut above) = (node, node);
    loop {
        let next = std::mem::replace(&mut parent[v as usize], above);
        if next == v {
            break;
        }
        (above, v) = (v, next);
    }
    for (v, above) in parent.iter_mut().enumerate().filter(|(_, above)| **above == node) {
        *above = v as u32;
    }
}

/// Matches two lists of opposite signs, or concatenates lists of one sign; returns the rest.
fn merge(
    parcels: &mut [Parcel],
    mut a: ParcelList,
    mut b: ParcelList,
    moved: &mut impl FnMut(usize, usize, i128),
) -> ParcelList {
    while a.first != NONE && b.first != NONE {
        let (x, y) = (parcels[a.first as usize], parcels[b.first as usize]);
        if (x.mass > 0) == (y.mass > 0) {
            parcels[a.last as usize].next = b.first;
            return ParcelList { first: a.first, last: b.last };
        }
        let (from, to) = if x.mass > 0 { (x, y) } else { (y, x) };
        let step = from.mass.min(-to.mass);
        moved(from.node as usize, to.node as usize, step);
        for (list, parcel) in [(&mut a, x), (&mut b, y)] {
            let rest = parcel.mass - parcel.mass.signum() * step;
            parcels[list.first as usize].mass = rest;
            if rest == 0 {
                list.first = parcel.next;
            }
        }
    }
    if a.first == NONE { b } else { a }
}

/// Returns the nodes of a tree, children before parents.
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

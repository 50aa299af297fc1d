//! The reusable memory of all engines.

use std::cell::Cell;

use super::exact::edges::OnEdges;
use super::exact::integer_mass::Units;
use super::exact::line::LineOrder;
use super::exact::sweeps::SweepMemory;
use super::exact::table::Table;
use super::relax::RelaxMemory;
use super::sides::Sides;

/// Buffers of all engines; results never depend on their previous contents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    pub(super) sides: Sides,
    /// Integer masses.
    pub(super) units: Units,
    pub(super) table: Table,
    pub(super) edges: OnEdges,
    pub(super) line: LineOrder,
    pub(super) sweeps: SweepMemory,
    pub(super) relax: RelaxMemory,
}

impl Workspace {
    /// Returns whether it is small enough for a thread to keep.
    fn is_small(&self) -> bool {
        self.sides.is_small()
            && self.units.is_small()
            && self.edges.is_small()
            && self.sweeps.is_small()
            && self.line.is_small()
            && self.table.is_small()
            && self.relax.is_small()
    }
}

/// Calls `work` with the workspace of the thread, so that small problems do not allocate.
pub(super) fn lend<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    thread_local! {
        static WORKSPACE: Cell<Option<Box<Workspace>>> = Cell::default();
    }
    let mut workspace = WORKSPACE.take().unwrap_or_default();
    let result = work(&mut workspace);
    if workspace.is_small() {
        WORKSPACE.set(Some(workspace));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_of_many_points_are_not_kept() {
        let mut space = Workspace::default();
        assert!(space.is_small());
        let masses = vec![1.0; 1 << 17];
        space.units.set(&masses, &masses);
        assert!(!space.is_small());
        let left = Vec::with_capacity(1 << 18);
        let sides = Sides { left, ..Sides::default() };
        assert!(!Workspace { sides, ..Workspace::default() }.is_small());
    }
}

//! Maximum flows along all arcs up to a limit of their cost (Dinic's algorithm).

use super::sinks::SinkTree;
use crate::error::{Error, Result};

/// A flow between sources and sinks, in quanta of mass.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// Remaining supply of every source.
    supply: Vec<i128>,
    /// Unmet demand of every sink.
    demand: Vec<i128>,
    /// Total supply.
    total: i128,
    /// Sources of the flow into each sink.
    into: Vec<Vec<(u32, i128)>>,
    /// Level of each source in the residual graph, or [`UNREACHED`].
    level: Vec<u32>,
    /// Whether the last search reached a sink.
    is_reached: Vec<bool>,
}

/// The level of a source that the residual graph does not reach.
const UNREACHED: u32 = u32::MAX;
/// The tag of a sink through which nothing more flows. Levels begin with 1, and 0 is unreached.
const DEAD: u32 = u32::MAX;

impl Flow {
    pub(super) fn new([supply, demand]: &[Vec<i128>; 2]) -> Self {
        Self {
            supply: supply.clone(),
            demand: demand.clone(),
            total: supply.iter().sum(),
            into: vec![Vec::new(); demand.len()],
            level: vec![UNREACHED; supply.len()],
            is_reached: vec![false; demand.len()],
        }
    }

    /// Serves the sinks in order.
    pub(super) fn northwest(&mut self) {
        let (mut i, mut j) = (0, 0);
        while i < self.supply.len() && j < self.demand.len() {
            let flow = self.supply[i].min(self.demand[j]);
            self.push(i, j, flow);
            self.supply[i] -= flow;
            self.demand[j] -= flow;
            if self.supply[i] == 0 { i += 1 } else { j += 1 }
        }
    }

    fn push(&mut self, i: usize, j: usize, flow: i128) {
        if flow == 0 {
            return;
        }
        let into = &mut self.into[j];
        match into.iter_mut().find(|entry| entry.0 as usize == i) {
            Some(entry) => entry.1 += flow,
            None => into.push((i as u32, flow)),
        }
    }

    /// Returns all moves.
    pub(super) fn moves(&self) -> impl Iterator<Item = (usize, usize, i128)> + '_ {
        let of_sink = |(j, into)| {
            let into: &Vec<(u32, i128)> = into;
            into.iter().map(move |&(i, flow)| (i as usize, j, flow))
        };
        self.into.iter().enumerate().flat_map(of_sink).filter(|entry| entry.2 > 0)
    }

    /// Returns the largest cost of an arc with flow.
    pub(super) fn longest(&self, cost: &dyn Fn(usize, usize) -> f64) -> f64 {
        self.moves().map(|(i, j, _)| cost(i, j)).fold(0.0, f64::max)
    }

    /// Returns the sources and the sinks that the residual graph reached in the last search.
    pub(super) fn reached(&self) -> [Vec<bool>; 2] {
        let sources = self.level.iter().map(|&level| level != UNREACHED).collect();
        [sources, self.is_reached.clone()]
    }

    /// Augments the flow until it reaches a target or no path is left; returns whether it reaches
    /// the target. On failure the tags of the sinks are 0 if and only if they are unreached.
    pub(super) fn maximize(
        &mut self,
        sinks: &mut SinkTree<'_>,
        (limit, target): (f64, i128),
        keep_going: &dyn Fn() -> bool,
    ) -> Result<bool> {
        loop {
            let moved = self.total - self.supply.iter().sum::<i128>();
            if moved >= target {
                return Ok(true);
            }
            if !keep_going() {
                // The caller knows whether the deadline has passed.
                return Ok(false);
            }
            if !self.search(sinks, limit) {
                return Ok(false);
            }
            self.block(sinks, limit)?;
            self.into.iter_mut().for_each(|into| into.retain(|entry| entry.1 > 0));
        }
    }

    /// Searches the residual graph from all sources with supply, breadth first; returns whether it
    /// reaches a sink with demand.
    fn search(&mut self, sinks: &mut SinkTree<'_>, limit: f64) -> bool {
        sinks.reset();
        self.is_reached.fill(false);
        self.level.fill(UNREACHED);
        let mut queue: Vec<usize> =
            (0..self.supply.len()).filter(|&i| self.supply[i] > 0).collect();
        for &i in &queue {
            self.level[i] = 0;
        }
        let (mut next, mut is_open) = (0, false);
        while let Some(&i) = queue.get(next) {
            next += 1;
            while let Some(j) = sinks.within(i, limit, 0) {
                sinks.set_tag(j, self.level[i] + 1);
                self.is_reached[j] = true;
                is_open |= self.demand[j] > 0;
                for &(back, flow) in &self.into[j] {
                    let back = back as usize;
                    if flow > 0 && self.level[back] == UNREACHED {
                        self.level[back] = self.level[i] + 1;
                        queue.push(back);
                    }
                }
            }
        }
        is_open
    }

    /// Augments along paths of the levels until none is left.
    fn block(&mut self, sinks: &mut SinkTree<'_>, limit: f64) -> Result<()> {
        let mut next_back = vec![0; self.demand.len()];
        // Sources and sinks in turn, with the position of the flow by which each source but the
        // first was reached.
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut is_dead = vec![false; self.supply.len()];
        for root in 0..self.supply.len() {
            while self.supply[root] > 0 && !is_dead[root] {
                path.clear();
                let mut source = root;
                loop {
                    let Some(j) = sinks.within(source, limit, self.level[source] + 1) else {
                        is_dead[source] = true;
                        let Some((before, _)) = path.pop() else { break };
                        source = before;
                        continue;
                    };
                    if self.demand[j] > 0 {
                        self.augment(root, &path, (source, j))?;
                        break;
                    }
                    let level = sinks.tags[j];
                    let (into, at) = (&self.into[j], &mut next_back[j]);
                    while let Some(&(back, flow)) = into.get(*at) {
                        let back = back as usize;
                        if flow > 0 && self.level[back] == level && !is_dead[back] {
                            break;
                        }
                        *at += 1;
                    }
                    match into.get(*at) {
                        Some(&(back, _)) => {
                            path.push((source, j));
                            source = back as usize;
                        }
                        None => sinks.set_tag(j, DEAD),
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves as much as possible along a path: from each source to its sink, and back from that
    /// sink to the next source.
    fn augment(
        &mut self,
        root: usize,
        path: &[(usize, usize)],
        last: (usize, usize),
    ) -> Result<()> {
        let sources = || path.iter().map(|step| step.0).skip(1).chain([last.0]);
        let backs: Vec<(usize, usize)> = path.iter().map(|step| step.1).zip(sources()).collect();
        let mut flow = self.supply[root].min(self.demand[last.1]);
        for &(j, i) in &backs {
            let entry = self.into[j].iter().find(|entry| entry.0 as usize == i);
            flow = flow.min(entry.map_or(0, |entry| entry.1));
        }
        if flow <= 0 {
            // It cannot be: every arc of a path has room.
            return Err(Error::Unsolved { left: self.supply.len(), right: self.demand.len() });
        }
        for &(j, i) in &backs {
            if let Some(entry) = self.into[j].iter_mut().find(|entry| entry.0 as usize == i) {
                entry.1 -= flow;
            }
        }
        for &(i, j) in path.iter().chain([&last]) {
            self.push(i, j, flow);
        }
        self.supply[root] -= flow;
        self.demand[last.1] -= flow;
        Ok(())
    }
}

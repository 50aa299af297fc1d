//! Sparse flows between few and many points, in a linked list for each of the many.

/// Flows between few and many points.
#[derive(Debug, Default)]
pub(super) struct FlowLists {
    flows: Vec<Flow>,
    /// First flow of each of the many points.
    first: Vec<u32>,
    /// Free entries of `flows`.
    unused: Vec<u32>,
}

/// The flow between a few point and one of the many points.
#[derive(Clone, Copy, Debug)]
struct Flow {
    few: u32,
    next: u32,
    mass: i128,
}

const NONE: u32 = u32::MAX;

impl FlowLists {
    /// Removes all points and flows.
    pub(super) fn clear(&mut self) {
        self.flows.clear();
        self.first.clear();
        self.unused.clear();
    }

    /// Appends one of the many points with a single flow.
    pub(super) fn push(&mut self, few: usize, mass: i128) {
        self.first.push(self.flows.len() as u32);
        self.flows.push(Flow { few: few as u32, next: NONE, mass });
    }

    fn find(&self, few: usize, many: usize) -> Option<usize> {
        let mut at = self.first[many];
        while at != NONE && self.flows[at as usize].few as usize != few {
            at = self.flows[at as usize].next;
        }
        (at != NONE).then_some(at as usize)
    }

    /// Returns the flow between two points, if it is positive.
    pub(super) fn get(&self, few: usize, many: usize) -> Option<i128> {
        self.find(few, many).map(|at| self.flows[at].mass)
    }

    /// Increases a flow; returns whether it is new.
    pub(super) fn add(&mut self, few: usize, many: usize, mass: i128) -> bool {
        if let Some(at) = self.find(few, many) {
            self.flows[at].mass += mass;
            return false;
        }
        let flow = Flow { few: few as u32, next: self.first[many], mass };
        self.first[many] = if let Some(place) = self.unused.pop() {
            self.flows[place as usize] = flow;
            place
        } else {
            self.flows.push(flow);
            self.flows.len() as u32 - 1
        };
        true
    }

    /// Decreases a positive flow; returns whether it is removed, because it is now 0.
    pub(super) fn subtract(&mut self, few: usize, many: usize, mass: i128) -> bool {
        let at = self.find(few, many).expect("the flow is positive");
        self.flows[at].mass -= mass;
        if self.flows[at].mass > 0 {
            return false;
        }
        let next = self.flows[at].next;
        let mut place = self.first[many] as usize;
        if place == at {
            self.first[many] = next;
        } else {
            while self.flows[place].next as usize != at {
                place = self.flows[place].next as usize;
            }
            self.flows[place].next = next;
        }
        self.unused.push(at as u32);
        true
    }

    /// Returns few point, many point and mass of every flow.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize, i128)> + '_ {
        self.first.iter().enumerate().flat_map(|(many, &first)| {
            // The end of a list is no index of a flow.
            let flow = |at: u32| self.flows.get(at as usize);
            std::iter::successors(flow(first), move |last| flow(last.next))
                .map(move |flow| (flow.few as usize, many, flow.mass))
        })
    }
}

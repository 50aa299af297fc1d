//! Masses and costs as 128-bit integers.

use rand::RngExt;

use crate::seed::generator;

/// Masses as integers: multiples of a power of two above twice the number of sources, plus the
/// perturbation that keeps every basic flow above 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    pub(super) supply: Vec<i128>,
    pub(super) demand: Vec<i128>,
    /// A quantum of mass is 2^shift units; all perturbations together are less than half of it.
    shift: u32,
    /// A quantum of mass is 2^−exponent, and the larger total is less than 2^bits of them.
    exponent: i32,
    bits: i32,
    /// Whether every mass given is a whole number of quanta for certain.
    is_whole: bool,
}

/// From so many quanta on, a mass is a whole number of them: its last digit is worth one at least.
const WHOLE: i128 = 1 << 53;

/// Bits for units. One of the other three is the sign, one is for totals whose sum in `f64` is rounded
/// below a power of two, and one is spare.
const UNIT_BITS: i32 = 125;

/// A multiple of units that is above twice as many perturbations.
fn shift_for(perturbations: usize) -> u32 {
    (2 * perturbations + 2).next_power_of_two().ilog2()
}

/// Bits of what an arc of the first tree carries more than its mass.
const RANDOM_BITS: u32 = 20;

/// A multiple of units that is above twice what so many nodes' tree carries more.
fn tree_shift(nodes: usize) -> u32 {
    RANDOM_BITS + nodes.next_power_of_two().ilog2() + 1
}

impl Units {
    /// Converts masses; the two totals agree up to rounding, which the largest demand settles.
    pub(super) fn set(&mut self, supply: &[f64], demand: &[f64]) {
        self.count(supply, demand);
        self.settle();
    }

    /// Counts masses in quanta, as small as bits allow. They are settled once the spare ones have
    /// joined them, which may double the total.
    pub(super) fn count(&mut self, supply: &[f64], demand: &[f64]) {
        let shift = shift_for(supply.len() + 1).cast_signed();
        self.count_in(UNIT_BITS - 1 - shift, supply, demand);
    }

    fn count_in(&mut self, bits: i32, supply: &[f64], demand: &[f64]) {
        let total: f64 = supply.iter().sum::<f64>().max(demand.iter().sum());
        self.bits = bits;
        self.exponent = bits - 1 - exponent_of(total);
        let factors = factors(self.exponent);
        let mut least = i128::MAX;
        // No mass is nothing, however small.
        let mut quanta = |mass: &f64| {
            let quanta = ((mass * factors.0 * factors.1) as i128).max(1);
            least = least.min(quanta);
            quanta
        };
        self.supply.clear();
        self.supply.extend(supply.iter().map(&mut quanta));
        self.demand.clear();
        self.demand.extend(demand.iter().map(&mut quanta));
        self.is_whole = least >= WHOLE;
    }

    /// Both totals in quanta.
    pub(super) fn totals(&self) -> [i128; 2] {
        [self.supply.iter().sum(), self.demand.iter().sum()]
    }

    /// Counts masses in quanta of equal totals, for a basis that is given as a tree
    /// ([`settle_on_tree`](Self::settle_on_tree)).
    pub(super) fn count_quanta(&mut self, supply: &[f64], demand: &[f64]) {
        let shift = tree_shift(supply.len() + demand.len()).cast_signed();
        self.count_in(UNIT_BITS - 1 - shift, supply, demand);
        self.balance();
    }

    /// Perturbs so that a spanning tree is a basis: each of its arcs, whose flows are quanta and add up to
    /// the masses, carries a little more, at random and all together less than half a quantum. Then
    /// none carries nothing, and flows of later bases meet no more often than random numbers do: a step of
    /// nothing is unlikely, not impossible, and the number of pivots is limited.
    pub(super) fn settle_on_tree(&mut self, flows: &mut [(u32, u32, i128)]) {
        self.shift = tree_shift(self.supply.len() + self.demand.len());
        self.supply.fill(0);
        self.demand.fill(0);
        let mut random = generator(0);
        for (i, j, flow) in flows {
            *flow = (*flow << self.shift) + random.random_range(1..1i128 << RANDOM_BITS);
            self.supply[*i as usize] += *flow;
            self.demand[*j as usize] += *flow;
        }
    }

    /// A mass in quanta.
    pub(super) fn quanta_of(&self, mass: f64) -> i128 {
        let factors = factors(self.exponent);
        (mass * factors.0 * factors.1) as i128
    }

    /// Makes both totals equal: the largest demand takes what they differ by.
    pub(super) fn balance(&mut self) {
        let [given, taken] = self.totals();
        self.give(given - taken);
    }

    /// Makes both totals equal, and perturbs.
    pub(super) fn settle(&mut self) {
        self.balance();
        let sources = self.supply.len() as i128;
        self.shift = shift_for(self.supply.len());
        self.supply.iter_mut().for_each(|s| *s = (*s << self.shift) + 1);
        self.demand.iter_mut().for_each(|d| *d <<= self.shift);
        if let Some(last) = self.demand.last_mut() {
            *last += sources;
        }
    }

    /// How far all masses together are from the ones given: 0, unless some are far more than 14 orders
    /// of magnitude below the total.
    pub(super) fn rounded(&self, supply: &[f64], demand: &[f64]) -> f64 {
        if self.is_whole {
            return 0.0;
        }
        let (quantum, factors) = (factors(-self.exponent), factors(self.exponent));
        let lost = |mass: &f64| {
            // Exact: a mass that has digits below a quantum has none above 2^53 of them.
            let quanta = mass * factors.0 * factors.1;
            (quanta - quanta.floor().max(1.0)).abs()
        };
        // What was added to small ones was taken from others.
        2.0 * supply.iter().chain(demand).map(lost).sum::<f64>() * quantum.0 * quantum.1
    }

    /// Adds what is missing to the largest demand; takes a surplus from the largest ones.
    fn give(&mut self, mut missing: i128) {
        while missing != 0 {
            let largest = self.demand.iter_mut().max().expect("there is a sink");
            let change = missing.max(1 - *largest);
            *largest += change;
            missing -= change;
            if change == 0 {
                // All demands are one quantum: give to the largest supply instead.
                let supply = self.supply.iter_mut().max().expect("there is a source");
                *supply -= missing;
                missing = 0;
            }
        }
    }

    /// Flows as masses, the perturbation rounded away.
    pub(super) fn masses(&self) -> impl Fn(i128) -> f64 + use<> {
        self.masses_at(self.shift)
    }

    fn masses_at(&self, shift: u32) -> impl Fn(i128) -> f64 + use<> {
        let (half, factors) = (1i128 << (shift - 1), factors(-self.exponent));
        move |flow| ((flow + half) >> shift) as f64 * factors.0 * factors.1
    }

    /// Supplies and demands in quanta, without the perturbation.
    pub(super) fn quanta(
        &self,
    ) -> (impl Iterator<Item = i128> + '_, impl Iterator<Item = i128> + '_) {
        let whole = |mass: &i128| mass >> self.shift;
        (self.supply.iter().map(whole), self.demand.iter().map(whole))
    }

    /// A quantum as a mass.
    pub(super) fn quantum(&self) -> impl Fn(i128) -> f64 + use<> {
        let factors = factors(-self.exponent);
        move |quanta| quanta as f64 * factors.0 * factors.1
    }

    /// What the nodes of a graph have to give away, and what flows there mean as masses.
    ///
    /// Perturbed anew: every node but one gives one unit more, so that no set of nodes without that
    /// one balances. Where that takes more bits than there are, `masses` are counted again in larger
    /// quanta.
    pub(super) fn on_nodes(
        &mut self,
        (left, right, root): (&[usize], &[usize], usize),
        masses: [&[f64]; 2],
        out: &mut [i128],
    ) -> impl Fn(i128) -> f64 + use<> {
        let nodes = out.len();
        let shift = shift_for(nodes);
        let most = UNIT_BITS - shift.cast_signed();
        if self.bits > most {
            self.count_in(most, masses[0], masses[1]);
            self.settle();
        }
        out.fill(1);
        out[root] -= nodes as i128;
        let (supply, demand) = self.quanta();
        left.iter().zip(supply).for_each(|(&v, mass)| out[v] += mass << shift);
        right.iter().zip(demand).for_each(|(&v, mass)| out[v] -= mass << shift);
        self.masses_at(shift)
    }
}

/// Costs as integers: c·2^exponent, rounded down.
#[derive(Clone, Debug, Default)]
pub(super) struct CostUnits {
    exponent: i32,
}

impl CostUnits {
    /// As fine as 128 bits allow: a dual value is a sum of at most `nodes` costs, with room for two
    /// more.
    pub(super) fn new(largest: f64, nodes: usize) -> Self {
        Self { exponent: 122 - nodes.ilog2().cast_signed() - exponent_of(largest) }
    }

    /// A cost in units, rounded down; nothing is lost unless costs are more than twenty orders
    /// apart.
    pub(super) fn integer(&self, cost: f64) -> i128 {
        scaled(cost, self.exponent).floor() as i128
    }

    /// The cost that an integer stands for.
    pub(super) fn real(&self, value: i128) -> f64 {
        scaled(value as f64, -self.exponent)
    }
}

/// e with 2^e ≤ x < 2^(e+1); 0 for 0.
pub(in crate::solve) fn exponent_of(x: f64) -> i32 {
    if x >= f64::MIN_POSITIVE {
        // What the bits of a normal number say.
        return (x.to_bits() >> 52) as i32 - 1023;
    }
    if x > 0.0 { x.log2().floor() as i32 } else { 0 }
}

/// Two numbers whose product is 2^e, neither of which overflows.
pub(in crate::solve) fn factors(e: i32) -> (f64, f64) {
    (power_of_two(e / 2), power_of_two(e - e / 2))
}

/// 2^e.
fn power_of_two(e: i32) -> f64 {
    if (-1022..=1023).contains(&e) {
        return f64::from_bits(((e + 1023) as u64) << 52);
    }
    2f64.powi(e)
}

/// x·2^e.
fn scaled(x: f64, e: i32) -> f64 {
    let factors = factors(e);
    x * factors.0 * factors.1
}

//! Masses and costs as 128-bit integers.

use rand::RngExt;

use crate::numeric::seed::generator;

/// Masses as integers, with the perturbation that keeps every basic flow above 0.
///
/// A mass is a multiple of a *quantum*, a power of two as a real number. A quantum consists of
/// 2^shift *units*, more than twice the number of sources; a perturbation is a few units.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct Units {
    pub(in crate::solve) supply: Vec<i128>,
    pub(in crate::solve) demand: Vec<i128>,
    /// Logarithm of the units in a quantum, which exceeds twice the sum of all perturbations.
    shift: u32,
    /// Negative logarithm of a quantum as a mass.
    exponent: i32,
    /// Logarithm of a number of quanta above the larger total.
    bits: i32,
    /// Whether every mass is certainly a whole number of quanta.
    is_integer: bool,
}

/// Fewest quanta of a mass for which its last bit is at least one quantum.
const WHOLE: i128 = 1 << 53;

/// Bits for units: the others are the sign, one for rounded totals, and a spare one.
const UNIT_BITS: i32 = 125;

/// Returns the shift for which a quantum exceeds twice this many perturbations of one unit.
fn shift_for(perturbations: usize) -> u32 {
    (2 * perturbations + 2).next_power_of_two().ilog2()
}

/// Bits of the random perturbation of an arc in [`Units::perturb_tree`].
const RANDOM_BITS: u32 = 20;

/// Returns the shift for which a quantum exceeds twice all random perturbations of a tree.
fn tree_shift(nodes: usize) -> u32 {
    RANDOM_BITS + nodes.next_power_of_two().ilog2() + 1
}

impl Units {
    /// Returns whether it is small enough for a thread to keep.
    pub(in crate::solve) fn is_small(&self) -> bool {
        self.supply.capacity() + self.demand.capacity() <= super::MOST_KEPT
    }

    /// Converts masses, balances their totals and perturbs them.
    pub(in crate::solve) fn set(&mut self, supply: &[f64], demand: &[f64]) {
        self.quantize(supply, demand);
        self.balance_and_perturb();
    }

    /// Converts masses to the smallest quanta that the bits allow. One bit is left for spare
    /// masses, which may double the total before
    /// [`balance_and_perturb`](Self::balance_and_perturb).
    pub(in crate::solve) fn quantize(&mut self, supply: &[f64], demand: &[f64]) {
        let shift = shift_for(supply.len() + 1).cast_signed();
        self.quantize_to(UNIT_BITS - 1 - shift, supply, demand);
    }

    fn quantize_to(&mut self, bits: i32, supply: &[f64], demand: &[f64]) {
        let total: f64 = supply.iter().sum::<f64>().max(demand.iter().sum());
        self.bits = bits;
        self.exponent = bits - 1 - exponent_of(total);
        let factors = factors(self.exponent);
        let mut least = i128::MAX;
        // The smallest mass is one quantum, not 0.
        let mut quanta = |mass: &f64| {
            let quanta = ((mass * factors.0 * factors.1) as i128).max(1);
            least = least.min(quanta);
            quanta
        };
        self.supply.clear();
        self.supply.extend(supply.iter().map(&mut quanta));
        self.demand.clear();
        self.demand.extend(demand.iter().map(&mut quanta));
        self.is_integer = least >= WHOLE;
    }

    /// Returns both totals in quanta.
    pub(in crate::solve) fn totals(&self) -> [i128; 2] {
        [self.supply.iter().sum(), self.demand.iter().sum()]
    }

    /// Converts masses to quanta with equal totals, for [`perturb_tree`](Self::perturb_tree).
    pub(in crate::solve) fn quantize_balanced(&mut self, supply: &[f64], demand: &[f64]) {
        let shift = tree_shift(supply.len() + demand.len()).cast_signed();
        self.quantize_to(UNIT_BITS - 1 - shift, supply, demand);
        self.balance();
    }

    /// Perturbs masses so that a given spanning tree is a nondegenerate basis.
    ///
    /// The flows of its arcs are quanta and add up to the masses. Each gets a few random units
    /// more, all together less than half a quantum, so none is 0. In later bases a flow of 0 has
    /// the probability of a collision of random numbers: degenerate pivots are unlikely but
    /// possible, and the number of pivots is limited.
    pub(in crate::solve) fn perturb_tree(&mut self, flows: &mut [(u32, u32, i128)]) {
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

    /// Converts a mass to quanta.
    pub(in crate::solve) fn quanta_of(&self, mass: f64) -> i128 {
        let factors = factors(self.exponent);
        (mass * factors.0 * factors.1) as i128
    }

    /// Adds the difference of the totals to the largest demand.
    pub(in crate::solve) fn balance(&mut self) {
        let [supply, demand] = self.totals();
        self.add_demand(supply - demand);
    }

    /// Balances and perturbs: each supply gets one unit more, the last demand all of these.
    pub(in crate::solve) fn balance_and_perturb(&mut self) {
        self.balance();
        let sources = self.supply.len() as i128;
        self.shift = shift_for(self.supply.len());
        self.supply.iter_mut().for_each(|s| *s = (*s << self.shift) + 1);
        self.demand.iter_mut().for_each(|d| *d <<= self.shift);
        if let Some(last) = self.demand.last_mut() {
            *last += sources;
        }
    }

    /// Returns the total rounding error: 0 for masses above about 10⁻¹⁴ of the total.
    pub(in crate::solve) fn rounded(&self, supply: &[f64], demand: &[f64]) -> f64 {
        if self.is_integer {
            return 0.0;
        }
        let (quantum, factors) = (factors(-self.exponent), factors(self.exponent));
        let lost = |mass: &f64| {
            // Exact: a mass with digits below a quantum is less than 2^53 quanta.
            let quanta = mass * factors.0 * factors.1;
            (quanta - quanta.floor().max(1.0)).abs()
        };
        // Mass that is added to small masses is subtracted from others.
        2.0 * supply.iter().chain(demand).map(lost).sum::<f64>() * quantum.0 * quantum.1
    }

    /// Adds missing quanta to the largest demand, or subtracts a surplus from the largest demands.
    fn add_demand(&mut self, mut missing: i128) {
        while missing != 0 {
            let largest = self.demand.iter_mut().max().expect("there is a sink");
            let change = missing.max(1 - *largest);
            *largest += change;
            missing -= change;
            if change == 0 {
                // All demands are one quantum: add the surplus to the largest supply instead.
                let supply = self.supply.iter_mut().max().expect("there is a source");
                *supply -= missing;
                missing = 0;
            }
        }
    }

    /// Returns the conversion of flows to masses, which rounds off the perturbation.
    pub(in crate::solve) fn masses(&self) -> impl Fn(i128) -> f64 + use<> {
        self.masses_at(self.shift)
    }

    fn masses_at(&self, shift: u32) -> impl Fn(i128) -> f64 + use<> {
        let (half, factors) = (1i128 << (shift - 1), factors(-self.exponent));
        move |flow| ((flow + half) >> shift) as f64 * factors.0 * factors.1
    }

    /// Returns supplies and demands in quanta, without the perturbation.
    pub(in crate::solve) fn quanta(
        &self,
    ) -> (impl Iterator<Item = i128> + '_, impl Iterator<Item = i128> + '_) {
        let whole = |mass: &i128| mass >> self.shift;
        (self.supply.iter().map(whole), self.demand.iter().map(whole))
    }

    /// Returns the conversion of quanta to masses.
    pub(in crate::solve) fn quantum(&self) -> impl Fn(i128) -> f64 + use<> {
        let factors = factors(-self.exponent);
        move |quanta| quanta as f64 * factors.0 * factors.1
    }

    /// Computes the supplies of all nodes (demands are negative); returns the conversion of flows
    /// to masses.
    ///
    /// The perturbation is another one: every node except the root supplies one unit more, so that
    /// no set of nodes without the root balances. If that takes too many bits, `masses` are
    /// converted to larger quanta.
    pub(in crate::solve) fn on_nodes(
        &mut self,
        (left, right, root): (&[usize], &[usize], usize),
        masses: [&[f64]; 2],
        out: &mut [i128],
    ) -> impl Fn(i128) -> f64 + use<> {
        let nodes = out.len();
        let shift = shift_for(nodes);
        let most = UNIT_BITS - shift.cast_signed();
        if self.bits > most {
            self.quantize_to(most, masses[0], masses[1]);
            self.balance_and_perturb();
        }
        out.fill(1);
        out[root] -= nodes as i128;
        let (supply, demand) = self.quanta();
        left.iter().zip(supply).for_each(|(&v, mass)| out[v] += mass << shift);
        right.iter().zip(demand).for_each(|(&v, mass)| out[v] -= mass << shift);
        self.masses_at(shift)
    }
}

/// The conversion of costs to integers: c·2^exponent, rounded down.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct CostUnits {
    exponent: i32,
}

impl CostUnits {
    /// Chooses the finest unit for 128 bits: a dual value is a sum of at most `nodes` costs.
    pub(in crate::solve) fn new(largest: f64, nodes: usize) -> Self {
        Self { exponent: 122 - nodes.ilog2().cast_signed() - exponent_of(largest) }
    }

    /// Converts a cost, rounded down; exact for costs within twenty orders of magnitude.
    pub(in crate::solve) fn integer(&self, cost: f64) -> i128 {
        scaled(cost, self.exponent).floor() as i128
    }

    /// Converts an integer back to a cost.
    pub(in crate::solve) fn real(&self, value: i128) -> f64 {
        scaled(value as f64, -self.exponent)
    }
}

/// Returns e with 2^e ≤ x < 2^(e+1), or 0 for 0.
pub(in crate::solve) fn exponent_of(x: f64) -> i32 {
    if x >= f64::MIN_POSITIVE {
        // The exponent bits of a normal number.
        return (x.to_bits() >> 52) as i32 - 1023;
    }
    if x > 0.0 { x.log2().floor() as i32 } else { 0 }
}

/// Returns two powers of two with the product 2^e, neither of which overflows.
pub(in crate::solve) fn factors(e: i32) -> (f64, f64) {
    (power_of_two(e / 2), power_of_two(e - e / 2))
}

/// Returns 2^e.
fn power_of_two(e: i32) -> f64 {
    if (-1022..=1023).contains(&e) {
        return f64::from_bits(((e + 1023) as u64) << 52);
    }
    2f64.powi(e)
}

/// Returns x·2^e.
fn scaled(x: f64, e: i32) -> f64 {
    let factors = factors(e);
    x * factors.0 * factors.1
}

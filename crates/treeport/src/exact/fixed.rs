//! Masses and costs as 128-bit integers.

/// Masses as integers: multiples of twice as many units as there are sources and one, plus the
/// perturbation that keeps every basic flow above 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    pub(super) supply: Vec<i128>,
    pub(super) demand: Vec<i128>,
    /// Units in one quantum of mass; all perturbations together are less than half of it.
    multiple: i128,
    /// A quantum of mass is 2^−exponent.
    exponent: i32,
}

/// Bits for the total mass in quanta: 24 more are left for the multiple, and the sign.
const MASS_BITS: i32 = 100;

impl Units {
    /// Converts masses; the two totals agree up to rounding, which the largest demand settles.
    pub(super) fn set(&mut self, supply: &[f64], demand: &[f64]) {
        let total: f64 = supply.iter().sum::<f64>().max(demand.iter().sum());
        self.exponent = MASS_BITS - 1 - exponent_of(total);
        let sources = supply.len() as i128;
        self.multiple = 2 * (sources + 1);
        let quanta = |mass: &f64| (scaled(*mass, self.exponent).round() as i128).max(1);
        self.supply.clear();
        self.supply.extend(supply.iter().map(quanta));
        self.demand.clear();
        self.demand.extend(demand.iter().map(quanta));
        let missing = self.supply.iter().sum::<i128>() - self.demand.iter().sum::<i128>();
        self.settle(missing);
        self.supply.iter_mut().for_each(|s| *s = *s * self.multiple + 1);
        self.demand.iter_mut().for_each(|d| *d *= self.multiple);
        if let Some(last) = self.demand.last_mut() {
            *last += sources;
        }
    }

    /// Adds what is missing to the largest demand; takes a surplus from the largest ones.
    fn settle(&mut self, mut missing: i128) {
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

    /// A flow as a mass, the perturbation rounded away.
    pub(super) fn mass(&self, flow: i128) -> f64 {
        let quanta = (flow + self.multiple / 2).div_euclid(self.multiple);
        scaled(quanta as f64, -self.exponent)
    }
}

/// Costs as integers: c·2^exponent, rounded.
pub(super) struct CostUnits {
    exponent: i32,
}

impl CostUnits {
    /// As fine as 128 bits allow: a dual value is a sum of at most `nodes` costs, with room for two more.
    pub(super) fn new(largest: f64, nodes: usize) -> Self {
        Self { exponent: 122 - nodes.ilog2().cast_signed() - exponent_of(largest) }
    }

    pub(super) fn integers(&self, cost: &[f64]) -> Vec<i128> {
        cost.iter().map(|&c| scaled(c, self.exponent).round() as i128).collect()
    }

    /// The cost that an integer stands for.
    pub(super) fn real(&self, value: i128) -> f64 {
        scaled(value as f64, -self.exponent)
    }
}

/// e with 2^e ≤ x < 2^(e+1); 0 for 0.
fn exponent_of(x: f64) -> i32 {
    if x > 0.0 { x.log2().floor() as i32 } else { 0 }
}

/// x·2^e, in two steps so that neither factor overflows.
fn scaled(x: f64, e: i32) -> f64 {
    x * 2f64.powi(e / 2) * 2f64.powi(e - e / 2)
}

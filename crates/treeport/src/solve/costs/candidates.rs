//! Candidate lists: the sinks of least cost + price of one source, collected block by block.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

/// Sinks of a block, one per lane.
pub(in crate::solve) const LANES: usize = 32;

/// One number for each lane of a block.
pub(in crate::solve) type Lanes = [[f32; 8]; LANES / 8];

/// Price of sinks without mass, and coordinates and costs of padding lanes, which no scan returns.
pub(in crate::solve) const CLOSED: f32 = 1e30;

/// Sum of cost and price from which a sink counts as [`CLOSED`].
pub(super) const BEYOND: f32 = CLOSED / 2.0;

/// Prices of the sinks of a cost source.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct Prices {
    /// Prices, padded to whole blocks.
    pub(in crate::solve) of: Vec<f32>,
    /// Lower bounds that the cost source keeps for groups of sinks, such as the nodes of a tree.
    /// Prices only rise, so old bounds stay valid.
    pub(super) least: Vec<f32>,
}

impl Prices {
    pub(super) fn padded(mut of: Vec<f32>) -> Self {
        of.resize(of.len().next_multiple_of(LANES), CLOSED);
        Self { of, least: Vec::new() }
    }
}

/// Query for the sinks of least cost + price + noise.
#[derive(Clone, Copy)]
pub(in crate::solve) struct Query<'a> {
    pub(in crate::solve) prices: &'a Prices,
    /// Largest number of sinks to return.
    pub(in crate::solve) most: usize,
    /// Largest noise, which is random for every pair.
    pub(in crate::solve) noise: f32,
}

/// Candidate list of a source: its sinks of least cost + price + noise, and a lower bound for all
/// others.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct Candidates {
    /// Keys that encode values and sinks in sorting order; the first `count` are valid.
    keys: Vec<u64>,
    count: usize,
    /// Costs of the sinks, if a device has computed them.
    pub(in crate::solve) costs: Vec<f32>,
    /// Lower bound of cost + price + noise of all other sinks.
    pub(in crate::solve) limit: f32,
    most: usize,
    noise: f32,
    row: usize,
}

/// Entry of a candidate list.
#[derive(Clone, Copy, Debug)]
pub(in crate::solve) struct Candidate {
    /// Cost + price + noise.
    pub(in crate::solve) value: f32,
    pub(in crate::solve) sink: u32,
}

/// Returns a key that sorts by value, and among equal values by sink.
#[inline(always)]
pub(in crate::solve) fn key(value: f32, sink: u32) -> u64 {
    let bits = value.to_bits();
    let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
    u64::from(bits ^ flip) << 32 | u64::from(sink)
}

/// Returns the value of a key.
pub(in crate::solve) fn value_of(key: u64) -> f32 {
    let bits = (key >> 32) as u32;
    f32::from_bits(bits ^ if bits >> 31 == 1 { 1 << 31 } else { u32::MAX })
}

impl Candidates {
    /// Returns the entries in unspecified order.
    pub(in crate::solve) fn entries(&self) -> impl ExactSizeIterator<Item = Candidate> + '_ {
        self.keys[..self.count].iter().map(|&k| Candidate { value: value_of(k), sink: k as u32 })
    }

    /// Creates a list from sinks with their costs and prices, and a lower bound for all others.
    pub(super) fn listed(sinks: impl Iterator<Item = (u32, f32, f32)>, limit: f32) -> Self {
        let keys = sinks.map(|(sink, cost, price)| (key(cost + price, sink), cost));
        let (keys, costs): (Vec<_>, Vec<_>) = keys.unzip();
        let (count, limit) = (keys.len(), limit.min(BEYOND));
        Self { keys, count, costs, limit, ..Self::default() }
    }

    /// Creates a list without sinks and without a bound.
    pub(super) fn unknown() -> Self {
        Self { limit: f32::NEG_INFINITY, ..Self::default() }
    }

    /// Adds a sink and keeps at most `most`.
    pub(super) fn add(&mut self, (sink, cost, price): (u32, f32, f32), most: usize) {
        let key = key(cost + price, sink);
        if value_of(key) >= self.limit {
            return;
        }
        if self.count < most {
            self.keys.truncate(self.count);
            self.keys.push(key);
            self.count += 1;
            if !self.costs.is_empty() {
                self.costs.push(cost);
            }
            return;
        }
        let last = self.keys[..self.count].iter().enumerate().max_by_key(|(_, key)| **key);
        let Some((at, &dropped)) = last else { return };
        let dropped = dropped.max(key);
        self.limit = value_of(dropped);
        if dropped != key {
            self.keys[at] = key;
            if let Some(of_sink) = self.costs.get_mut(at) {
                *of_sink = cost;
            }
        }
    }

    /// Starts the search for a source.
    pub(super) fn begin(&mut self, row: u32, query: &Query<'_>) {
        (self.limit, self.most) = (BEYOND, query.most);
        (self.row, self.noise) = (row as usize, query.noise);
        self.count = 0;
        self.keys.clear();
        self.keys.resize(2 * query.most + LANES, 0);
    }

    /// Adds the sinks of a block whose cost + price + noise is below the limit; `cost` returns the
    /// cost of one lane of one group of eight.
    ///
    /// The caller's `cost` takes roots in this loop, together with the prices: in a loop before it,
    /// compilers no longer keep all sums of the caller in wide registers, and scans of many
    /// dimensions take 1.3 times as long.
    #[inline(always)]
    pub(super) fn offer(
        &mut self,
        block: usize,
        prices: &Prices,
        cost: impl Fn(usize, usize) -> f32,
    ) {
        let noise = &NOISE[(self.row * 37 + block * 11) % NOISE.len()];
        let mut value = [[0.0; 8]; LANES / 8];
        let mut least = [f32::INFINITY; 8];
        for at in 0..LANES / 8 {
            let prices = &prices.of.as_chunks::<8>().0[block * (LANES / 8) + at];
            for lane in 0..8 {
                value[at][lane] = cost(at, lane) + prices[lane] + noise[at][lane] * self.noise;
                let lower = value[at][lane] < least[lane];
                least[lane] = if lower { value[at][lane] } else { least[lane] };
            }
        }
        let mut any = false;
        for least in least {
            any |= least < self.limit;
        }
        if any {
            self.take(block, &value);
        }
    }

    /// Appends the entries of a block below the limit, without an unpredictable branch.
    #[inline(always)]
    fn take(&mut self, block: usize, value: &Lanes) {
        let (keys, mut taken) = (&mut self.keys[self.count..][..LANES], 0);
        for lane in 0..LANES {
            let value = value[lane / 8][lane % 8];
            keys[taken % LANES] = key(value, (block * LANES + lane) as u32);
            taken += usize::from(value < self.limit);
        }
        self.count += taken;
        if self.count >= 2 * self.most {
            self.cut();
        }
    }

    /// Keeps the `most` least entries; of equal ones the first stay.
    pub(super) fn cut(&mut self) {
        if self.count > self.most {
            let (_, next, _) = self.keys[..self.count].select_nth_unstable(self.most);
            self.limit = value_of(*next);
            self.count = self.most;
        }
    }
}

/// Random noise below 1.
static NOISE: [Lanes; 256] = {
    let mut out = [[[0.0; 8]; LANES / 8]; 256];
    let (mut k, mut state) = (0, 0x9e37_79b9_7f4a_7c15u64);
    while k < 256 * LANES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out[k / LANES][k % LANES / 8][k % 8] = (state >> 40) as f32 / (1u64 << 24) as f32;
        k += 1;
    }
    out
};

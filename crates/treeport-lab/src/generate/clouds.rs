//! Random clouds: measures with their own points.

use rand::RngExt;
use treeport::{Clouds, Result};

use super::{Random, normal};

/// Clouds that are appended point by point.
#[derive(Default)]
pub(super) struct Stack {
    coordinates: Vec<f64>,
    masses: Vec<f64>,
    start: Vec<usize>,
}

impl Stack {
    pub(super) fn push(&mut self, mass: f64, at: &[f64]) {
        self.masses.push(mass);
        self.coordinates.extend_from_slice(at);
    }

    pub(super) fn end_cloud(&mut self) {
        self.start.push(self.masses.len());
    }

    pub(super) fn finish(mut self, dim: usize) -> Result<Clouds> {
        self.start.insert(0, 0);
        Ok(Clouds::new(dim, self.coordinates, &self.start, &self.masses)?.normalized())
    }
}

/// Draws an index by weights.
pub(super) fn one_of(weights: &[f64], rng: &mut Random) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let place = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    place.unwrap_or(weights.len() - 1)
}

/// Draws jets of 20 to 80 particles in the plane, centered: one to three prongs, with hard
/// particles closer to the axis than soft ones; a few particles have most of the momentum. No other
/// physics is simulated.
pub fn jets(count: usize, rng: &mut Random) -> Result<Clouds> {
    let mut stack = Stack::default();
    for _ in 0..count {
        let prongs = rng.random_range(1..4);
        let axes: Vec<[f64; 2]> =
            (0..prongs).map(|_| [0.25 * normal(rng), 0.25 * normal(rng)]).collect();
        let weights: Vec<f64> = (0..prongs).map(|_| 0.2 + rng.random::<f64>()).collect();
        let particles: Vec<(f64, [f64; 2])> = (0..rng.random_range(20..81))
            .map(|_| {
                let axis = axes[one_of(&weights, rng)];
                let root = -(1.0 - rng.random::<f64>()).ln();
                let width = 0.08 / (0.3 + root).sqrt();
                (root * root, axis.map(|at| at + width * normal(rng)))
            })
            .collect();
        let total: f64 = particles.iter().map(|of| of.0).sum();
        let center = [0, 1].map(|k| particles.iter().map(|of| of.0 * of.1[k]).sum::<f64>() / total);
        for (momentum, at) in particles {
            stack.push(momentum, &[at[0] - center[0], at[1] - center[1]]);
        }
        stack.end_cloud();
    }
    stack.finish(2)
}

/// Draws images of ten kinds as 33 points of equal mass: a line of four noisy strokes.
pub fn images(count: usize, rng: &mut Random) -> Result<Clouds> {
    const POINTS: usize = 33;
    let around =
        |center: &[f64; 2], width: f64, rng: &mut Random| center.map(|at| at + width * normal(rng));
    let kinds: Vec<Vec<[f64; 2]>> = (0..10)
        .map(|_| (0..5).map(|_| [8.0 * rng.random::<f64>(), 8.0 * rng.random::<f64>()]).collect())
        .collect();
    let mut stack = Stack::default();
    for image in 0..count {
        let corners: Vec<[f64; 2]> =
            kinds[image % 10].iter().map(|corner| around(corner, 0.6, rng)).collect();
        for point in 0..POINTS {
            let along = point as f64 / POINTS as f64 * 4.0;
            let (stroke, rest) = (along as usize, along.fract());
            let [from, to] = [corners[stroke], corners[stroke + 1]];
            let at = [0, 1].map(|k| from[k] * (1.0 - rest) + to[k] * rest);
            stack.push(1.0, &around(&at, 0.1, rng));
        }
        stack.end_cloud();
    }
    stack.finish(2)
}

/// Draws samples of 100 cells in R¹⁰ of eight types, whose shares differ between samples.
pub fn cells(count: usize, rng: &mut Random) -> Result<Clouds> {
    const DIM: usize = 10;
    let types: Vec<[f64; DIM]> = (0..8).map(|_| [0.0; DIM].map(|_| 2.0 * normal(rng))).collect();
    let mut stack = Stack::default();
    for _ in 0..count {
        let shares: Vec<f64> = types.iter().map(|_| -(1.0 - rng.random::<f64>()).ln()).collect();
        for _ in 0..100 {
            let center = types[one_of(&shares, rng)];
            stack.push(1.0, &center.map(|at| at + normal(rng)));
        }
        stack.end_cloud();
    }
    stack.finish(DIM)
}

#[cfg(test)]
mod tests {
    use super::super::seeded;
    use super::*;

    #[test]
    fn clouds_are_as_they_are_said_to_be() {
        let sizes = |clouds: &Clouds| -> Vec<usize> {
            clouds.measures().iter().map(|row| row.support().len()).collect()
        };
        let jets = jets(40, &mut seeded(0)).unwrap();
        assert!(jets.dim() == 2 && sizes(&jets).iter().all(|size| (20..=80).contains(size)));
        let images = images(12, &mut seeded(0)).unwrap();
        assert!(images.dim() == 2 && sizes(&images) == [33; 12]);
        let cells = cells(3, &mut seeded(0)).unwrap();
        assert!(cells.dim() == 10 && sizes(&cells) == [100; 3]);
    }
}

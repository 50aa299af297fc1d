//! Families of clouds with parameters, to judge estimates on clouds that differ from those of the
//! labels.

use rand::RngExt;
use treeport::{Clouds, Result};

use super::clouds::{Stack, one_of};
use super::{Random, normal};

/// A family of clouds.
#[derive(Clone, Copy, Debug)]
pub struct CloudFamily {
    /// Name of the family.
    pub name: &'static str,
    /// Draws the first number of clouds as they are, and the second with other parameters.
    pub draw: fn([usize; 2], &mut Random) -> Result<Clouds>,
}

/// The families.
pub const FAMILIES: [CloudFamily; 4] = [
    CloudFamily { name: "jets", draw: jets },
    CloudFamily { name: "shapes", draw: shapes },
    CloudFamily { name: "cells", draw: |counts, rng| cells(counts, [100, 300], rng) },
    CloudFamily { name: "patients", draw: |counts, rng| cells(counts, [500, 4_000], rng) },
];

/// Draws the clouds of both kinds, one after the other, from the same stack.
fn both(
    counts: [usize; 2],
    dim: usize,
    rng: &mut Random,
    mut cloud: impl FnMut(bool, &mut Stack, &mut Random),
) -> Result<Clouds> {
    let mut stack = Stack::default();
    for (count, other) in counts.into_iter().zip([false, true]) {
        for _ in 0..count {
            cloud(other, &mut stack, rng);
            stack.end_cloud();
        }
    }
    stack.finish(dim)
}

/// Draws an exponential number.
fn exponential(rng: &mut Random) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// Draws from a gamma distribution of a shape below 1 (Ahrens, Dieter 1974).
fn gamma(shape: f64, rng: &mut Random) -> f64 {
    let e = 1.0 + shape / std::f64::consts::E;
    loop {
        let p = e * rng.random::<f64>();
        let draw = if p <= 1.0 { p.powf(1.0 / shape) } else { -((e - p) / shape).ln() };
        let odds = if p <= 1.0 { (-draw).exp() } else { draw.powf(shape - 1.0) };
        if rng.random::<f64>() <= odds {
            return draw;
        }
    }
}

/// Draws from a Laplace distribution.
fn laplace(rng: &mut Random) -> f64 {
    if rng.random::<bool>() { exponential(rng) } else { -exponential(rng) }
}

/// Draws centered jets in the plane: 20 to 79 particles around one to three prongs; others are
/// wider, with 60 to 150 particles.
fn jets(counts: [usize; 2], rng: &mut Random) -> Result<Clouds> {
    both(counts, 2, rng, |other, stack, rng| {
        let particles = if other { rng.random_range(60..150) } else { rng.random_range(20..80) };
        let (apart, width) = if other { (0.35, 0.08) } else { (0.3, 0.06) };
        let prongs: Vec<[f64; 2]> = (0..rng.random_range(1..4))
            .map(|_| [apart * normal(rng), apart * normal(rng)])
            .collect();
        let middle = [0, 1].map(|k| prongs.iter().map(|p| p[k]).sum::<f64>() / prongs.len() as f64);
        let shares: Vec<f64> = prongs.iter().map(|_| exponential(rng) + exponential(rng)).collect();
        let drawn: Vec<(f64, [f64; 2])> = (0..particles)
            .map(|_| {
                let prong = prongs[one_of(&shares, rng)];
                let at = [0, 1].map(|k| prong[k] - middle[k] + width * laplace(rng));
                (gamma(0.4, rng), at)
            })
            .collect();
        let total: f64 = drawn.iter().map(|of| of.0).sum();
        let center = [0, 1].map(|k| drawn.iter().map(|of| of.0 * of.1[k]).sum::<f64>() / total);
        for (mass, at) in drawn {
            stack.push(mass, &[at[0] - center[0], at[1] - center[1]]);
        }
    })
}

/// Draws surfaces in R³ as 200 points: spheres, cubes, tori and tubes, rotated and stretched;
/// others have 120 points and are stretched more.
fn shapes(counts: [usize; 2], rng: &mut Random) -> Result<Clouds> {
    both(counts, 3, rng, |other, stack, rng| {
        let kind = rng.random_range(0..4);
        let turn = rotation(rng);
        let range = if other { 0.5..1.8 } else { 0.6..1.4 };
        let stretch = [(); 3].map(|()| rng.random_range(range.clone()));
        for _ in 0..if other { 120 } else { 200 } {
            let point = on_surface(kind, rng);
            let turned: [f64; 3] =
                std::array::from_fn(|k| (0..3).map(|l| point[l] * turn[l][k]).sum());
            stack.push(1.0, &std::array::from_fn::<f64, 3, _>(|k| turned[k] * stretch[k]));
        }
    })
}

fn on_surface(kind: usize, rng: &mut Random) -> [f64; 3] {
    let angle = |rng: &mut Random| std::f64::consts::TAU * rng.random::<f64>();
    match kind {
        0 => {
            let u = [(); 3].map(|()| normal(rng));
            let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
            u.map(|x| x / length)
        }
        1 => {
            let mut u = [(); 3].map(|()| rng.random_range(-1.0..1.0));
            u[rng.random_range(0..3)] = if rng.random::<bool>() { 1.0 } else { -1.0 };
            u
        }
        2 => {
            let (a, b) = (angle(rng), angle(rng));
            let radius = 1.0 + 0.3 * b.cos();
            [radius * a.cos(), radius * a.sin(), 0.3 * b.sin()]
        }
        _ => {
            let a = angle(rng);
            [0.4 * a.cos(), 0.4 * a.sin(), rng.random_range(-1.0..1.0)]
        }
    }
}

/// Draws a rotation by a random quaternion.
fn rotation(rng: &mut Random) -> [[f64; 3]; 3] {
    let q = [(); 4].map(|()| normal(rng));
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [w, x, y, z] = q.map(|x| x / length);
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

/// Draws samples of cells in R³⁰: twelve types, whose shares differ between samples, and a shift of
/// each sample; others have fewer types each, more noise and larger shifts.
fn cells(counts: [usize; 2], sizes: [usize; 2], rng: &mut Random) -> Result<Clouds> {
    const DIM: usize = 30;
    let types: Vec<[f64; DIM]> = (0..12).map(|_| [(); DIM].map(|()| 2.0 * normal(rng))).collect();
    both(counts, DIM, rng, |other, stack, rng| {
        let (shape, noise, shift) = if other { (0.5, 0.7, 0.4) } else { (1.0, 0.6, 0.3) };
        let shares: Vec<f64> = types
            .iter()
            .map(|_| if shape < 1.0 { gamma(shape, rng) } else { exponential(rng) })
            .collect();
        let shift = [(); DIM].map(|()| shift * normal(rng));
        for _ in 0..rng.random_range(sizes[0]..sizes[1]) {
            let center = types[one_of(&shares, rng)];
            stack.push(
                1.0,
                &std::array::from_fn::<f64, DIM, _>(|k| center[k] + shift[k] + noise * normal(rng)),
            );
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::seeded;
    use super::*;

    #[test]
    fn every_family_draws_both_kinds() {
        for family in FAMILIES.iter().filter(|of| of.name != "patients") {
            let clouds = (family.draw)([5, 4], &mut seeded(0)).unwrap();
            assert_eq!(clouds.len(), 9, "{}", family.name);
            let wide = |cloud: usize| {
                clouds.coordinates_of(cloud).iter().fold(0.0, |most: f64, x| most.max(x.abs()))
            };
            assert!((0..9).all(|cloud| (0.05..20.0).contains(&wide(cloud))), "{}", family.name);
        }
    }
}

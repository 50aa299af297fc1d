//! Maps of the space to lines, along directions or by the distance from landmarks.
//!
//! No map increases a distance. Directions u with dual norm 1 have |⟨x, u⟩ − ⟨y, u⟩| ≤ ‖x − y‖,
//! which on a sphere is the chord; landmarks l have |d(x, l) − d(y, l)| ≤ d(x, y). W₁ of two clouds
//! on a line is therefore a lower bound of their W₁.

use rand::RngExt;

use crate::build::normals;
use crate::metric::Norm;
use crate::numeric::seed::Random;
use crate::space::Space;

/// Number of lines; twice as many gain less than 5 %.
const LINES: usize = 32;

/// Number of lines in up to three dimensions without plans: beside centers, 8 to 32 lines have the
/// same errors (jets 0.038, shapes 0.042 to 0.043, digits 0.025; three seeds).
const FEW_LINES: usize = 16;

/// Number of random differences that [`Lines::outside`] averages.
const DRAWS: usize = 256;

/// Lines with the region of each that the clouds of the fit cover.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lines {
    /// Whether vectors are landmarks; otherwise they are directions.
    pub(crate) landmarks: bool,
    /// Directions or landmarks, one after the other.
    pub(crate) vectors: Vec<f64>,
    /// First and last value of the clouds of the fit on each line.
    pub(crate) regions: Vec<[f64; 2]>,
    /// Weight of the part of W₁ outside of the regions: with it, the mean over lines equals the
    /// distance, on average over differences of two points. `None` in a bounded space, where the
    /// outside has the weight of the inside.
    pub(crate) outside: Option<f64>,
}

impl Lines {
    /// Draws directions with dual norm 1: evenly spaced in the Euclidean plane, elsewhere in
    /// orthogonal frames.
    pub(super) fn directions(space: &Space, norm: Norm, bounded: bool, rng: &mut Random) -> Self {
        let dim = space.vector_dim;
        let count = match dim {
            1 => 1,
            2 | 3 if !space.has_plans() => FEW_LINES,
            _ => LINES,
        };
        let mut vectors = Vec::with_capacity(count * dim);
        if dim == 1 {
            vectors.push(1.0);
        } else if dim == 2 && norm == Norm::L2 {
            let turn: f64 = rng.random();
            for k in 0..count {
                let (sin, cos) =
                    (std::f64::consts::PI * (k as f64 + turn) / count as f64).sin_cos();
                vectors.extend([cos, sin]);
            }
        } else {
            while vectors.len() < count * dim {
                vectors.extend(frame(dim, rng));
            }
            vectors.truncate(count * dim);
        }
        for u in vectors.chunks_exact_mut(dim) {
            let length = dual_norm(norm, u);
            for x in u {
                *x /= length;
            }
        }
        let outside = (!bounded).then(|| outside(dim, norm, &vectors, rng));
        Self { landmarks: false, vectors, regions: vec![[0.0; 2]; count], outside }
    }

    /// Chooses landmarks among points: each is the farthest from those before.
    pub(super) fn landmarks(space: &Space, points: &[f64], rng: &mut Random) -> Self {
        let dim = space.vector_dim;
        let count = points.len() / dim;
        let at = |point: usize| &points[point * dim..][..dim];
        let mut nearest = vec![f64::INFINITY; count];
        let mut vectors = Vec::new();
        let mut landmark = rng.random_range(0..count);
        for _ in 0..LINES.min(count) {
            vectors.extend_from_slice(at(landmark));
            for (point, nearest) in nearest.iter_mut().enumerate() {
                *nearest = nearest.min(space.between(at(point), at(landmark)));
            }
            let farthest =
                |best: usize, next| if nearest[next] > nearest[best] { next } else { best };
            landmark = (0..count).reduce(farthest).unwrap_or(0);
            if nearest[landmark] <= 0.0 {
                break;
            }
        }
        let regions = vec![[0.0; 2]; vectors.len() / dim];
        Self { landmarks: true, vectors, regions, outside: None }
    }

    /// Returns whether lines from a file could be those of a fit.
    #[cfg(feature = "io")]
    pub(super) fn is_sound(&self, space: &Space) -> bool {
        let dim = space.vector_dim;
        let norm = space.geometry.metric.norm().unwrap_or(Norm::L2);
        let is_direction = |u: &[f64]| dual_norm(norm, u) <= 1.0 + 1e-12;
        self.len() > 0
            && Some(self.vectors.len()) == self.len().checked_mul(dim)
            && self.vectors.iter().all(|x| x.is_finite())
            && (self.landmarks || self.vectors.chunks_exact(dim).all(is_direction))
            && self.landmarks == space.halves.is_some()
            && self.regions.iter().all(|[low, high]| low <= high && (high - low).is_finite())
            && self.outside.is_none_or(|outside| outside.is_finite() && outside >= 0.0)
    }

    /// Returns the number of lines.
    pub(crate) fn len(&self) -> usize {
        self.regions.len()
    }

    /// Returns the largest Σ |xₖ| of a landmark, relative to which values on lines are rounded; 0 for
    /// directions.
    pub(super) fn largest_landmark(&self, dim: usize) -> f64 {
        let landmarks = if self.landmarks { &self.vectors[..] } else { &[] };
        landmarks.chunks_exact(dim).map(|l| length(Norm::L1, l)).fold(0.0, f64::max)
    }

    /// Computes the values of points on one line.
    pub(super) fn values(&self, space: &Space, line: usize, points: &[f64], out: &mut Vec<f64>) {
        let dim = space.vector_dim;
        let u = &self.vectors[line * dim..][..dim];
        out.clear();
        let points = points.chunks_exact(dim);
        if self.landmarks {
            out.extend(points.map(|x| space.between(x, u)));
        } else {
            let radius = space.geometry.metric.radius().unwrap_or(1.0);
            let product = |x: &[f64]| x.iter().zip(u).map(|(x, u)| x * u).sum::<f64>();
            out.extend(points.map(|x| radius * product(x)));
        }
    }

    /// Extends the region of a line by sorted values.
    pub(super) fn cover(&mut self, line: usize, values: &[f64], first: bool) {
        let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return };
        let region = &mut self.regions[line];
        *region = if first { [low, high] } else { [region[0].min(low), region[1].max(high)] };
    }
}

/// Draws orthonormal vectors: all of the space, or as many as there are lines.
pub(super) fn frame(dim: usize, rng: &mut Random) -> Vec<f64> {
    let rows = dim.min(LINES);
    let mut all: Vec<f64> = Vec::with_capacity(rows * dim);
    while all.len() < rows * dim {
        let mut new: Vec<f64> =
            std::iter::repeat_with(|| normals(rng)).flatten().take(dim).collect();
        // Twice, so that rounding leaves no component of the vectors before.
        for _ in 0..2 {
            for old in all.chunks_exact(dim) {
                let product: f64 = new.iter().zip(old).map(|(x, y)| x * y).sum();
                new.iter_mut().zip(old).for_each(|(x, y)| *x -= product * y);
            }
        }
        let length = dual_norm(Norm::L2, &new);
        if length > 1e-6 {
            all.extend(new.iter().map(|x| x / length));
        }
    }
    all
}

/// Returns the norm whose unit ball contains the directions of a norm's lines.
fn dual_norm(norm: Norm, u: &[f64]) -> f64 {
    match norm {
        Norm::L2 => length(Norm::L2, u),
        Norm::L1 => length(Norm::Largest, u),
        Norm::Largest => length(Norm::L1, u),
    }
}

/// Returns the norm of a vector.
pub(super) fn length(norm: Norm, x: &[f64]) -> f64 {
    match norm {
        Norm::L2 => {
            let largest = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            if largest == 0.0 {
                return 0.0;
            }
            largest * x.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
        }
        Norm::L1 => x.iter().map(|x| x.abs()).sum(),
        Norm::Largest => x.iter().fold(0.0, |most, x| most.max(x.abs())),
    }
}

/// Returns the inverse of the mean of |⟨t, u⟩| / ‖t‖ over directions u and random t.
fn outside(dim: usize, norm: Norm, vectors: &[f64], rng: &mut Random) -> f64 {
    let mut sum = 0.0;
    for _ in 0..DRAWS {
        let t: Vec<f64> = std::iter::repeat_with(|| normals(rng)).flatten().take(dim).collect();
        let product = |u: &[f64]| t.iter().zip(u).map(|(t, u)| t * u).sum::<f64>().abs();
        sum += vectors.chunks_exact(dim).map(product).sum::<f64>() / length(norm, &t);
    }
    (DRAWS * (vectors.len() / dim)) as f64 / sum
}

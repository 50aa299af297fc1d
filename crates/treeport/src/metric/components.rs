//! Graphs with several connected components, each with a metric of its own.

use std::collections::BTreeMap;

use super::graph::{Edge, Graph, Place, lightest, parts_of};
use super::{GroundMetric, Source, check_count};
use crate::error::{Error, Result};
use crate::measures::Measure;

/// Ground metric of a graph that may have several connected components, or of one metric space.
///
/// Exact transport is solved on each component separately: a [`Problem`](crate::Problem) supports
/// it like a metric. Everything else requires a single component ([`whole`](Self::whole)).
#[derive(Clone)]
pub struct Components {
    points: usize,
    /// Component of every node that has edges, and its number there, by increasing node; empty for
    /// one component.
    places: Vec<Place>,
    /// Components with edges, in the order of their first nodes.
    parts: Vec<Component>,
    /// Metric of an isolated node.
    isolated: GroundMetric,
}

#[derive(Clone)]
struct Component {
    metric: GroundMetric,
    /// Numbers of its points in the whole graph, increasing.
    nodes: Vec<u32>,
}

/// (point, mass) of the part of a measure on one component, with the component's point numbers.
pub(crate) type Share = Vec<(usize, f64)>;

impl From<GroundMetric> for Components {
    fn from(metric: GroundMetric) -> Self {
        let part = Component { metric: metric.clone(), nodes: Vec::new() };
        Self { points: metric.points(), places: Vec::new(), parts: vec![part], isolated: metric }
    }
}

impl Components {
    /// Computes shortest paths in an undirected graph of `n` nodes, connected or not.
    ///
    /// # Errors
    /// See [`GroundMetric::from_edges`], except that the graph need not be connected.
    ///
    /// # Complexity
    /// O(E log E) time, and memory for the edges alone: isolated nodes need none.
    ///
    /// # Example
    /// ```
    /// use treeport::metric::Components;
    /// let islands = Components::from_edges(4, &[(0, 1, 2.0), (2, 3, 1.0)])?;
    /// assert_eq!(islands.len(), 2);
    /// assert!(islands.whole().is_err());
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_edges(n: usize, edges: &[(usize, usize, f64)]) -> Result<Self> {
        check_count(n)?;
        let edges = lightest(n, edges)?;
        let (places, count) = parts_of(&edges);
        if count == 1 && places.len() == n || n == 1 {
            let graph = Graph::of_checked(n, edges)?;
            return Ok(GroundMetric::of(Source::Graph(graph), true).into());
        }
        let mut nodes = vec![Vec::new(); count];
        for &(node, (part, _)) in &places {
            nodes[part as usize].push(node);
        }
        let part = |(nodes, edges): (Vec<u32>, _)| {
            let graph = Graph::of_checked(nodes.len(), edges)?;
            Ok(Component { metric: GroundMetric::of(Source::Graph(graph), true), nodes })
        };
        let parts = nodes
            .into_iter()
            .zip(grouped(&places, count, edges))
            .map(part)
            .collect::<Result<_>>()?;
        Ok(Self { points: n, places, parts, isolated: GroundMetric::discrete(1)? })
    }

    /// Returns the number of points of all components.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of components.
    #[expect(clippy::len_without_is_empty, reason = "there is always a component")]
    pub fn len(&self) -> usize {
        if self.is_one() { 1 } else { self.parts.len() + self.points - self.places.len() }
    }

    fn is_one(&self) -> bool {
        self.places.is_empty() && !self.parts.is_empty()
    }

    /// Returns the ground metric of all points.
    pub fn whole(&self) -> Result<&GroundMetric> {
        if self.is_one() {
            return Ok(&self.parts[0].metric);
        }
        let first = self.place(0).0;
        let node = (1..self.points).find(|&node| self.place(node).0 != first).unwrap_or(0);
        Err(Error::Disconnected { components: self.len(), node })
    }

    /// Iterates over the edges of all components; points and matrices have none.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        self.parts.iter().flat_map(|part| {
            let name = |node: u32| part.nodes.get(node as usize).copied().unwrap_or(node);
            let edges = part.metric.edges().unwrap_or_default();
            edges.iter().map(move |&(from, to, weight)| (name(from), name(to), weight))
        })
    }

    /// Computes the distance between two points, infinite if no path connects them.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn distance(&self, i: usize, j: usize) -> f64 {
        let ((part, from), (other, to)) = (self.place(i), self.place(j));
        if part == other { self.metric(part).distance(from, to) } else { f64::INFINITY }
    }

    /// Computes the distances of the given pairs, infinite where no path connects them.
    ///
    /// A graph is searched once per run of pairs with the same first point: sort pairs by it.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn pairs(&self, pairs: &[(usize, usize)]) -> Vec<f64> {
        if self.is_one() {
            return self.parts[0].metric.pairs(pairs);
        }
        let places = |&(i, j): &(usize, usize)| (self.place(i), self.place(j));
        let places: Vec<_> = pairs.iter().map(places).collect();
        let mut distances = Vec::with_capacity(pairs.len());
        for run in places.chunk_by(|x, y| (x.0, x.1.0) == (y.0, y.1.0)) {
            let ((part, from), (other, _)) = run[0];
            if part == other {
                let ends: Vec<_> = run.iter().map(|&(_, (_, to))| (from, to)).collect();
                distances.extend(self.metric(part).pairs(&ends));
            } else {
                distances.resize(distances.len() + run.len(), f64::INFINITY);
            }
        }
        distances
    }

    /// Returns the component of a point and its number there; isolated nodes come last.
    pub(crate) fn place(&self, point: usize) -> (usize, usize) {
        assert!(point < self.points, "points are 0..{}", self.points);
        if self.is_one() {
            return (0, point);
        }
        match find(&self.places, point as u32) {
            Some((part, number)) => (part as usize, number as usize),
            None => (self.parts.len() + point, 0),
        }
    }

    pub(crate) fn metric(&self, component: usize) -> &GroundMetric {
        self.parts.get(component).map_or(&self.isolated, |part| &part.metric)
    }

    /// Returns the number, in the whole graph, of a point of a component.
    pub(crate) fn node(&self, component: usize, point: usize) -> usize {
        match self.parts.get(component) {
            Some(part) => part.nodes.get(point).map_or(point, |&node| node as usize),
            None => component - self.parts.len(),
        }
    }

    /// Splits a measure by the components on which it has mass.
    pub(crate) fn split(&self, measure: &Measure<'_>) -> BTreeMap<usize, Share> {
        let mut shares: BTreeMap<usize, Share> = BTreeMap::new();
        for (point, mass) in measure.iter() {
            let (component, number) = self.place(point);
            shares.entry(component).or_default().push((number, mass));
        }
        shares
    }
}

/// Groups edges by component, with the component's node numbers.
fn grouped(places: &[Place], count: usize, edges: Vec<Edge>) -> Vec<Vec<Edge>> {
    let mut groups = vec![Vec::new(); count];
    for (from, to, weight) in edges {
        let end = |node| find(places, node).expect("an end of an edge has a place");
        let ((part, from), (_, to)) = (end(from), end(to));
        groups[part as usize].push((from, to, weight));
    }
    groups
}

/// Returns the component and number of a node with edges.
fn find(places: &[Place], node: u32) -> Option<(u32, u32)> {
    places.binary_search_by_key(&node, |place| place.0).ok().map(|at| places[at].1)
}

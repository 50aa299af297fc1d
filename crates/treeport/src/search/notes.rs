//! Experiments that did not improve the search, with figures. Contains no code.
//!
//! - *A first basis by the duals of the sweeps* for the exact solver: 35 pivots instead of 36 on
//!   Belfast, 7.1 instead of 6.5 on tweets.
//! - *Rows of distances to all points*, kept for later queries: the first query of 70 words in R³⁸⁴
//!   among 11,118 posts took 266 ms, and memory grew to 12 bytes per pair of points.
//! - *The query's duals averaged with those of the candidate* in level 2, on shared points: 16.4
//!   instead of 18.4 candidates swept on posts, 12.5 instead of 15.5 on texts of nine words, which
//!   saves less time than finding the duals takes.
//! - *A limit of four candidates per neighbor* in approximate searches: recall 0.97 on posts, but
//!   0.74 on tweets and maps.
//! - *Distances in the leading directions first*, with the norm of the rest as one more coordinate:
//!   of MiniLM's 384 coordinates, 64 directions have 0.69 to 0.71 of a distance between words, and
//!   128 have 0.84 to 0.86. Potentials on all coordinates bound better before any distance is
//!   computed.
//! - *Larger factors* in approximate searches: with the quantiles 0.3 and 0.5 of the ratios in place
//!   of 0.1, a query among 7,350 abstracts (Ohsumed) takes 0.78 and 0.68 of the time, and recall
//!   falls from 0.89 to 0.79 and 0.67. It transforms 62 and 40 candidates instead of 100.
//! - *Solving the least bounds* when the time is over, without typical factors and without time
//!   kept for solving: of the ten nearest, 0.21 instead of 0.65 in 5 ms on Ohsumed, 0.42 instead of
//!   0.83 in 20 ms, 0.90 instead of 0.97 in 50 ms.
//! - *Solving pairs from the single-precision distances* that bounds know, with exact distances on the
//!   basis alone: an exact query takes 0.89 to 0.96 of the time on Ohsumed, BBC Sport and tweets.
//!   Distances then differ from those of `Problem` in their last digits, for 350 lines.

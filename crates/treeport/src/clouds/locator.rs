//! Errors that name a cloud.

use crate::error::{Error, cloud_name};

/// First point and name of each cloud, to locate errors.
pub(super) struct CloudLocator<'a> {
    pub(super) start: &'a [usize],
    pub(super) names: Option<&'a [String]>,
}

impl CloudLocator<'_> {
    /// Converts an error about measures or about a point among all into one about a cloud.
    pub(super) fn placed(&self, mut error: Error) -> Error {
        let (cloud, cause) = match error {
            Error::BadCoordinate { ref mut point, .. }
            | Error::BadDegrees { ref mut point, .. }
            | Error::ZeroVector { ref mut point }
            | Error::BadPenalty { ref mut point, .. }
            | Error::DiesUnborn { ref mut point, .. } => {
                let cloud;
                (cloud, *point) = self.place(*point);
                (cloud, error)
            }
            Error::BadMass { point, value, .. } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::BadPointMass { point, value })
            }
            Error::NoMass { measure } => (measure, Error::EmptyCloud),
            Error::Unbalanced { left, right, left_total, right_total } => {
                let [left, right] = [left, right].map(|at| cloud_name(self.name(at), at));
                return Error::UnbalancedClouds { left, right, left_total, right_total };
            }
            other => return other,
        };
        let name = self.name(cloud).map(str::to_owned);
        Error::Cloud { cloud, name, cause: Box::new(cause) }
    }

    /// Returns the cloud of a point among all, and the point's position in it.
    fn place(&self, point: usize) -> (usize, usize) {
        // Empty clouds share their start with the next cloud; the last cloud with this start has
        // the point.
        let cloud = self.start.partition_point(|&first| first <= point).saturating_sub(1);
        (cloud, point - self.start[cloud])
    }

    fn name(&self, cloud: usize) -> Option<&str> {
        self.names?.get(cloud).map(String::as_str)
    }
}

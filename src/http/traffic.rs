//! Counts of the HTTP server for `/metrics`: answers by route and status, request times,
//! connections. Counting takes no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use hyper::Method;

use super::rates::RequestClass;
use engine::histogram::{Histogram, Spread};

/// Statuses with a counter of their own, sorted; others share the last counter.
const STATUSES: [u16; 22] = [
    101, 200, 201, 204, 400, 401, 403, 404, 405, 406, 408, 409, 411, 413, 414, 415, 422, 429, 431,
    500, 501, 503,
];

/// Method, template and class of a route.
pub type RouteName = (Method, &'static str, RequestClass);

/// A count of answers, with the method and template of their route, and their status.
pub type Answers<'a> = (Option<(&'a str, &'static str)>, Option<u16>, u64);

/// The counters.
#[derive(Debug)]
pub struct Traffic {
    /// Method, template and class of each route, by its number.
    routes: Vec<RouteName>,
    /// By the route's number; the last entry is for requests without a route.
    answers: Vec<[AtomicU64; STATUSES.len() + 1]>,
    /// By the route's number.
    took: Vec<Histogram>,
    connections: AtomicU64,
    turned_away: AtomicU64,
    gave_way: AtomicU64,
}

impl Traffic {
    /// All zero, for these routes.
    pub fn new(routes: Vec<RouteName>) -> Traffic {
        let none = || std::array::from_fn(|_| AtomicU64::new(0));
        Traffic {
            answers: (0..=routes.len()).map(|_| none()).collect(),
            took: routes.iter().map(|_| Histogram::of_times()).collect(),
            routes,
            connections: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            gave_way: AtomicU64::new(0),
        }
    }

    /// Counts an answer by the route with this number, and the time since `began`.
    pub fn count(&self, route: Option<usize>, status: u16, began: Instant) {
        let row = route.unwrap_or(self.routes.len());
        let index = STATUSES.binary_search(&status).unwrap_or(STATUSES.len());
        if let Some(count) = self.answers.get(row).and_then(|statuses| statuses.get(index)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(took) = self.took.get(row) {
            took.count_since(began);
        }
    }

    /// The non-zero counts of answers: the route's method and template, or `None` without a route;
    /// the status, or `None` for a rare one; the count.
    pub fn answers(&self) -> impl Iterator<Item = Answers<'_>> {
        let rows = self.answers.iter().enumerate();
        rows.flat_map(move |(row, statuses)| {
            let route =
                self.routes.get(row).map(|(method, template, _)| (method.as_str(), *template));
            let counts = statuses.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
            let some = counts.filter(|(_, count)| *count > 0);
            some.map(move |(index, count)| (route, STATUSES.get(index).copied(), count))
        })
    }

    /// Request times of the routes that were asked, in nanoseconds.
    pub fn took(&self) -> impl Iterator<Item = (&RouteName, Spread)> {
        let all = self.routes.iter().zip(&self.took).map(|(route, took)| (route, took.read()));
        all.filter(|(_, spread)| spread.count() > 0)
    }

    /// Counts a connection until the returned guard is dropped.
    pub fn connect(&self) -> Connected<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected(self)
    }

    /// Connections open now.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Counts a connection that gave way to another.
    pub fn give_way(&self) {
        self.gave_way.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections closed because all slots were taken and another needed theirs.
    pub fn gave_way(&self) -> u64 {
        self.gave_way.load(Ordering::Relaxed)
    }

    /// Counts a rejected connection.
    pub fn turn_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections rejected because no slot was free.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

/// Guard of an open connection.
#[derive(Debug)]
pub struct Connected<'a>(&'a Traffic);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/http/traffic.rs"]
mod tests;

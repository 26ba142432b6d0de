//! Unit tests of `src/http/routes.rs`.

use super::*;
use crate::route::BASE;

#[test]
fn every_route_is_found_by_its_own_path() {
    let routes = Routes::new().unwrap();
    for route in table() {
        let path = format!("{}{}", route.base(), route.template.replace(['{', '}', '*'], ""));
        let (found, parts) = routes.find(&route.method, &path).unwrap();
        assert_eq!((found.template, &found.method), (route.template, &route.method));
        assert!(parts.iter().all(|(name, text)| name == text));
        let operators = route.access == Access::Operators;
        // The dashboard's pages show nothing by themselves.
        let admin = route.template.starts_with("/admin/") && !route.base().is_empty();
        let closed = admin || route.template == "/metrics";
        assert_eq!(operators, closed, "{}", route.template);
    }
}

#[test]
fn head_is_get_and_other_methods_are_listed() {
    let routes = Routes::new().unwrap();
    let path = format!("{BASE}/trading/orders");
    assert!(routes.find(&Method::HEAD, &path).is_ok());
    let Err(problem) = routes.find(&Method::PUT, &path) else { panic!("no PUT") };
    assert_eq!(problem.allow.as_deref(), Some("GET, POST, DELETE, HEAD"));
    for nowhere in ["/nowhere", "", "/api/v1", "/trading/orders", "/api/v1/trading/orders/"] {
        let Err(problem) = routes.find(&Method::GET, nowhere) else { panic!("{nowhere}") };
        assert_eq!(problem.kind, Kind::NotFound);
    }
}

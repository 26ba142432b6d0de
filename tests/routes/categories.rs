//! `GET /categories/public/list` (semantics 8).

use serde_json::json;

use super::shape::{list, object};
use super::shapes;
use super::venue::{NOBODY, Venue};

#[test]
fn all_categories_are_listed() {
    let venue = Venue::open();
    let ann = venue.trader("ann");
    let shape = object([("categories", list(shapes::category()))]);
    let none = ann.get("/categories/public/list").ok(&shape);
    assert_eq!(none, json!({"categories": []}));
    let [rain, snow] = ["rain", "snow"].map(|slug| venue.category(slug));
    let category = |id: &str, name: &str| json!({"id": id, "name": name, "slug": name});
    let both = ann.get("/categories/public/list").ok(&shape);
    assert_eq!(both["categories"], json!([category(&rain, "rain"), category(&snow, "snow")]));
    ann.get("/categories/public/list?limit=1").bad_as("limit", "UNKNOWN_FIELD");
    ann.get(&format!("/categories/{rain}")).ok(&shapes::category());
    ann.get(&format!("/categories/{NOBODY}")).refused(404, "CATEGORY_NOT_FOUND");
    ann.get("/categories/rain").bad_as("categoryId", "INVALID_VALUE");
}

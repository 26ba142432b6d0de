//! Categories, as all callers see them.

use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::wire::catalogue::{CategoriesJson, CategoryJson};
use exchange::reject::Reject;

/// `GET /categories/public/list`: all of them, without pages; operators create them one by one, so
/// they are few.
pub fn list(call: &Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let (sequence, categories) = call.look(|view| {
        let categories = view.catalogue.categories().iter().map(CategoryJson::of).collect();
        Ok(CategoriesJson { categories })
    })?;
    Reply::list(sequence, categories, "categories", |all| &mut all.categories)
}

/// `GET /categories/{categoryId}`
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("categoryId"))?;
    let (sequence, category) = call.look(|view| {
        let category = view.catalogue.category_no(id);
        let row = category.and_then(|category| view.catalogue.category(category));
        row.map(CategoryJson::of).ok_or_else(|| Problem::of(Reject::CategoryNotFound))
    })?;
    Reply::ok(sequence, &category)
}

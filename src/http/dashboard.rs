//! The dashboard: one page answers every address of it, and names the files that it needs.

use hyper::Method;
use hyper::http::request::Parts;

use super::call::SharedState;
use super::media;
use super::problem::{Kind, Problem};
use super::reply::Reply;

/// `GET` of any address of the dashboard: the page, which knows the rest.
pub fn page(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    let assets = shared.site.dashboard.assets();
    let assets =
        assets.ok_or_else(|| Problem::new(Kind::NotFound, "there is no dashboard here"))?;
    Ok(assets.page().reply(shared.venue.sequence(), "text/html; charset=utf-8", &head.headers))
}

/// `GET /assets/{hash}/{path}`
pub fn file(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    let found = shared.site.dashboard.assets().and_then(|assets| assets.file(head.uri.path()));
    let (media, packed) = found.ok_or_else(|| Problem::new(Kind::NotFound, "no such file"))?;
    let reply = packed.reply(shared.venue.sequence(), media, &head.headers);
    Ok(Reply { lasting: true, ..reply })
}

/// What a browser gets for an address that nothing has: the page, which says so. `None` if it is
/// no browser, or asks for what programs ask for.
pub fn nothing(shared: &SharedState, head: &Parts) -> Option<Reply> {
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    let programs = ["/api", "/assets/", "/pictures/"];
    let path = head.uri.path();
    if !reads || !media::takes_html(&head.headers) || programs.iter().any(|of| path.starts_with(of))
    {
        return None;
    }
    page(shared, head).ok().map(Reply::of_nothing)
}

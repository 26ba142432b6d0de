//! Pictures that the server draws: a shape for each category, in colours that follow from the
//! address, so that a venue needs no other host for them.

use hyper::http::request::Parts;
use sha2::{Digest, Sha256};

use super::call::SharedState;
use super::problem::Problem;
use super::reply::Reply;

/// A line for each category: its slug, its hue in degrees, and its shape, the strokes of a path in
/// a square of 64 by 64. The last is for all others.
const SHAPES: &str = include_str!("pictures/shapes.txt");
/// The family of people, who differ in colour, where categories only do in shade.
const PEOPLE: &str = "people";

/// `GET /pictures/{family}/{seed}`
pub fn draw(shared: &SharedState, head: &Parts) -> Result<Reply, Problem> {
    let path = head.uri.path();
    let family = path.split('/').nth(2).unwrap_or_default();
    let text = drawn(family, path).ok_or_else(|| Problem::internal("a picture has no shape"))?;
    let sequence = shared.venue.sequence();
    Ok(Reply { lasting: true, ..Reply::text(sequence, "image/svg+xml", text.into()) })
}

/// A line's slug, hue and shape.
fn read(line: &'static str) -> Option<(&'static str, u32, &'static str)> {
    let (slug, rest) = line.split_once(' ')?;
    let (hue, shape) = rest.split_once(' ')?;
    Some((slug, hue.parse().ok()?, shape))
}

/// The picture of a family whose colours follow from `seed`.
fn drawn(family: &str, seed: &str) -> Option<String> {
    let mut shapes = SHAPES.lines().filter_map(read);
    let (_, hue, shape) =
        shapes.clone().find(|(slug, ..)| *slug == family).or_else(|| shapes.next_back())?;
    let [turn, light, x, y, radius, ..] = <[u8; 32]>::from(Sha256::digest(seed.as_bytes()));
    let spread = if family == PEOPLE { 360 } else { 40 };
    let hue = (hue + u32::from(turn) * spread / 256) % 360;
    let light = 30 + light % 14;
    let (x, y, radius, high) = (x / 4, y / 4, 16 + radius / 12, light + 14);
    let beside = (hue + 35) % 360;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\">\
         <rect width=\"64\" height=\"64\" fill=\"hsl({hue},45%,{light}%)\"/>\
         <circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"hsl({beside},55%,{high}%)\" \
         fill-opacity=\".55\"/>\
         <path d=\"{shape}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"3\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>"
    ))
}

#[cfg(test)]
#[path = "../../tests/unit/http/pictures.rs"]
mod tests;

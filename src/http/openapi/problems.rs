//! Schemas of problems: one per status, so that generated types differ by status and code.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::operations::all_kinds;
use super::{Members, Unfit};
use crate::problem::Kind;
use crate::wire::words::reference;
use exchange::reject::Reject;

/// Members that only the problems of one status have, with a kind of that status.
const OWN: [(Kind, &str); 3] = [
    (Kind::InvalidRequest, "errors"),
    (Kind::Starting, "replay"),
    (Kind::Refused(Reject::OrderNotOpen), "order"),
];

/// The name of the schema for problems of this kind's status, such as `NotFoundProblem`.
pub fn name(kind: Kind) -> String {
    format!("{}Problem", reason(kind))
}

fn reason(kind: Kind) -> String {
    kind.status().canonical_reason().unwrap_or("Other").split(' ').collect()
}

/// Kinds of problems by their statuses.
pub fn by_status(kinds: impl Iterator<Item = Kind>) -> BTreeMap<u16, Vec<Kind>> {
    let mut all: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in kinds {
        let same = all.entry(kind.status().as_u16()).or_default();
        if !same.iter().any(|other| other.code() == kind.code()) {
            same.push(kind);
        }
    }
    all
}

/// Adds the schemas: each is the general one, restricted to a status and its codes.
pub fn add(schemas: &mut Members) -> Result<(), Unfit> {
    let any = schemas.get("Problem").cloned().ok_or_else(|| Unfit::word("Problem"))?;
    for (status, kinds) in by_status(all_kinds()) {
        let Some(first) = kinds.first() else { continue };
        let mut codes: Vec<&str> = kinds.iter().map(|kind| kind.code()).collect();
        codes.sort_unstable();
        let listed = format!("{}Code", reason(*first));
        schemas.insert(name(*first), of_status(any.clone(), status, &listed));
        let about = format!("What is wrong where the status is {status}.");
        let code = json!({ "type": "string", "enum": codes, "description": about });
        schemas.insert(listed, code);
    }
    Ok(())
}

fn of_status(mut problem: Value, status: u16, codes: &str) -> Value {
    problem["description"] = json!(format!("Why a request was answered {status}."));
    problem["properties"]["status"] = json!({ "type": "integer", "const": status });
    problem["properties"]["code"] = reference(codes);
    for (kind, member) in OWN {
        if kind.status().as_u16() != status
            && let Some(properties) = problem["properties"].as_object_mut()
        {
            properties.remove(member);
        }
    }
    if Kind::InvalidRequest.status().as_u16() == status
        && let Some(required) = problem["required"].as_array_mut()
    {
        required.push(json!("errors"));
    }
    problem
}

//! Unit tests of `src/http/openapi/mod.rs`.

use super::*;
use crate::routes;

#[test]
fn every_route_is_described_and_nothing_else() {
    let document = document(routes::table()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let described: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
    let routes = routes::table();
    let shown = routes.iter().filter(|route| is_told_of(route));
    assert_eq!(described, shown.count());
}

/// The codes in the source text, independent of the lists beside them.
fn codes_in(source: &str) -> Vec<&str> {
    let code =
        |text: &&str| text.len() > 3 && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let lines = source.split("#[cfg(test)]").next().unwrap().lines();
    let after = lines.filter_map(|line| line.split_once("=> \"")?.1.split('"').next());
    after.filter(code).collect()
}

#[test]
fn every_code_is_listed_with_what_it_means() {
    let document = document(routes::table()).unwrap();
    let schemas = &document["components"]["schemas"];
    let problem = include_str!("../../../../src/http/problem.rs");
    let (fields, kinds) = problem.split_at(problem.find("\nkinds!").unwrap());
    let refusals = exchange::reject::Reject::ALL.map(exchange::reject::Reject::code);
    for (name, source, more) in
        [("FieldCode", fields, &[][..]), ("ErrorCode", kinds, &refusals[..])]
    {
        let listed = schemas[name]["enum"].as_array().unwrap();
        let found: Vec<&str> = codes_in(source).into_iter().chain(more.iter().copied()).collect();
        assert!(found.len() > 7, "{found:?}");
        for code in &found {
            // The only two that no client receives under their own name.
            let hidden = *code == "DEADLINE_NOT_IN_FUTURE";
            assert!(hidden || listed.contains(&json!(code)), "{code} is not in {name}");
        }
        let extra = listed.iter().find(|code| !found.contains(&code.as_str().unwrap()));
        assert_eq!(extra, None);
    }
}

/// In generated code such a member would shadow its class, and the types would not check.
#[test]
fn no_schema_has_a_member_of_its_own_name() {
    let document = document(routes::table()).unwrap();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let mut members = schema["properties"].as_object().into_iter().flatten();
        let own = members.find(|(member, _)| member.eq_ignore_ascii_case(name));
        assert_eq!(own, None, "{name}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn visit(json: &Value, document: &Value, count: &mut usize) {
        match json {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    let place = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(place).is_some(), "{reference}");
                    *count += 1;
                }
                members.values().for_each(|member| visit(member, document, count));
            }
            Value::Array(parts) => parts.iter().for_each(|p| visit(p, document, count)),
            _ => {}
        }
    }
    let (document, mut count) = (document(routes::table()).unwrap(), 0);
    visit(&document, &document, &mut count);
    assert!(count > 500);
}

/// Each word is one that the document knows, and each schema is of an answer or a request.
#[test]
fn every_schema_is_used() {
    fn visit(json: &Value, used: &mut Vec<String>) {
        match json {
            Value::Object(members) => {
                used.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| visit(member, used));
            }
            Value::Array(parts) => parts.iter().for_each(|part| visit(part, used)),
            _ => {}
        }
    }
    let (document, mut used) = (document(routes::table()).unwrap(), Vec::new());
    visit(&document, &mut used);
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        // A client that reads problems of any status has this one.
        let known = ["MethodNotAllowedProblem", "Problem"].contains(&name.as_str());
        assert!(known || used.contains(&format!("#/components/schemas/{name}")), "{name}");
    }
}

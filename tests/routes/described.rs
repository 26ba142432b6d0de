//! The `OpenAPI` description against the server: every request and answer of these tests is checked
//! against it, and its bounds on parameters and fields are tried.

use std::sync::LazyLock;

use serde_json::{Value, json};

use http::openapi::{document, is_told_of};
use http::routes::{self, Routes};
use hyper::Method;

use super::client::{Answer, bare};
use super::schema::{Members, faults, resolved};
use super::venue::{NOBODY, Venue};

pub static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document(routes::table()).unwrap());

/// Of the document's routes and those that it does not tell of.
static ROUTES: LazyLock<Routes> = LazyLock::new(|| Routes::new().unwrap());

/// Headers defined by HTTP itself, which any answer may have.
const PLAIN: [&str; 10] = [
    "content-type",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "cache-control",
    "connection",
    "date",
    "allow",
    "x-content-type-options",
    "referrer-policy",
];

/// An operation with its path and method.
pub struct Operation {
    pub path: &'static str,
    pub method: String,
    pub content: &'static Value,
}

pub fn operations() -> impl Iterator<Item = Operation> {
    DOCUMENT["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, content)| Operation {
            path,
            method: method.to_uppercase(),
            content,
        })
    })
}

/// The operation with this id.
pub fn operation(id: &str) -> Operation {
    let mut all = operations();
    all.find(|operation| operation.id() == id).unwrap_or_else(|| panic!("no operation {id}"))
}

impl Operation {
    pub fn id(&self) -> &'static str {
        self.content["operationId"].as_str().unwrap()
    }

    pub fn parameters(&self) -> impl Iterator<Item = &'static Value> {
        let all = self.content["parameters"].as_array().into_iter().flatten();
        all.map(|parameter| resolved(&DOCUMENT, parameter))
    }

    pub fn body_schema(&self) -> Option<&'static Value> {
        self.content.pointer("/requestBody/content/application~1json/schema")
    }

    /// Whether pages of the venue's own ask for it, for visitors or who has signed in alone.
    pub fn is_for_people(&self) -> bool {
        let security = self.content["security"].as_array().unwrap();
        let session = |by: &Value| by.get("session").is_some();
        let visits = self.content["tags"][0] == "Signing in" && security.is_empty();
        visits || security.first().is_some_and(session)
    }

    /// The roles whose keys open it.
    pub fn roles(&self) -> Vec<&'static str> {
        let security = self.content["security"].as_array().unwrap();
        let keys = security.iter().flat_map(|by| by.as_object().unwrap().keys());
        keys.filter_map(|name| name.strip_suffix("Key")).collect()
    }

    /// Whether a session will do.
    pub fn takes_session(&self) -> bool {
        let security = self.content["security"].as_array().unwrap();
        self.is_for_people() || security.iter().any(|by| by.get("session").is_some())
    }

    /// The number of variable parts if its path matches this one, else `None`.
    fn fits(&self, path: &str) -> Option<usize> {
        let (own, asked) = (self.path.split('/'), path.split('/'));
        if own.clone().count() != asked.clone().count() {
            return None;
        }
        let varies = |part: &str| part.starts_with('{');
        let fit = own.clone().zip(asked).all(|(own, asked)| varies(own) || own == asked);
        fit.then(|| own.filter(|part| varies(part)).count())
    }
}

/// Checks a request and its answer against the description.
pub fn check(method: &str, target: &str, body: Option<&[u8]>, answer: &Answer) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parsed = Method::from_bytes(method.as_bytes());
    let asked = parsed.ok().and_then(|method| Some(ROUTES.find(&method, path).ok()?.0));
    if asked.is_some_and(|route| !is_told_of(route)) {
        return;
    }
    let least = operations().filter_map(|operation| operation.fits(path)).min();
    let own = |o: &Operation| o.method == method && o.fits(path) == least;
    let Some(operation) = operations().find(own).filter(|_| least.is_some()) else {
        let known = method == "HEAD";
        assert!(known || answer.status >= 400, "{method} {path} is not described: {answer:?}");
        return;
    };
    let status = answer.status.to_string();
    let response = operation.content["responses"].get(&status);
    let response = response.unwrap_or_else(|| panic!("{status} is undescribed: {answer:?}"));
    for (name, _) in &answer.headers {
        let described = response["headers"].as_object().unwrap().keys();
        let known = PLAIN.contains(&name.as_str())
            || described.into_iter().any(|header| header.eq_ignore_ascii_case(name));
        assert!(known, "the header {name} is not described: {answer:?}");
    }
    if answer.status >= 400 {
        let listed = response["x-codes"].as_array().unwrap();
        assert!(listed.contains(&json!(answer.code())), "undescribed code: {answer:?}");
    }
    let media = answer.header("content-type").split(';').next().unwrap().to_owned();
    if !answer.body.is_empty() {
        let content = response["content"].get(&media);
        let content = content.unwrap_or_else(|| panic!("{media} is undescribed: {answer:?}"));
        if media.ends_with("json") {
            hold("the answer", &content["schema"], &answer.json, answer);
        }
    }
    if answer.status < 400 {
        check_request(&operation, query, body, answer);
    }
}

/// An accepted request must match the description.
fn check_request(operation: &Operation, query: &str, body: Option<&[u8]>, answer: &Answer) {
    let description = operation.path.ends_with("api.json");
    if description || !operation.path.starts_with("/api/") {
        return;
    }
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        let described = operation.parameters().any(|p| p["in"] == "query" && p["name"] == *name);
        assert!(described, "the parameter {name} is not described: {answer:?}");
    }
    if let (Some(schema), Some(body)) = (operation.body_schema(), body)
        && !body.is_empty()
        // The operations of a batch are refused one by one, while the answer as a whole is a 200.
        && operation.id() != "sendBatch"
    {
        let json = serde_json::from_slice(body).unwrap();
        hold("the request", schema, &json, answer);
    }
}

fn hold(what: &str, schema: &Value, json: &Value, answer: &Answer) {
    let faults = faults(&DOCUMENT, schema, json, Members::Listed);
    assert!(faults.is_empty(), "{what} is not as described: {}\n{answer:?}", faults.join("\n"));
}

/// A path with unknown ids in its variable parts, and the required parameters.
fn address(operation: &Operation) -> (String, Vec<(String, String)>) {
    let varying = |part: &'static str| if part.starts_with('{') { NOBODY } else { part };
    let path: Vec<&str> = operation.path.split('/').map(varying).collect();
    let required = operation.parameters().filter(|p| p["in"] == "query" && p["required"] == true);
    let example = |p: &Value| text_of(&p["example"]);
    let required = required.map(|p| (p["name"].as_str().unwrap().to_owned(), example(p)));
    (path.join("/"), required.collect())
}

/// A parameter's example as it is sent.
pub fn text_of(example: &Value) -> String {
    match example.as_array() {
        Some(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join(","),
        None => example.as_str().unwrap().to_owned(),
    }
}

fn ask(venue: &Venue, operation: &Operation, query: &[(String, String)], body: &Value) -> Answer {
    let (path, _) = address(operation);
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let key = [
        ("x-api-key", venue.operator.key.as_str()),
        ("origin", "http://x"),
        ("x-requested-by", "openoutcry"),
    ];
    let body = operation.body_schema().map(|_| body.to_string());
    let body = body.as_ref().map(String::as_bytes);
    let target = format!("{path}?{}", query.join("&"));
    bare(venue.operator.address, &operation.method, &target, &key, body)
}

/// Whether a field, or a part of it, is named as bad.
fn names(answer: &Answer, field: &str) -> bool {
    let errors = answer.json["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["field"].as_str()).any(|named| {
        let rest = named.strip_prefix(field);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

/// Values that the schema excludes.
fn excluded(schema: &Value, of_text: bool) -> Vec<Value> {
    let schema = resolved(&DOCUMENT, schema);
    let mut wrong = Vec::new();
    if let Some(max) = schema["maximum"].as_u64() {
        wrong.push(json!(max + 1));
    }
    if let Some(min) = schema["minimum"].as_i64() {
        wrong.push(json!(min - 1));
    }
    if let Some(max) = schema["maxLength"].as_u64() {
        let head =
            if schema["pattern"].as_str().unwrap().contains("http") { "http://" } else { "" };
        let rest = usize::try_from(max).unwrap() + 1 - head.len();
        wrong.push(json!(format!("{head}{}", "a".repeat(rest))));
    }
    if schema["minLength"].as_u64().is_some() {
        wrong.push(json!(""));
    }
    if let Some(max) = schema["maxItems"].as_u64() {
        wrong.push((0..=max).map(|n| json!(format!("http://{n}"))).collect());
    }
    if schema["uniqueItems"] == true {
        wrong.push(json!([NOBODY, NOBODY]));
    }
    if schema["enum"].is_array() || schema["pattern"].is_string() || schema["format"] == "uuid" {
        wrong.push(json!(" ?!"));
    }
    if !of_text {
        wrong.extend([json!(null), json!(-0.5), json!([[]]), json!({"x": 1})]);
    }
    // In a query everything is text, so the schema can only judge string parameters.
    let undecided = of_text && schema["type"] != "string";
    wrong.retain(|json| !faults(&DOCUMENT, schema, json, Members::Any).is_empty() || undecided);
    wrong
}

/// The extremes that the schema allows.
fn ends(schema: &Value) -> Vec<Value> {
    let schema = resolved(&DOCUMENT, schema);
    let ends = [&schema["minimum"], &schema["maximum"], &schema["default"]];
    let ends = ends.into_iter().filter(|end| !end.is_null()).cloned();
    ends.chain(schema["enum"].as_array().into_iter().flatten().cloned()).collect()
}

fn text(json: &Value) -> String {
    if let Some(parts) = json.as_array() {
        return parts.iter().map(text).collect::<Vec<_>>().join(",");
    }
    json.as_str().map_or_else(|| json.to_string(), |text| text.replace(' ', "%20"))
}

#[test]
fn parameters_are_bounded_as_described() {
    let venue = Venue::open();
    let mut tried = 0;
    for operation in operations().filter(|o| o.path.starts_with("/api/v1/")) {
        let (_, required) = address(&operation);
        let example = operation.content.pointer("/requestBody/content/application~1json/example");
        let body = example.cloned().unwrap_or(Value::Null);
        for parameter in operation.parameters().filter(|p| p["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            let others = required.iter().filter(|(other, _)| other != name).cloned();
            let mut others: Vec<(String, String)> = others.collect();
            if name == "waitAfter" {
                // Where nothing has changed yet, it waits no longer.
                others.push(("timeoutSeconds".to_owned(), "1".to_owned()));
            }
            let with = |value: String| [others.clone(), vec![(name.to_owned(), value)]].concat();
            for wrong in excluded(&parameter["schema"], true) {
                let answer = ask(&venue, &operation, &with(text(&wrong)), &body);
                assert!(answer.status == 400 && names(&answer, name), "{answer:?}");
                tried += 1;
            }
            for right in ends(&parameter["schema"]) {
                let answer = ask(&venue, &operation, &with(text(&right)), &body);
                assert!(!names(&answer, name), "{answer:?}");
                tried += 1;
            }
            let twice = [with("1".to_owned()), with("1".to_owned())].concat();
            assert!(names(&ask(&venue, &operation, &twice, &body), name), "{name}");
            if parameter["required"] == true {
                assert!(names(&ask(&venue, &operation, &others, &body), name), "{name}");
            }
        }
        if !operation.path.ends_with("api.json") {
            let unknown = [required, vec![("limits".to_owned(), "1".to_owned())]].concat();
            let answer = ask(&venue, &operation, &unknown, &body);
            assert!(answer.status == 400 && names(&answer, "limits"), "{answer:?}");
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn body_fields_are_validated_as_described() {
    let venue = Venue::open();
    let mut tried = 0;
    for operation in operations() {
        let Some(schema) = operation.body_schema() else { continue };
        let schema = resolved(&DOCUMENT, schema);
        let example = operation.content.pointer("/requestBody/content/application~1json/example");
        let example = example.unwrap_or_else(|| panic!("{} has no example", operation.id()));
        let (_, query) = address(&operation);
        let ask = |body: &Value| ask(&venue, &operation, &query, body);
        for (name, field) in schema["properties"].as_object().unwrap() {
            let mut wrong = excluded(field, false);
            // The operations of a batch are refused one by one.
            wrong.retain(|value| name != "operations" || value != &json!([[]]));
            for wrong in wrong {
                let mut body = example.clone();
                body[name] = wrong;
                let answer = ask(&body);
                assert!(answer.status == 400 && names(&answer, name), "{body} {answer:?}");
                tried += 1;
            }
            let required = schema["required"].as_array();
            if required.is_some_and(|all| all.contains(&json!(name))) {
                let mut body = example.clone();
                body.as_object_mut().unwrap().remove(name);
                assert!(names(&ask(&body), name), "{name} of {}", operation.id());
            }
        }
        let mut body = example.clone();
        body["unheardOf"] = json!(1);
        assert!(names(&ask(&body), "unheardOf"), "{}", operation.id());
    }
    assert!(tried > 150, "{tried}");
}

#[test]
fn the_document_and_its_pages_need_no_key() {
    let venue = Venue::open();
    let get = |path: &str| bare(venue.operator.address, "GET", path, &[], None);
    assert_eq!(get("/api/v1/openapi.json").json, *DOCUMENT);
    assert_eq!(get("/api/v1/asyncapi.json").json, http::openapi::asyncapi::document().unwrap());
    for path in ["/docs", "/docs/"] {
        let answer = get(path);
        let media = "text/html; charset=utf-8";
        assert_eq!((answer.status, answer.header("content-type")), (200, media));
        assert!(!answer.body.is_empty());
    }
}

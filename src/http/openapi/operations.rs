//! The document's operations: joins each line of the operations file with its route, which
//! determines access, body and possible errors.

use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Frame, Members, Unfit, problems};
use crate::body::BodyRule;
use crate::problem::Kind;
use crate::rates::RequestClass;
use crate::route::{Access, Endpoint, Route};
use crate::wire::words::reference;
use exchange::command::Role;
use exchange::reject::Reject;

/// A line of the operations file.
#[derive(Debug, Deserialize)]
pub struct Line {
    tag: String,
    /// Method and template, as in the table of routes.
    ask: String,
    id: String,
    is: String,
    says: String,
    /// Names of query parameters in the frame.
    #[serde(default)]
    query: Vec<String>,
    /// Schema of the body.
    body: Option<String>,
    /// Status of a success, its schema, and its media type if not JSON, separated by spaces.
    answer: String,
    /// Status and schema of another success.
    or: Option<String>,
    /// Codes of refusals beyond those that follow from its route.
    #[serde(default)]
    codes: Vec<String>,
    /// `false` for a `POST` that takes no `Idempotency-Key`.
    once: Option<bool>,
    /// By what a caller is known: `session` by that alone, `either` by a key as well; by a key
    /// where it is left out.
    by: Option<String>,
    /// `false` for a write that the journal does not keep.
    records: Option<bool>,
    /// Whether refusals are reported per operation, inside a successful answer.
    #[serde(default)]
    apart: bool,
}

impl Line {
    /// Whether this line describes this route.
    pub fn tells_of(&self, route: &Route) -> bool {
        let parts = self.ask.split_once(' ');
        parts == Some((route.method.as_str(), route.template))
    }

    /// The operation.
    pub fn operation(&self, route: &Route, frame: &Frame) -> Result<Value, Unfit> {
        let example = frame.examples.get(&self.id);
        let mut operation = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.is,
            "security": security(route, self.by.as_deref()),
            "responses": self.responses(route, frame, example)?,
        });
        if !self.says.is_empty() {
            operation["description"] = json!(self.says);
        }
        let parameters = self.parameters(route, frame, example)?;
        if !parameters.is_empty() {
            operation["parameters"] = json!(parameters);
        }
        if let Some(schema) = &self.body {
            let mut content = json!({ "schema": reference(schema) });
            if let Some(body) = example.and_then(|example| example.get("body")) {
                content["example"] = body.clone();
            }
            operation["requestBody"] = json!({
                "required": route.body == BodyRule::Required,
                "content": { "application/json": content },
            });
        }
        Ok(operation)
    }

    /// Whether a request may be repeated under an idempotency key.
    fn takes_key(&self, route: &Route) -> bool {
        route.method == Method::POST && self.once != Some(false)
    }

    fn parameters(
        &self,
        route: &Route,
        frame: &Frame,
        example: Option<&Value>,
    ) -> Result<Vec<Value>, Unfit> {
        let given = |place: &str, name: &str| example?.get(place)?.get(name).cloned();
        let mut parameters = Vec::new();
        for name in path_parts(route.template) {
            let (schema, about) = frame.path_part(name).ok_or_else(|| Unfit::word(name))?;
            let mut parameter = json!({
                "name": name, "in": "path", "required": true, "description": about,
                "schema": reference(schema),
            });
            if let Some(example) = given("path", name) {
                parameter["example"] = example;
            }
            parameters.push(parameter);
        }
        for word in &self.query {
            let mut parameter = frame.query.get(word).cloned().ok_or_else(|| Unfit::word(word))?;
            parameter["in"] = json!("query");
            let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
            if let Some(example) = given("query", name) {
                parameter["example"] = example;
            }
            parameters.push(parameter);
        }
        if self.takes_key(route) {
            parameters.push(json!({ "$ref": "#/components/parameters/Idempotency-Key" }));
        }
        let reads = route.method == Method::GET;
        if !reads && (self.by.is_some() || matches!(route.endpoint, Endpoint::Visit(_))) {
            parameters.push(json!({ "$ref": "#/components/parameters/X-Requested-By" }));
        }
        if route.tagged {
            let name = if reads { "If-None-Match" } else { "If-Match" };
            let place = format!("#/components/parameters/{name}");
            parameters.push(json!({ "$ref": place }));
        }
        Ok(parameters)
    }

    fn responses(
        &self,
        route: &Route,
        frame: &Frame,
        example: Option<&Value>,
    ) -> Result<Value, Unfit> {
        let mut responses = Members::new();
        let (status, schema) = self.answer.split_once(' ').unwrap_or((&self.answer, ""));
        responses.insert(status.to_owned(), success(route, status, schema, example));
        if let Some((status, schema)) = self.or.as_deref().and_then(|or| or.split_once(' ')) {
            responses.insert(status.to_owned(), success(route, status, schema, None));
            if self.takes_key(route) {
                let replay = header("Idempotent-Replay");
                responses[status]["headers"]["Idempotent-Replay"] = replay;
            }
        }
        if self.takes_key(route) {
            let replay = header("Idempotent-Replay");
            responses[status]["headers"]["Idempotent-Replay"] = replay;
        }
        if route.tagged {
            responses[status]["headers"]["ETag"] = header("ETag");
        }
        if route.tagged && route.method == Method::GET {
            let mut headers = headers_of(route);
            headers.insert("ETag".to_owned(), header("ETag"));
            let about = "The ETag is one of If-None-Match: the client has it already.";
            responses.insert("304".to_owned(), json!({ "description": about, "headers": headers }));
        }
        let named = [Reject::IdempotencyKeyReused, Reject::TooManyNames].map(Kind::Refused);
        let named = named.into_iter().filter(|_| self.takes_key(route) && !self.apart);
        let own = self.codes.iter().map(|code| kind(code).ok_or_else(|| Unfit::word(code)));
        let own = own.collect::<Result<Vec<Kind>, Unfit>>()?;
        let asks = matches!(route.endpoint, Endpoint::Write(_) | Endpoint::Several(_));
        let keeps = self.records != Some(false);
        let asks = asks && !self.apart && keeps;
        let halts = [Kind::Stopping, Kind::JournalUnavailable, Kind::OutcomeUnknown];
        let halts = halts.into_iter().filter(|_| asks);
        let kinds = kinds(route).into_iter().filter(|kind| keeps || *kind != Kind::RecordLimit);
        let all = kinds.chain(halts).chain(own).chain(named);
        for (status, kinds) in problems::by_status(all) {
            responses.insert(status.to_string(), failure(route, &kinds, frame)?);
        }
        Ok(Value::Object(responses))
    }
}

/// The security requirement of a route.
fn security(route: &Route, by: Option<&str>) -> Value {
    let key = match route.access {
        Access::Everybody => return json!([]),
        Access::Keys => json!({ "readerKey": [] }),
        Access::Traders => json!({ "traderKey": [] }),
        Access::Staff(roles) => {
            let roles = [Role::Operator].iter().chain(roles);
            return roles.map(|role| json!({ format!("{}Key", role.name()): [] })).collect();
        }
    };
    match by {
        Some("session") => json!([{ "session": [] }]),
        Some(_) => json!([key, { "session": [] }]),
        None => json!([key]),
    }
}

/// The parameters of a template.
fn path_parts(template: &str) -> impl Iterator<Item = &str> {
    template.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Every kind of problem.
pub fn all_kinds() -> impl Iterator<Item = Kind> {
    Kind::OWN.into_iter().chain(Reject::ALL.into_iter().map(Kind::Refused))
}

fn kind(code: &str) -> Option<Kind> {
    all_kinds().find(|kind| kind.code() == code)
}

/// The kinds of problems that any request to this route may get.
fn kinds(route: &Route) -> Vec<Kind> {
    let mut kinds = vec![Kind::InvalidRequest, Kind::UriTooLong, Kind::HeadersTooLarge];
    kinds.extend([Kind::Internal, Kind::Overloaded]);
    if route.access != Access::Everybody {
        kinds.extend([Kind::MissingApiKey, Kind::InvalidApiKey, Kind::Starting]);
    }
    // Visitors have no buckets, and what they ask is answered whatever they take.
    let visits = matches!(route.endpoint, Endpoint::Visit(_));
    if route.class != RequestClass::Probes && !visits {
        kinds.extend([Kind::NotAcceptable, Kind::RateLimited]);
    }
    // In the answer to a batch, only its single operations are refused for it.
    if matches!(route.class, RequestClass::Writes | RequestClass::Cancels)
        && matches!(route.access, Access::Keys | Access::Traders)
        && !route.draws_itself()
    {
        kinds.push(Kind::RecordLimit);
    }
    if route.access != Access::Everybody {
        kinds.push(Kind::Forbidden);
    }
    if route.tagged {
        kinds.push(Kind::Refused(Reject::PreconditionFailed));
    }
    if path_parts(route.template).next().is_some() {
        kinds.push(Kind::NotFound);
    }
    if route.body == BodyRule::Required {
        kinds.push(Kind::LengthRequired);
    }
    if route.body != BodyRule::Ignored {
        kinds.extend([Kind::RequestTimeout, Kind::ContentTooLarge]);
    }
    if matches!(route.body, BodyRule::Optional | BodyRule::Required) {
        kinds.push(Kind::UnsupportedMediaType);
    }
    match route.endpoint {
        Endpoint::Probe(_) | Endpoint::Stream => {}
        Endpoint::Visit(_) => kinds.push(Kind::Starting),
        Endpoint::Past(_) => kinds.extend([Kind::HistoryUnreadable, Kind::OutOfReach]),
        Endpoint::Read(_) | Endpoint::Long(_) | Endpoint::Write(_) | Endpoint::Several(_) => {
            kinds.push(Kind::HistoryUnreadable);
        }
    }
    kinds
}

fn success(route: &Route, status: &str, schema: &str, example: Option<&Value>) -> Value {
    let mut headers = headers_of(route);
    // An invitation is shown once, and has no address.
    if status == "201" && schema != "Invitation" {
        headers.insert("Location".to_owned(), header("Location"));
    }
    let gives = matches!(schema, "Session" | "OpenIdAddress") || route.template == "/session";
    if route.method != Method::GET && gives {
        headers.insert("Set-Cookie".to_owned(), header("Set-Cookie"));
    }
    let about = match status {
        "201" => "Made.",
        "202" => "Proposed: another operator is to confirm it.",
        "204" => "Done; there is nothing to say.",
        _ => "Done.",
    };
    let mut response = json!({ "description": about, "headers": headers });
    let example = example.and_then(|example| example.get("answer"));
    let (media, schema) = match schema.split_once(' ') {
        Some((schema, media)) => (media, schema),
        None => ("application/json", schema),
    };
    if !schema.is_empty() {
        let schemas: Vec<Value> = schema.split('|').map(reference).collect();
        let mut content = match schemas.as_slice() {
            [schema] => json!({ "schema": schema }),
            _ => json!({ "schema": { "oneOf": schemas } }),
        };
        if let Some(answer) = example {
            content["example"] = answer.clone();
        }
        response["content"] = json!({ media: content });
    }
    response
}

/// The response for problems of these kinds, which share a status.
fn failure(route: &Route, kinds: &[Kind], frame: &Frame) -> Result<Value, Unfit> {
    let mut headers = headers_of(route);
    let (mut lines, mut examples) = (Vec::new(), Members::new());
    if kinds.iter().all(|kind| kind.lacks_good_key()) {
        headers.remove("Sequence");
    }
    for kind in kinds {
        let code = kind.code();
        let meaning = frame.meaning(code).ok_or_else(|| Unfit::word(code))?;
        lines.push(format!("- `{code}`: {meaning}"));
        let example = format!("#/components/examples/{code}");
        examples.insert(code.to_owned(), json!({ "$ref": example }));
        let waits = kind.has_allowance() || *kind == Kind::TooManyTries;
        if kind.retry_after().is_some() || waits {
            headers.insert("Retry-After".to_owned(), header("Retry-After"));
        }
        if *kind == Kind::UnsupportedMediaType {
            headers.insert("Accept-Encoding".to_owned(), header("Accept-Encoding"));
        }
        if kind.lacks_good_key() {
            headers.insert("WWW-Authenticate".to_owned(), header("WWW-Authenticate"));
        }
    }
    let schema = kinds.first().map(|kind| reference(&problems::name(*kind)));
    let codes: Vec<&str> = kinds.iter().map(|kind| kind.code()).collect();
    Ok(json!({
        "description": lines.join("\n"),
        "headers": headers,
        "content": { "application/problem+json": { "schema": schema, "examples": examples } },
        "x-codes": codes,
    }))
}

fn headers_of(route: &Route) -> Members {
    let known = route.access != Access::Everybody;
    let keys = known && route.class != RequestClass::Probes;
    let limits = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
    let sequence = ["Sequence"].into_iter().filter(|_| known);
    let limits = limits.into_iter().filter(|_| keys);
    let names = ["X-Request-Id"].into_iter().chain(sequence).chain(limits);
    names.map(|name| (name.to_owned(), header(name))).collect()
}

fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

//! The operator's connection to the server: sends requests, retries a broken one over a new
//! connection, and prints answers. A retried write keeps its `Idempotency-Key`, so it runs at most
//! once.

use std::io::{BufRead, IsTerminal};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use hyper::Method;
use serde_json::Value;
use uuid::Uuid;

use super::{proposals, table};
use crate::cli::output;
use client::{ApiKey, Ask, ClientError, Connection, Problem, Reply, Target};

/// Random bytes of an `Idempotency-Key`: enough to rule out collisions.
const KEY_BYTES: usize = 16;
/// The code of a write that may have been carried out.
const OUTCOME_UNKNOWN: &str = "OUTCOME_UNKNOWN";

/// Why a command failed, or why its outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdminError {
    /// The arguments or the files are at fault.
    #[error("{0}")]
    Usage(String),
    /// A local failure: no random bytes, a closed stdout.
    #[error("{0}")]
    Local(String),
    /// No answer to a GET or DELETE, or to a request that was not sent.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A POST that may have been carried out: no answer to it, or none that tells.
    #[error(
        "{cause}; whether it was carried out is not known. The same command with \
         --idempotency-key {idempotency_key} finds out, and does it if it was not"
    )]
    Unknown {
        /// Why that is not known.
        cause: String,
        /// The `Idempotency-Key` of the write.
        idempotency_key: String,
    },
    /// The server refused.
    #[error("{location}{}", refusal_text(*status, problem))]
    Refused {
        /// Prefix that names the line of an import file; else empty.
        location: String,
        /// HTTP status.
        status: u16,
        /// The server's problem document.
        problem: Problem,
    },
    /// An answer that does not match the interface.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
}

impl AdminError {
    /// Whether the usage was at fault.
    pub(crate) const fn is_usage(&self) -> bool {
        matches!(self, AdminError::Usage(_))
    }
}

/// The text of a refusal: status, code, detail, and one line per bad field.
fn refusal_text(status: u16, problem: &Problem) -> String {
    let mut words = status.to_string();
    if !problem.code.is_empty() {
        words.extend([" ", &problem.code]);
    }
    if !problem.detail.is_empty() {
        words.extend([": ", &problem.detail]);
    }
    for error in &problem.errors {
        words.extend(["\n  ", &error.field, " ", &error.code, ": ", &error.detail]);
    }
    words
}

/// A reply, and what came before it.
struct Sent {
    reply: Reply,
    /// The error of an earlier attempt, which may have reached the server.
    before: Option<ClientError>,
}

/// Whether a reply leaves open what came of a POST. `before`: whether an earlier attempt may have
/// been sent; if that one was carried out, this reply may only be about the later one.
fn leaves_open(status: u16, code: &str, before: bool) -> bool {
    // Without a code it is not the exchange that answers, but a proxy, which may have passed the
    // request on.
    let by_exchange = !code.is_empty();
    match status {
        200..=299 => false,
        503 if !before => !by_exchange || code == OUTCOME_UNKNOWN,
        _ if !before => status >= 500,
        // Said before the exchange looks at the Idempotency-Key: a server that restarts may want
        // another operator key, but what it did before stays done.
        401 | 403 | 408 | 429 => true,
        400..=499 => !by_exchange,
        _ => true,
    }
}

/// A successful answer.
pub(crate) struct Answer {
    /// The body as sent; empty if there is none.
    pub body: Bytes,
    /// The body, parsed.
    pub json: Value,
    /// Whether it replays an earlier answer, so that nothing was done now.
    pub replayed: bool,
}

/// The operator's session with one server.
pub(crate) struct Session {
    connection: Connection,
    /// To the paths outside the interface, once one was asked.
    probing: Option<Connection>,
    target: Target,
    key: ApiKey,
    /// Whether the server's JSON is printed.
    pub json: bool,
    /// What every write gives as its reason.
    pub reason: Option<String>,
    /// Whether nobody is asked before what cannot be undone.
    pub yes: bool,
    idempotency_key: Option<String>,
}

impl Session {
    /// Connects. `idempotency_key` is used for the next write; without it each write draws its own.
    ///
    /// # Errors
    /// [`AdminError::Client`].
    pub(crate) async fn open(
        target: Target,
        key: ApiKey,
        json: bool,
        idempotency_key: Option<String>,
    ) -> Result<Session, AdminError> {
        let connection = Connection::open(&target).await?;
        let (reason, yes, probing) = (None, false, None);
        Ok(Session { connection, probing, target, key, json, reason, yes, idempotency_key })
    }

    /// Sends a GET.
    ///
    /// # Errors
    /// [`AdminError`].
    pub(crate) async fn get(&mut self, path: &str) -> Result<Answer, AdminError> {
        let sent = self.ask(Method::GET, path, None, None).await?;
        self.answer(&sent.reply)
    }

    /// Asks once for a path outside the interface, such as `/metrics`. Refusals are returned as
    /// replies.
    ///
    /// # Errors
    /// No answer.
    pub(crate) async fn probe(&mut self, path: &str) -> Result<Reply, AdminError> {
        let connection = match &mut self.probing {
            Some(connection) => connection,
            none => none.insert(Connection::open(&self.target.root()).await?),
        };
        let (method, key) = (Method::GET, &self.key);
        Ok(connection
            .ask_once(&Ask { method, path, key, idempotency_key: None, body: None })
            .await?)
    }

    /// The id of a user who is named by it, or by the whole name that others see.
    ///
    /// # Errors
    /// [`AdminError`]; nobody has that name, or several have.
    pub(crate) async fn user(&mut self, named: &str) -> Result<Uuid, AdminError> {
        if let Ok(id) = Uuid::try_parse(named) {
            return Ok(id);
        }
        let found = self.get(&format!("/admin/users?limit=1000&name={}", escaped(named))).await?;
        let users = found.json.get("users").and_then(Value::as_array);
        let all = found.json.get("total").and_then(Value::as_u64);
        if all != users.map(|shown| shown.len() as u64) {
            // Another of that name may be among those that are not shown.
            return Err(AdminError::Local(format!(
                "too many names contain `{named}` to tell whose it is: give the user's id"
            )));
        }
        let users = users.into_iter().flatten();
        let text = |user: &Value, member: &str| user.get(member)?.as_str().map(str::to_owned);
        let same = users.filter(|user| text(user, "profileName").as_deref() == Some(named));
        let ids: Vec<String> = same.filter_map(|user| text(user, "id")).collect();
        match ids.as_slice() {
            [id] => id.parse().map_err(|_| AdminError::Unreadable(format!("the id {id}"))),
            [] => Err(AdminError::Local(format!(
                "nobody is called `{named}`; `users find` takes parts of names"
            ))),
            several => Err(AdminError::Local(format!(
                "several users are called `{named}`; give one of their ids: {}",
                several.join(", ")
            ))),
        }
    }

    /// Sends a PATCH, which may be repeated as it is.
    ///
    /// # Errors
    /// [`AdminError`].
    pub(crate) async fn patch(&mut self, path: &str, body: &Value) -> Result<Answer, AdminError> {
        let sent = self.ask(Method::PATCH, path, Some(body), None).await?;
        self.answer(&sent.reply)
    }

    /// Sends a POST under the given or a random `Idempotency-Key`.
    ///
    /// # Errors
    /// [`AdminError`].
    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Result<Answer, AdminError> {
        let idempotency_key = match self.idempotency_key.take() {
            Some(idempotency_key) => idempotency_key,
            None => random_key()?,
        };
        self.post_with_key(path, body, &idempotency_key).await
    }

    /// Shows what a POST would do, and asks whether to go on.
    ///
    /// # Errors
    /// It would be refused, the answer is no, or nobody can be asked.
    pub(crate) async fn confirm(
        &mut self,
        path: &str,
        body: &Value,
        shown: &[(&str, &str)],
    ) -> Result<(), AdminError> {
        if !self.asks()? {
            return Ok(());
        }
        let seen = self.preview(path, body).await?;
        let proposed = seen.get("onlyProposed").and_then(Value::as_bool) == Some(true);
        let when = if proposed { " once another operator confirms it" } else { "" };
        Self::agree(when, &table::thing(&seen, shown))
    }

    /// What a POST would do.
    ///
    /// # Errors
    /// It would be refused.
    pub(crate) async fn preview(&mut self, path: &str, body: &Value) -> Result<Value, AdminError> {
        let key = random_key()?;
        let dry_run = format!("{path}?dryRun=true");
        let sent = self.ask(Method::POST, &dry_run, Some(body), Some(&key)).await?;
        Ok(self.answer(&sent.reply)?.json)
    }

    /// Whether to ask before what cannot be undone.
    ///
    /// # Errors
    /// Nobody can be asked.
    pub(crate) fn asks(&self) -> Result<bool, AdminError> {
        // With the key of an earlier write it is that write which is asked for again.
        if self.yes || self.idempotency_key.is_some() {
            return Ok(false);
        }
        if !std::io::stdin().is_terminal() {
            let why = "this cannot be undone, and nobody can be asked here: add --yes";
            return Err(AdminError::Usage(why.to_owned()));
        }
        Ok(true)
    }

    /// Shows what would happen, and asks whether to go on.
    ///
    /// # Errors
    /// The answer is no.
    pub(crate) fn agree(when: &str, seen: &str) -> Result<(), AdminError> {
        output::note(&format!("This would happen{when}:\n{seen}Do it? [y/N]"));
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.map_err(|error| AdminError::Local(format!("stdin: {error}")))?;
        let agreed = matches!(answer.trim(), "y" | "Y" | "yes");
        if agreed { Ok(()) } else { Err(AdminError::Local("nothing was done".to_owned())) }
    }

    /// Sends a POST under this `Idempotency-Key`.
    ///
    /// # Errors
    /// [`AdminError`].
    pub(crate) async fn post_with_key(
        &mut self,
        path: &str,
        body: &Value,
        idempotency_key: &str,
    ) -> Result<Answer, AdminError> {
        let mut body = body.clone();
        if let (Some(reason), Some(members)) = (&self.reason, body.as_object_mut()) {
            members.insert("reason".to_owned(), Value::from(reason.as_str()));
        }
        let Sent { reply, before } =
            self.ask(Method::POST, path, Some(&body), Some(idempotency_key)).await?;
        let problem = Problem::of(&reply);
        if !leaves_open(reply.status.as_u16(), &problem.code, before.is_some()) {
            return self.answer(&reply);
        }
        if self.json {
            // The key must be shown even if stdout takes nothing.
            drop(Self::print(&String::from_utf8_lossy(&reply.body)));
        }
        let refusal = refusal_text(reply.status.as_u16(), &problem);
        let cause = match before {
            Some(before) => format!("{before}; sent again: {refusal}"),
            None => refusal,
        };
        Err(AdminError::Unknown { cause, idempotency_key: idempotency_key.to_owned() })
    }

    /// Sends a DELETE. It takes no `Idempotency-Key`, since repeating it changes nothing. Refusals
    /// are returned as replies.
    ///
    /// # Errors
    /// No answer.
    pub(crate) async fn delete(&mut self, path: &str) -> Result<Reply, AdminError> {
        let path = match &self.reason {
            Some(reason) => {
                let mut query = form_urlencoded::Serializer::new(String::new());
                format!("{path}?{}", query.append_pair("reason", reason).finish())
            }
            None => path.to_owned(),
        };
        Ok(self.ask(Method::DELETE, &path, None, None).await?.reply)
    }

    /// Sends a request; if the connection breaks, sends it again over a new connection.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        idempotency_key: Option<&str>,
    ) -> Result<Sent, AdminError> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let ask = Ask { method, path, key: &self.key, idempotency_key, body };
        let broken = match self.connection.ask(&ask).await {
            Ok(reply) => return Ok(Sent { reply, before: None }),
            Err(error) if error.may_have_been_sent() => error,
            Err(error) => return Err(error.into()),
        };
        let cause = match Connection::open(&self.target).await {
            Ok(connection) => {
                self.connection = connection;
                match self.connection.ask(&ask).await {
                    Ok(reply) => return Ok(Sent { reply, before: Some(broken) }),
                    Err(error) => error,
                }
            }
            // The first error says more than the failure to reconnect.
            Err(_) => broken,
        };
        Err(match idempotency_key {
            Some(idempotency_key) => AdminError::Unknown {
                cause: cause.to_string(),
                idempotency_key: idempotency_key.to_owned(),
            },
            None => AdminError::Client(cause),
        })
    }

    /// Turns a reply into an answer.
    ///
    /// # Errors
    /// The refusal; with `--json` the problem document is also printed.
    pub(crate) fn answer(&self, reply: &Reply) -> Result<Answer, AdminError> {
        if !reply.is_success() {
            if self.json {
                Self::print(&String::from_utf8_lossy(&reply.body))?;
            }
            return Err(AdminError::Refused {
                location: String::new(),
                status: reply.status.as_u16(),
                problem: Problem::of(reply),
            });
        }
        let json = if reply.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&reply.body)
                .map_err(|error| AdminError::Unreadable(error.to_string()))?
        };
        Ok(Answer { body: reply.body.clone(), json, replayed: reply.replayed })
    }

    /// Prints an answer: the server's JSON, or the result of `text`.
    ///
    /// # Errors
    /// Stdout does not take it.
    pub(crate) fn show(
        &self,
        answer: &Answer,
        text: impl FnOnce(&Value) -> String,
    ) -> Result<(), AdminError> {
        if self.json {
            return Self::print(&String::from_utf8_lossy(&answer.body));
        }
        if proposals::is_proposal(&answer.json) {
            output::note("proposed: another operator is to confirm it");
            let mut proposal = answer.json.clone();
            proposal["reason"] = self.reason.as_deref().into();
            return Self::print_table(&proposals::thing(&proposal));
        }
        Self::print_table(&text(&answer.json))
    }

    /// Prints an object of our own: as JSON, or these members of it.
    ///
    /// # Errors
    /// Stdout does not take it.
    pub(crate) fn show_parts(&self, json: &Value, members: &[&str]) -> Result<(), AdminError> {
        if self.json {
            return Self::print(&json.to_string());
        }
        let members: Vec<(&str, &str)> = members.iter().map(|member| (*member, *member)).collect();
        Self::print_table(&table::thing(json, &members))
    }

    /// Prints a table, in colours on a terminal.
    ///
    /// # Errors
    /// Stdout does not take it.
    pub(crate) fn print_table(text: &str) -> Result<(), AdminError> {
        if output::has_colours() { Self::print(&table::coloured(text)) } else { Self::print(text) }
    }

    /// Prints and flushes, adding a newline if the text does not end with one.
    ///
    /// # Errors
    /// Stdout does not take it.
    pub(crate) fn print(text: &str) -> Result<(), AdminError> {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        output::print(&format!("{text}{end}"))
            .map_err(|error| AdminError::Local(format!("stdout: {error}")))
    }
}

/// A text as a value in a query.
pub(crate) fn escaped(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn random_key() -> Result<String, AdminError> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| AdminError::Local(format!("no random bytes: {error}")))?;
    Ok(format!("admin-{}", HEXLOWER.encode(&bytes)))
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/admin/session.rs"]
mod tests;

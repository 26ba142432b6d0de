//! The operator's conversation with the server: asking, asking again, and printing what comes.

use std::io::Write;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use hyper::Method;
use serde_json::Value;

use crate::cli::client::{ApiKey, Ask, ClientError, Connection, Problem, Reply, Target};

/// Random bytes of an `Idempotency-Key`: no two writes ever draw the same.
const ONCE_BYTES: usize = 16;

/// Why a command was not carried out, or is not known to have been.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The arguments or the files are at fault.
    #[error("{0}")]
    Usage(String),
    /// Something on this side: no random bytes, a closed stdout.
    #[error("{0}")]
    Local(String),
    /// No answer to something that changes nothing, or that was not sent.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// No answer to a write, twice.
    #[error(
        "{cause}; whether it was carried out is not known. The same command with \
         --idempotency-key {once} finds out, and does it if it was not"
    )]
    Unknown {
        /// What was met the second time.
        cause: ClientError,
        /// The key that it was sent under.
        once: String,
    },
    /// The server refused.
    #[error("{place}{}", told(*status, problem))]
    Refused {
        /// Where in a file, or nothing.
        place: String,
        /// HTTP status.
        status: u16,
        /// The server's words.
        problem: Problem,
    },
    /// An answer that is not what the interface promises.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
}

impl AdminError {
    /// Whether the usage was at fault.
    pub const fn is_usage(&self) -> bool {
        matches!(self, AdminError::Usage(_))
    }
}

/// A refusal in words: its named code, what is said of it, and of each bad field.
fn told(status: u16, problem: &Problem) -> String {
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

/// A success.
pub struct Answer {
    /// The server's bytes; empty where there is nothing to say.
    pub body: Bytes,
    /// The same, read.
    pub json: Value,
    /// Whether it repeats an answer of before: nothing was done now.
    pub replayed: bool,
}

/// A connection of the operator's.
pub struct Session {
    connection: Connection,
    target: Target,
    key: ApiKey,
    /// Whether the server's JSON is printed.
    pub json: bool,
    once: Option<String>,
}

impl Session {
    /// Connects. `once` is the `Idempotency-Key` of the write to come, if it is not to be drawn.
    ///
    /// # Errors
    /// [`AdminError::Client`].
    pub async fn open(
        target: Target,
        key: ApiKey,
        json: bool,
        once: Option<String>,
    ) -> Result<Session, AdminError> {
        let connection = Connection::open(&target).await?;
        Ok(Session { connection, target, key, json, once })
    }

    /// Reads.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn get(&mut self, path: &str) -> Result<Answer, AdminError> {
        let reply = self.ask(Method::GET, path, None, None).await?;
        self.answer(&reply)
    }

    /// Writes, under a drawn key.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn post(&mut self, path: &str, body: &Value) -> Result<Answer, AdminError> {
        let once = match self.once.take() {
            Some(once) => once,
            None => drawn()?,
        };
        self.post_once(path, body, &once).await
    }

    /// Writes, under this key.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn post_once(
        &mut self,
        path: &str,
        body: &Value,
        once: &str,
    ) -> Result<Answer, AdminError> {
        let reply = self.ask(Method::POST, path, Some(body), Some(once)).await?;
        self.answer(&reply)
    }

    /// Takes away, which no key is taken for: what is gone is gone. Gives the refusal as it came.
    ///
    /// # Errors
    /// No answer.
    pub async fn delete(&mut self, path: &str) -> Result<Reply, AdminError> {
        self.ask(Method::DELETE, path, None, None).await
    }

    /// Asks, and where the connection breaks asks once more over a new one.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        once: Option<&str>,
    ) -> Result<Reply, AdminError> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let ask = Ask { method, path, key: &self.key, once, body };
        let broken = match self.connection.ask(&ask).await {
            Ok(reply) => return Ok(reply),
            Err(error) if error.may_have_been_sent() => error,
            Err(error) => return Err(error.into()),
        };
        let again = match Connection::open(&self.target).await {
            Ok(connection) => {
                self.connection = connection;
                self.connection.ask(&ask).await
            }
            // Why the first attempt failed says more than that nobody is there any more.
            Err(_) => Err(broken),
        };
        again.map_err(|cause| match once {
            Some(once) => AdminError::Unknown { cause, once: once.to_owned() },
            None => AdminError::Client(cause),
        })
    }

    /// The success that this is.
    ///
    /// # Errors
    /// The refusal that it is; its JSON is printed if JSON is wanted.
    pub fn answer(&self, reply: &Reply) -> Result<Answer, AdminError> {
        if !reply.is_success() {
            if self.json {
                self.print(&String::from_utf8_lossy(&reply.body))?;
            }
            return Err(AdminError::Refused {
                place: String::new(),
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

    /// Prints an answer: the server's JSON, or what `text` makes of it.
    ///
    /// # Errors
    /// Stdout does not take it.
    pub fn show(
        &self,
        answer: &Answer,
        text: impl FnOnce(&Value) -> String,
    ) -> Result<(), AdminError> {
        if self.json {
            return self.print(&String::from_utf8_lossy(&answer.body));
        }
        self.print(&text(&answer.json))
    }

    /// Prints, at once, with a line end if there is none.
    ///
    /// # Errors
    /// Stdout does not take it.
    pub fn print(&self, text: &str) -> Result<(), AdminError> {
        let mut stdout = std::io::stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        write!(stdout, "{text}{end}")
            .and_then(|()| stdout.flush())
            .map_err(|error| AdminError::Local(format!("stdout: {error}")))
    }
}

fn drawn() -> Result<String, AdminError> {
    let mut bytes = [0; ONCE_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| AdminError::Local(format!("no random bytes: {error}")))?;
    Ok(format!("admin-{}", HEXLOWER.encode(&bytes)))
}

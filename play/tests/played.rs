//! The beginning of the sample of recorded flow, played to a server: no difference over either
//! transport.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::net::SocketAddr;
use std::process::{Command as Process, Output};

use serde_json::Value;
use tokio::net::TcpListener;

use engine::start::{Options, Running, start};
use exchange::command::{Command, Role};
use exchange::effect::Effect;
use exchange::ids::UserNo;
use exchange::rules::Rules;
use http::keys::ApiKey;
use http::{Limits, serve};
use journal::memory::MemoryJournal;

/// Lines that are played of it.
const LINES: u64 = 6_000;
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/flow/sample");

/// A venue with an operator.
fn venue() -> (Running, ApiKey) {
    let running = start(MemoryJournal::new(), Options::default()).unwrap();
    let (profile_name, profile_pic) = ("op".to_owned(), "https://h/p.png".to_owned());
    let key = ApiKey::draw().unwrap();
    let (role, label, hash) = (Role::Operator, "first".to_owned(), key.hash());
    for command in [
        Command::OpenVenue(Rules::current()),
        Command::CreateUser { profile_name, profile_pic },
        Command::AddKey { user: UserNo(0), role, label, hash, ends: None },
    ] {
        let answer = running.engine().ask(command).unwrap();
        assert!(!matches!(answer.effects(), [Effect::Refused(_)]));
    }
    (running, key)
}

/// Plays the sample to a server of its own.
async fn played(args: &[&str]) -> Output {
    let (running, key) = venue();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let server = tokio::spawn(serve(
        listener,
        running.engine(),
        Limits::STANDARD,
        std::future::pending::<()>(),
    ));
    let mut player = Process::new(env!("CARGO_BIN_EXE_play"));
    player
        .args([&format!("{SAMPLE}.flow.jsonl.gz"), "--json"])
        .args(["--limit", &LINES.to_string()])
        .args(["--url", &format!("http://{address}")])
        .args(["--check", &format!("{SAMPLE}.fills.jsonl.gz")])
        .args(args)
        .env("OPENOUTCRY_OPERATOR_KEY", key.reveal());
    let output = tokio::task::spawn_blocking(move || player.output().unwrap()).await.unwrap();
    server.abort();
    output
}

fn summary(output: &Output) -> Value {
    let printed = serde_json::from_slice(&output.stdout);
    printed.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

async fn has_no_difference(args: &[&str], transport: &str) {
    let books = format!("{SAMPLE}.books.jsonl.gz");
    let output = played(&[args, &["--books", &books]].concat()).await;
    let summary = summary(&output);
    assert_eq!(summary["differences"], 0, "{summary}");
    assert_eq!(summary["commands"], LINES);
    assert!(summary["checked"]["books"].as_u64() > Some(0), "{summary}");
    assert!(summary["checked"]["trades"].as_u64() > Some(0), "{summary}");
    assert_eq!(summary["checked"]["fills"], summary["checked"]["trades"]);
    assert_eq!(summary["transport"], transport);
    assert_eq!(output.status.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn over_streams_unless_told_otherwise() {
    has_no_difference(&[], "stream").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http() {
    has_no_difference(&["--transport", "http"], "http").await;
}

//! Unit tests of `src/client/stream.rs`.

use super::*;
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// A server that reads so many commands and says this, over and over; returns what it read.
fn server(script: Vec<(usize, Vec<Value>)>) -> (Target, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let served = std::thread::spawn(move || {
        let mut socket = tungstenite::accept(listener.accept().unwrap().0).unwrap();
        socket.send(Message::text(r#"{"kind":"welcome"}"#)).unwrap();
        let mut heard = Vec::new();
        for (commands, answers) in script {
            for _ in 0..commands {
                let text = socket.read().unwrap().into_text().unwrap();
                heard.push(serde_json::from_str(&text).unwrap());
            }
            for answer in answers {
                socket.send(Message::text(answer.to_string())).unwrap();
            }
        }
        drop(socket.close(None));
        // Until the client has closed, too.
        while socket.read().is_ok() {}
        heard
    });
    (target, served)
}

fn done(id: &str) -> Value {
    json!({"id": id, "status": 200, "sequence": 1, "body": {"was": id}})
}

fn busy_with(id: &str) -> Value {
    json!({"id": id, "status": 429, "retryAfter": 0, "error": {"code": "RATE_LIMITED"}})
}

/// The ids and operations that were heard.
fn told(heard: &[Value]) -> Vec<(&str, &str)> {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    assert!(heard.iter().all(|one| text(one, "id").is_some()));
    heard.iter().map(|one| (one["id"].as_str().unwrap(), one["op"].as_str().unwrap())).collect()
}

async fn ask(target: &Target, names: &[&str]) -> Result<Vec<Reply>, ClientError> {
    let mut stream = Stream::open(target, &ApiKey::new("k").unwrap()).await?;
    let commands: Vec<Value> = names.iter().map(|name| json!({"op": name})).collect();
    stream.ask(&commands).await
}

#[tokio::test]
async fn commands_leave_together_and_their_answers_come_back_in_order() {
    let heartbeat = json!({"kind": "heartbeat", "sequence": 7});
    let refused = json!({"id": "1", "status": 422, "error": {"code": "NO"}});
    let (target, served) = server(vec![(3, vec![done("0"), heartbeat, refused, done("2")])]);
    let replies = ask(&target, &["a", "b", "c"]).await.unwrap();
    let said: Vec<_> = replies.iter().map(|r| (r.status.as_u16(), &r.body[..])).collect();
    let expected: [(u16, &[u8]); 3] =
        [(200, br#"{"was":"0"}"#), (422, br#"{"code":"NO"}"#), (200, br#"{"was":"2"}"#)];
    assert_eq!(said, expected);
    assert_eq!(told(&served.join().unwrap()), [("0", "a"), ("1", "b"), ("2", "c")]);
}

#[tokio::test]
async fn what_a_busy_server_refused_to_the_last_is_asked_again() {
    let (target, served) =
        server(vec![(3, vec![busy_with("0"), done("1"), busy_with("2")]), (1, vec![done("3")])]);
    let replies = ask(&target, &["a", "b", "c"]).await.unwrap();
    let said: Vec<_> = replies.iter().map(|r| (r.status.as_u16(), r.repeats)).collect();
    assert_eq!(said, [(429, 0), (200, 0), (200, 1)]);
    assert_eq!(told(&served.join().unwrap()), [("0", "a"), ("1", "b"), ("2", "c"), ("3", "c")]);
}

#[tokio::test]
async fn an_answer_out_of_turn_is_an_error_and_so_is_the_end() {
    let (target, served) = server(vec![(2, vec![done("1"), done("0")])]);
    let error = ask(&target, &["a", "b"]).await.unwrap_err();
    assert!(matches!(&error, ClientError::Order(id) if id == "1"), "{error}");
    assert!(error.may_have_been_sent());
    served.join().unwrap();
    let (target, served) = server(vec![(1, vec![])]);
    let error = ask(&target, &["a"]).await.unwrap_err();
    assert!(matches!(&error, ClientError::Stream(_) | ClientError::Closed(_)), "{error}");
    served.join().unwrap();
}

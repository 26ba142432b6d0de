//! `openoutcry admin` against a running server: the operator commands that work over the API.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod starting;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_openoutcry");
const KEY: &str = "test-operator-key-of-enough-characters";

/// A running server. Killed when dropped.
struct Server {
    process: Child,
    url: String,
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Server {
    fn start(data: &Path) -> Server {
        Server::of(starting::serve(data))
    }

    #[allow(clippy::zombie_processes, reason = "waited for when dropped")]
    fn of(mut command: Command) -> Server {
        command.env("OPENOUTCRY_OPERATOR_KEY", KEY).env("OPENOUTCRY_LOG", "error");
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        loop {
            let mut line = String::new();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "it ended");
            if let Some(url) = line.trim_end().strip_prefix("listening on ") {
                return Server { process, url: url.to_owned(), _stdout: stdout };
            }
        }
    }

    fn admin(&self, args: &[&str]) -> Output {
        admin(&self.url, args)
    }

    /// Runs the command, which must succeed, and returns its standard output.
    fn says(&self, args: &[&str]) -> String {
        let output = self.admin(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.says(&args)).unwrap()
    }
}

fn admin(url: &str, args: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(["admin", "--yes"]).args(args).env("OPENOUTCRY_URL", url);
    command.env("OPENOUTCRY_OPERATOR_KEY", KEY).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn text<'a>(json: &'a Value, name: &str) -> &'a str {
    json[name].as_str().unwrap()
}

fn catalogue() -> [Value; 3] {
    let texts = json!({"pt": "Vai chover?", "en": "Will it rain?", "es": "¿Va a llover?"});
    [
        json!({"category": {"ref": "weather", "name": "Weather", "slug": "weather"}}),
        json!({"event": {"ref": "rain", "titles": texts, "subTitles": texts, "descriptions": texts,
               "images": [], "categories": ["weather"], "mutuallyExclusive": true}}),
        json!({"market": {"event": "rain", "categories": ["weather"], "questions": texts,
               "descriptions": texts, "logo": "https://assets.example.org/rain.png",
               "outcomes": [{"id": "yes", "text": texts}, {"id": "no", "text": texts}],
               "deadline": "2099-01-01T00:00:00.000Z", "makerFee": "0.02", "takerFee": "0.07"}}),
    ]
}

fn write(file: &Path, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(file, lines.join("\n")).unwrap();
}

#[test]
fn users_get_money_and_keys() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let picture = "https://assets.example.org/ann.png";
    let user = server.json(&["users", "create", "ann", "--picture", picture]);
    let id = text(&user, "id");
    let said = server.says(&["users", "deposit", id, "100.5"]);
    assert_eq!(said, "available  100.50\nreserved   0.00\ncurrency   USD\n");
    let balance = server.json(&["users", "withdraw", id, "0.5"]);
    assert_eq!(balance["available"], "100.00");
    let refused = server.admin(&["users", "withdraw", id, "100.01", "--json"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("422 INSUFFICIENT_FUNDS"), "{}", stderr(&refused));
    let problem: Value = serde_json::from_str(&stdout(&refused)).unwrap();
    assert_eq!(problem["code"], "INSUFFICIENT_FUNDS");

    let field_of = |args: &[&str], field: &str| server.json(args)[field].clone();
    assert_eq!(field_of(&["users", "rename", "ann", "Ann Lee"], "profileName"), "Ann Lee");
    assert_eq!(field_of(&["users", "rename", "Ann Lee", "ann"], "profileName"), "ann");
    let mode = |mode| field_of(&["users", "mode", id, mode], "mode");
    assert_eq!([mode("cancel-only"), mode("read-only")], ["cancel-only", "read-only"]);
    assert!(server.says(&["users", "mode", id, "normal"]).contains("normal"));
    let limit = |limit| field_of(&["users", "exposure-limit", id, limit], "exposureLimit");
    assert_eq!([limit("12.5"), limit("none")], [json!("12.50"), Value::Null]);
    let refused = server.admin(&["users", "exposure-limit", id, "x"]);
    assert!(!refused.status.success() && stderr(&refused).contains("limit"), "{refused:?}");
    let list = server.says(&["users", "list"]);
    let mut rows = list.lines();
    assert!(rows.next().unwrap().starts_with("ID "), "{list}");
    let row: Vec<&str> = rows.next().unwrap().split_whitespace().collect();
    assert_eq!((row[0], row[1], row[5]), (id, "100.00", "ann"));

    let key = server.json(&["keys", "create", id, "--role", "reader", "--label", "screen"]);
    let file = data.path().join("key");
    std::fs::write(&file, format!("{}\n", text(&key, "key"))).unwrap();
    let limited = ["users", "list", "--key-file", file.to_str().unwrap()];
    let refused = server.admin(&limited);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("403 "), "the file's key counts: {}", stderr(&refused));
    let revoked = server.json(&["keys", "revoke", id, text(&key, "keyId")]);
    assert!(revoked["revokedAt"].is_string());
    assert_eq!(server.json(&["keys", "list", id])["keys"][0], revoked);
    assert!(stderr(&server.admin(&limited)).contains("401 "));
}

#[test]
fn a_catalogue_is_imported_once_and_its_market_goes_through_its_life() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("catalogue.jsonl");
    let path = file.to_str().unwrap();
    let venue = data.path().join("venue");
    let mut lines = catalogue().to_vec();
    write(&file, &lines);

    let server = Server::start(&venue);
    let first = server.says(&["import", path]);
    assert!(first.ends_with("3 imported, 0 unchanged\n"), "{first}");
    let before = server.json(&["markets", "list"]);
    // The record of what was imported is durable: it survives a kill.
    drop(server);
    let server = Server::start(&venue);
    let second = server.says(&["import", path]);
    assert!(second.ends_with("0 imported, 3 unchanged\n"), "{second}");
    let ids = |said: &str| -> Vec<String> {
        said.lines().take(3).map(|line| line.chars().take(56).collect()).collect()
    };
    assert_eq!(ids(&first), ids(&second), "the same things");
    assert_eq!(server.json(&["markets", "list"]), before);
    let market = &before["markets"][0];
    assert!(market["eventId"].is_string());
    assert_eq!(market["categories"][0]["slug"], "weather");
    let fees = ["makerFee", "takerFee"].map(|name| text(market, name));
    assert_eq!(fees, ["0.0200", "0.0700"]);

    // The import stops at the first refused line and names it; once that line is corrected, a
    // second run imports the rest.
    let mut slow = lines[2].clone();
    slow["market"]["deadline"] = json!("soon");
    lines.extend([slow, catalogue()[2].clone()]);
    write(&file, &lines);
    let refused = server.admin(&["import", path]);
    assert_eq!(refused.status.code(), Some(1));
    let why = stderr(&refused);
    assert!(why.starts_with("openoutcry: admin: line 4: 400 INVALID_REQUEST"), "{why}");
    assert!(why.contains("\n  market.deadline "), "{why}");
    assert_eq!(server.json(&["markets", "list"])["total"], 1);
    lines.remove(3);
    write(&file, &lines);
    let fourth = server.says(&["import", path]);
    assert!(fourth.ends_with("1 imported, 3 unchanged\n"), "{fourth}");

    let id = text(market, "id");
    assert_eq!(server.json(&["markets", "publish", id])["status"], "ACTIVE");
    let mut unasked = Command::new(BINARY);
    unasked.args(["admin", "markets", "suspend", id]).env("OPENOUTCRY_URL", &server.url);
    let unasked = unasked.env("OPENOUTCRY_OPERATOR_KEY", KEY).output().unwrap();
    assert_eq!(unasked.status.code(), Some(2), "nobody can be asked");
    assert!(stderr(&unasked).contains("--yes"), "{}", stderr(&unasked));
    assert_eq!(server.json(&["markets", "suspend", id])["status"], "SUSPENDED");
    assert_eq!(server.json(&["markets", "reopen", id])["status"], "ACTIVE");
    assert_eq!(server.json(&["markets", "close", id])["status"], "CLOSED");
    let settled = server.says(&["markets", "resolve", id, "yes"]);
    assert!(settled.contains("\nstatus             SETTLED\n"), "{settled}");
    let refused = server.admin(&["markets", "dispute", id]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("INVALID_TRANSITION"), "{}", stderr(&refused));
    let draft = server.json(&["markets", "list", "--status", "draft"]);
    let draft = text(&draft["markets"][0], "id");
    server.says(&["markets", "publish", draft]);
    // The markets are mutually exclusive, and one has already resolved yes.
    let refused = server.admin(&["markets", "void", draft]);
    let says = "price REQUIRED: must be given in a mutually exclusive event";
    assert!(stderr(&refused).contains(says), "{}", stderr(&refused));
    let refused = server.admin(&["markets", "void", draft, "--price", "0.25"]);
    assert!(stderr(&refused).contains("409 EVENT_ALREADY_WON"), "{}", stderr(&refused));
    let voided = server.json(&["markets", "void", draft, "--price", "0.00"]);
    assert_eq!((&voided["status"], &voided["settlementPrice"]), (&json!("VOIDED"), &json!("0.00")));

    let fees = json!({"collected": "0.00", "taken": "0.00", "balance": "0.00", "currency": "USD"});
    assert_eq!(server.json(&["venue", "fees"]), fees);
    let refused = server.admin(&["venue", "take-fees", "0.01"]);
    assert!(stderr(&refused).contains("422 INSUFFICIENT_FEES"), "{}", stderr(&refused));

    assert_eq!(server.says(&["venue", "mode", "cancel-only"]), "mode  cancel-only\n");
    assert_eq!(server.json(&["venue", "mode"]), json!({"mode": "cancel-only"}));
}

#[test]
fn what_waits_is_listed_and_what_does_not_is_not_answered() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(&data.path().join("venue"));
    for (list, one, code) in [
        ("transfers", ["transfer", "confirm", "1"], "404 TRANSFER_NOT_FOUND"),
        ("transfers", ["transfer", "refuse", "1"], "404 TRANSFER_NOT_FOUND"),
        ("proposals", ["proposal", "confirm", "1"], "404 PROPOSAL_NOT_FOUND"),
        ("proposals", ["proposal", "reject", "1"], "404 PROPOSAL_NOT_FOUND"),
    ] {
        assert_eq!(server.json(&[list])[list], json!([]));
        let refused = server.admin(&one);
        assert!(stderr(&refused).contains(code), "{}", stderr(&refused));
    }
    assert_eq!(server.json(&["disputes"]), json!({"disputes": []}));
}

#[test]
fn a_proposal_names_its_market_and_says_that_its_outcome_was_disputed_since() {
    let data = tempfile::tempdir().unwrap();
    let mut command = starting::serve(data.path());
    command.args(["--two-persons", "10", "--dispute-window", "3600"]);
    let server = Server::of(command);
    let logo = "https://assets.example.org/rain.png";
    let create = ["--question", "Today?", "--logo", logo, "--deadline", "2099-01-01T00:00:00Z"];
    server.says(&[&["markets", "create"][..], &create].concat());
    server.says(&["markets", "publish", "today"]);
    let resolve = ["markets", "resolve", "today", "yes", "--evidence", "https://news.example.org"];
    let propose = || server.json(&resolve)["proposal"].to_string();
    let (waits, confirmed) = (propose(), propose());
    let listed = server.says(&["proposals"]);
    assert_eq!(listed.matches("  today  ").count(), 2, "{listed}");
    let ends = "  Today?    -       https://news.example.org  -\n";
    assert_eq!(listed.matches(ends).count(), 2, "{listed}");
    let eve = second_operator(&server);
    let mut confirm = Command::new(BINARY);
    confirm.args(["admin", "--yes", "--url", &server.url, "proposal", "confirm", &confirmed]);
    assert!(confirm.env("OPENOUTCRY_OPERATOR_KEY", eve).status().unwrap().success());
    server.says(&["markets", "dispute", "today"]);
    let later = propose();
    let listed = server.says(&["proposals"]);
    let line = |number: &str| {
        listed.lines().find(|line| line.split(' ').next() == Some(number)).unwrap().to_owned()
    };
    assert!(line(&waits).contains("  made before the dispute of 20"), "{listed}");
    assert!(!line(&later).contains("dispute"), "{listed}");
    let acts = server.says(&["acts"]);
    let mut about = acts.lines().filter_map(|line| line.split_whitespace().nth(5));
    assert!(about.any(|about| about == "today"), "{acts}");
}

/// The key of another operator.
fn second_operator(server: &Server) -> String {
    let user = server.json(&["users", "create", "eve", "--picture", "https://a.example"]);
    let key = ["keys", "create", text(&user, "id"), "--role", "operator", "--label", "eve"];
    text(&server.json(&key), "key").to_owned()
}

#[test]
fn what_is_proposed_says_why_and_the_latest_acts_are_shown() {
    let data = tempfile::tempdir().unwrap();
    let mut command = starting::serve(data.path());
    command.args(["--two-persons", "10"]);
    let server = Server::of(command);
    server.says(&["users", "deposit", "operator", "100"]);
    let withdraw = ["users", "withdraw", "operator", "50", "--reason", "the rent"];
    let proposed = server.says(&withdraw);
    assert!(proposed.contains("reason       the rent\n"), "{proposed}");
    let listed = server.says(&["proposals"]);
    let line = listed.lines().nth(1).unwrap();
    assert!(line.contains("  the rent  ") && line.contains("  operator ("), "{listed}");
    let kinds = |args: &[&str]| {
        let acts = server.json(&[&["acts", "--limit", "1"], args].concat());
        let all = acts["records"].as_array().unwrap().iter();
        all.map(|record| text(record, "kind").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&[]), ["WITHDRAW"]);
    assert_eq!(kinds(&["--from", "1"]), ["DEPOSIT"]);
    let acts = server.says(&["acts"]);
    let words = |line: &str| line.split_whitespace().skip(2).map(str::to_owned).collect::<Vec<_>>();
    let acts: Vec<_> = acts.lines().map(words).collect();
    assert_eq!(acts[1][..4], ["operator", "DEPOSIT", "ACCEPTED", "operator"], "{acts:?}");
    assert_eq!(acts[2][..4], ["operator", "WITHDRAW", "PROPOSED", "operator"], "{acts:?}");
    assert_eq!(acts[2][4..8], ["50.00", "-", "-", "the"], "{acts:?}");
    let refused = server.admin(&["users", "withdraw", "operator", "500"]);
    assert_eq!(refused.status.code(), Some(1));
    let acts = server.says(&["acts"]);
    let last = words(acts.lines().last().unwrap());
    assert_eq!(last[..3], ["operator", "WITHDRAW", "INSUFFICIENT_FUNDS"], "{acts:?}");
    let key = second_operator(&server);
    let mut confirm = Command::new(BINARY);
    let number = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    confirm.args(["admin", "--yes", "--url", &server.url, "proposal", "confirm", number]);
    let confirmed = confirm.env("OPENOUTCRY_OPERATOR_KEY", key).output().unwrap();
    assert!(stdout(&confirmed).ends_with("state     confirmed\n"), "{confirmed:?}");
}

#[test]
fn wrong_usage_is_refused_before_any_request_is_sent() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("catalogue.jsonl");
    write(&file, &[json!({"market": {"event": "rain"}})]);
    let nowhere = "http://127.0.0.1:1";
    let id = "00000000-0000-7000-8000-000000000000";
    for args in [
        vec!["import", file.to_str().unwrap()],
        vec!["markets", "publish", "../x"],
        vec!["markets", "publish"],
        vec!["markets", "resolve", id, "maybe"],
        vec!["users", "list", "--key-file", "/does/not/exist"],
        vec!["users", "list", "--url", "https://127.0.0.1", "--cacert", "/does/not/exist"],
        vec!["users"],
    ] {
        assert_eq!(admin(nowhere, &args).status.code(), Some(2), "{args:?}");
    }
    let why = stderr(&admin(nowhere, &["import", file.to_str().unwrap()]));
    assert!(why.contains("line 1: no earlier line has the event"), "{why}");
    let unreachable = admin(nowhere, &["users", "list"]);
    assert_eq!(unreachable.status.code(), Some(1));
    let keyless = Command::new(BINARY)
        .args(["admin", "users", "list"])
        .env_remove("OPENOUTCRY_OPERATOR_KEY")
        .output()
        .unwrap();
    assert_eq!(keyless.status.code(), Some(2));
    assert!(stderr(&keyless).contains("--key-file"), "{}", stderr(&keyless));
}

/// The head of a request; its body stays unread.
fn head(stream: &TcpStream) -> String {
    let mut head = String::new();
    let mut reader = BufReader::new(stream);
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0);
    }
    // Closing a socket with unread input sends a reset, which could discard the answer before the
    // client has read it.
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    head
}

/// The `Idempotency-Key` in the head of a request.
fn key_in(head: &str) -> String {
    let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
    key.unwrap().to_owned()
}

/// Runs the command against a server that takes one connection per reply, reads one request on it,
/// and sends the reply, or breaks the connection if there is none. Returns the requests' keys.
fn admin_of(args: &[&str], replies: &[Option<(&str, &str)>]) -> (Output, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let mut keys = Vec::new();
            for reply in replies {
                let (mut stream, _) = listener.accept().unwrap();
                keys.push(key_in(&head(&stream)));
                if let Some((status, body)) = reply {
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}");
                    write!(stream, "{head}\r\n\r\n{body}").unwrap();
                }
            }
            keys
        });
        let output = admin(&format!("http://{address}"), args);
        // Unblocks the listener, which would otherwise wait for ever if the client did not retry.
        drop(TcpStream::connect(address));
        (output, serving.join().unwrap())
    })
}

#[test]
fn a_write_whose_connection_breaks_is_sent_once_more_under_the_same_key() {
    for second in [Some(("200 OK", r#"{"mode":"normal"}"#)), None] {
        let (output, keys) = admin_of(&["venue", "mode", "normal"], &[None, second]);
        assert_eq!(keys[0], keys[1]);
        assert_eq!(output.status.code(), Some(i32::from(second.is_none())), "{output:?}");
        if second.is_none() {
            let advice = format!("--idempotency-key {} ", keys[0]);
            assert!(stderr(&output).contains(&advice), "{}", stderr(&output));
        }
    }
}

#[test]
fn the_key_of_a_write_is_named_while_its_outcome_is_unknown() {
    let deposit = ["users", "deposit", "00000000-0000-7000-8000-000000000000", "100.00"];
    let unknown = Some(("503 Service Unavailable", r#"{"code":"OUTCOME_UNKNOWN"}"#));
    let internal = Some(("500 Internal Server Error", r#"{"code":"INTERNAL_ERROR"}"#));
    let starting = Some(("503 Service Unavailable", r#"{"code":"STARTING"}"#));
    let poor = Some(("422 Unprocessable Content", r#"{"code":"INSUFFICIENT_FUNDS"}"#));
    for (replies, cause) in [
        (vec![unknown], "admin: 503 OUTCOME_UNKNOWN; "),
        (vec![internal], "admin: 500 INTERNAL_ERROR; "),
        (vec![None, starting], "; sent again: 503 STARTING; "),
    ] {
        let (output, keys) = admin_of(&deposit, &replies);
        let (why, advice) = (stderr(&output), format!("--idempotency-key {} ", keys[0]));
        assert_eq!(output.status.code(), Some(1), "{why}");
        assert!(why.contains(cause) && why.contains(&advice), "{why}");
        let (output, keys) = admin_of(&[&deposit[..], &["--json"]].concat(), &replies);
        assert!(stdout(&output).starts_with(r#"{"code":"#), "{output:?}");
        assert!(stderr(&output).contains(&keys[0]), "{}", stderr(&output));
    }
    // Of these it is known that nothing was done.
    for replies in [vec![starting], vec![poor], vec![None, poor]] {
        let (output, _) = admin_of(&deposit, &replies);
        assert_eq!(output.status.code(), Some(1));
        assert!(!stderr(&output).contains("--idempotency-key"), "{}", stderr(&output));
    }
}

/// An import takes its keys from the lines, so its advice is to run it again.
#[test]
fn an_import_whose_outcome_is_unknown_is_to_be_run_again() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("catalogue.jsonl");
    write(&file, &catalogue()[..1]);
    let unknown = Some(("503 Service Unavailable", r#"{"code":"OUTCOME_UNKNOWN"}"#));
    let (output, _) = admin_of(&["import", file.to_str().unwrap()], &[unknown]);
    let why = stderr(&output);
    assert!(why.contains("line 1: 503 OUTCOME_UNKNOWN; run the import again"), "{why}");
}

/// The command with its settings in a folder of the test's.
fn at_home(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("admin").args(args).env("XDG_CONFIG_HOME", home);
    command.env_remove("OPENOUTCRY_URL").env_remove("OPENOUTCRY_OPERATOR_KEY");
    command
}

#[test]
fn a_context_has_server_and_key_and_only_its_owner_reads_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(&data.path().join("venue"));
    let home = data.path().join("home");
    let file = data.path().join("key");
    let said = |args: &[&str]| at_home(&home, args).output().unwrap();
    let login = ["login", "here", "--url", &server.url, "--key-file", file.to_str().unwrap()];

    std::fs::write(&file, "wrong".repeat(10)).unwrap();
    assert_eq!(said(&login).status.code(), Some(1), "the server is asked");
    assert_eq!(said(&["contexts"]).status.code(), Some(0));
    std::fs::write(&file, KEY).unwrap();
    let kept = said(&login);
    assert!(stdout(&kept).contains("scope    operator"), "{kept:?}");
    let listed = stdout(&said(&["contexts"]));
    assert!(listed.contains(&server.url) && listed.contains("true"), "{listed}");
    assert_eq!(said(&["venue", "mode"]).status.code(), Some(0), "the context has all it takes");
    assert_eq!(said(&["venue", "mode", "--context", "here"]).status.code(), Some(0));
    assert_eq!(said(&["venue", "mode", "--context", "there"]).status.code(), Some(2));
    // Of two servers none is chosen, and a context is not kept under another name.
    let beside = |args: &[&str]| {
        let mut command = at_home(&home, args);
        command.env("OPENOUTCRY_CONTEXT", "here").output().unwrap()
    };
    assert_eq!(beside(&["venue", "mode"]).status.code(), Some(0));
    for args in [&["venue", "mode", "--url", "http://127.0.0.1:9"][..], &["login", "other"]] {
        let refused = beside(args);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(stderr(&refused).contains("has its own server and key"), "{refused:?}");
    }
    // A key goes only where it was given for.
    let elsewhere = said(&["venue", "mode", "--url", &server.url]);
    assert_eq!(elsewhere.status.code(), Some(2), "{elsewhere:?}");

    let contexts = home.join("openoutcry/contexts.toml");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&contexts), 0o600);
    std::fs::set_permissions(&contexts, Permissions::from_mode(0o644)).unwrap();
    let exposed = said(&["venue", "mode"]);
    assert_eq!(exposed.status.code(), Some(2));
    assert!(stderr(&exposed).contains("chmod 600"), "{exposed:?}");
    std::fs::set_permissions(&contexts, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(said(&["logout", "here"]).status.code(), Some(0));
    assert!(!std::fs::read_to_string(&contexts).unwrap().contains(KEY));
    assert_eq!(said(&["venue", "mode"]).status.code(), Some(2));
}

#[test]
fn users_are_named_by_their_names_where_only_one_has_them() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let picture = "https://assets.example.org/ann.png";
    let create = |name| server.json(&["users", "create", name, "--picture", picture]);
    let (ann, _) = (create("Ann B."), create("Anna"));
    assert_eq!(server.json(&["users", "deposit", "Ann B.", "5"])["available"], "5.00");
    assert_eq!(server.json(&["users", "show", "Ann B."])["id"], ann["id"]);
    assert_eq!(server.json(&["users", "find", "ann"])["total"], 2);
    let ledger = server.json(&["users", "account", "Ann B.", "ledger"]);
    assert_eq!(ledger["lines"].as_array().unwrap().len(), 1);
    assert_eq!(server.json(&["users", "suspend", "Anna"])["mode"], "read-only");
    assert_eq!(server.json(&["users", "resume", "Anna"])["mode"], "normal");
    assert_eq!(server.json(&["users", "cancel", "Anna"])["cancelled"], json!([]));
    assert!(server.says(&["keys", "list", "Anna"]).starts_with("KEY ID"));
    let nobody = server.admin(&["users", "deposit", "Ann", "1"]);
    assert!(stderr(&nobody).contains("nobody is called `Ann`"), "{nobody:?}");
    create("Anna");
    let several = server.admin(&["users", "deposit", "Anna", "1"]);
    assert!(stderr(&several).contains("several users are called"), "{several:?}");
    assert_eq!(several.status.code(), Some(1));
}

#[test]
fn markets_events_and_categories_are_made_and_edited_in_one_language() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let category = server.json(&["categories", "create", "Weather", "weather"]);
    let category = text(&category, "id");
    let event = ["events", "create", "--title", "Rain", "--category", category, "--exclusive"];
    let event = server.json(&event);
    assert_eq!(event["titles"], json!({"en": "Rain", "pt": "[en] Rain", "es": "[en] Rain"}));
    let pt = ["events", "edit", "rain", "--title", "Chuva", "--language", "pt"];
    let edited = server.json(&pt);
    assert_eq!(edited["titles"], json!({"en": "Rain", "pt": "Chuva", "es": "[en] Rain"}));
    let create = |question| {
        let picture = "https://assets.example.org/rain.png";
        let args = ["markets", "create", "--question", question, "--logo", picture];
        let more = ["--deadline", "2099-01-01T00:00:00Z", "--event", text(&event, "id")];
        server.json(&[&args[..], &more[..]].concat())
    };
    let first = create("Today?");
    assert_eq!(first["eventId"], event["id"]);
    create("Tomorrow?");
    let fee = server.json(&["markets", "edit", text(&first, "slug"), "--taker-fee", "0.05"]);
    assert_eq!((&fee["takerFee"], &fee["questions"]), (&json!("0.0500"), &first["questions"]));
    let published = server.says(&["markets", "publish", "--all-drafts"]);
    assert_eq!(published.matches("  ACTIVE  ").count(), 2, "{published}");
    // What is refused is said, and the others go on.
    create("Some day?");
    let some = server.admin(&["markets", "publish", "today", "some-day"]);
    assert_eq!(some.status.code(), Some(1));
    assert!(stderr(&some).contains("1 of 2 were refused"), "{some:?}");
    assert!(stdout(&some).contains("ACTIVE  Some day?"), "{some:?}");
    assert_eq!(server.json(&["markets", "show", "some-day"])["status"], "ACTIVE");
    assert!(server.says(&["events", "list"]).contains("Rain"));
    assert!(server.says(&["categories", "list"]).contains("weather"));
}

#[test]
fn an_import_makes_all_or_nothing_and_a_dry_run_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(&data.path().join("venue"));
    let file = data.path().join("catalogue.jsonl");
    let path = file.to_str().unwrap();
    let mut lines = catalogue();
    lines[2]["market"]["questions"] = json!("Will it rain?");
    lines[2]["market"]["logo"] = json!("no URL");
    write(&file, &lines);
    let refused = server.admin(&["import", path]);
    assert!(stderr(&refused).contains("line 3: 400 INVALID_REQUEST"), "{refused:?}");
    assert_eq!(server.json(&["categories", "list"])["categories"], json!([]));
    lines[2]["market"]["logo"] = json!("https://assets.example.org/rain.png");
    write(&file, &lines);
    assert_eq!(server.json(&["import", "--dry-run", path]), json!({"lines": 3, "imported": 0}));
    assert_eq!(server.json(&["categories", "list"])["categories"], json!([]));
    assert!(server.says(&["import", path]).ends_with("3 imported, 0 unchanged\n"));
    // What is there already is no fault; a slug that another has is, before anything is made.
    assert!(server.says(&["import", path]).ends_with("0 imported, 3 unchanged\n"));
    let new = json!({"category": {"name": "Sport", "slug": "sport"}});
    let taken = json!({"category": {"name": "Other weather", "slug": "weather"}});
    write(&file, &[new.clone(), taken]);
    let refused = server.admin(&["import", path]);
    assert!(stderr(&refused).contains("line 2: 409 SLUG_TAKEN"), "{refused:?}");
    write(&file, &[new, json!({"category": {"name": "Sports", "slug": "sport"}})]);
    let refused = server.admin(&["import", path]);
    assert!(
        stderr(&refused).contains("line 2: the category of line 1 has the slug"),
        "{refused:?}"
    );
    assert_eq!(server.json(&["categories", "list"])["categories"].as_array().unwrap().len(), 1);
    let questions = &server.json(&["markets", "list"])["markets"][0]["questions"];
    assert_eq!(questions["pt"], "[en] Will it rain?");
}

#[test]
fn the_state_of_a_venue_is_told_once_or_again_and_again() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let status = server.json(&["status"]);
    assert_eq!((&status["state"], &status["mode"]), (&json!("ready"), &json!("normal")));
    assert!(status["headSequence"].as_u64().unwrap() > 0, "{status}");
    let looks = server.says(&["top", "--json", "--every", "1", "--count", "2"]);
    let looks: Vec<Value> = looks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(looks.len(), 2);
    assert_eq!((&looks[1]["state"], &looks[1]["users"]), (&json!("ready"), &json!(1)));
    assert!(looks[1]["diskFreeBytes"].as_u64().unwrap() > 0);
    assert!(looks[1]["requests"]["reads"]["p99Microseconds"].is_u64(), "{}", looks[1]);
}

//! Settings: what `init` makes, where a server's settings come from, and what it takes over while
//! it runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod starting;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_openoutcry");
const KEY: &str = "configure-operator-key-0123456789abcdef-xyz";

/// Runs the binary without settings of its own, but these.
fn run(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(BINARY);
    starting::without_settings(&mut command);
    command.args(args).envs(variables.iter().copied()).output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// A running server, its address, and the line that says what to do next; killed when dropped.
struct Server(Child, String, String);

impl Server {
    #[allow(clippy::zombie_processes, reason = "waited for when dropped")]
    fn start(mut command: Command) -> Server {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = |begin: &str| loop {
            let mut line = String::new();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "it ended");
            if let Some(rest) = line.trim_end().strip_prefix(begin) {
                return rest.to_owned();
            }
        };
        let url = line("listening on ");
        let address = url.split_once("://").unwrap().1.to_owned();
        let next = line("next: ");
        Server(process, address, next)
    }

    /// A request with these lines: status and all of the answer.
    fn ask(address: &str, request: &str) -> (String, String) {
        Server::send(address, request, "")
    }

    /// The same, with a body.
    fn send(address: &str, request: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("{request}\r\nConnection: close\r\nHost: localhost\r\n\r\n");
        write!(stream, "{head}{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().to_owned(), answer)
    }

    /// A `GET` of the interface: status and all of the answer.
    fn get(&self, path: &str, key: &str) -> (String, String) {
        Server::ask(&self.1, &format!("GET /api/v1{path} HTTP/1.1\r\nX-API-Key: {key}"))
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if so() {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}

#[test]
fn init_makes_a_venue_that_serve_starts() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("new/venue");
    let name = data.to_str().unwrap();
    let (code, told) = said(&run(&["init", name], &[]));
    assert_eq!(code, Some(0), "{told}");
    let line = |begin: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(begin));
        line.unwrap_or_else(|| panic!("{begin} in {told}")).to_owned()
    };
    let (key, invitation) = (line("operator key: "), line("invitation: "));
    assert!(invitation.starts_with("http://127.0.0.1:8080/invitations#"), "{invitation}");
    assert_eq!(line("next: "), format!("openoutcry serve --data {name}"));
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
    let file = data.join("openoutcry.toml");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Its file is read, and its key opens it.
    fs::write(&file, "listen = \"127.0.0.1:0\"\n").unwrap();
    let mut command = starting::plain();
    command.args(["--data", name]);
    let server = Server::start(command);
    assert_eq!(server.get("/admin/users", &key).0, "200");
    drop(server);
    // It begins once.
    let (code, told) = said(&run(&["init", name], &[]));
    assert!(code == Some(1) && told.contains("holds a venue already"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "listen = \"127.0.0.1:0\"\n");
}

#[test]
fn init_takes_a_key_that_is_given_and_a_place_for_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("key"), format!("{KEY}\n")).unwrap();
    let given = [("OPENOUTCRY_OPERATOR_KEY_FILE", path("key"))];
    let given = given.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (code, told) = said(&run(&["init", &path("venue"), "--config", &path("a.toml")], &given));
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("operator key") && told.contains("serve --config"), "{told}");
    assert!(!Path::new(&path("venue/openoutcry.toml")).exists());
    let mut text = fs::read_to_string(path("a.toml")).unwrap();
    text.push_str("listen = \"127.0.0.1:0\"\noperator-key-file = \"key\"\n");
    fs::write(path("a.toml"), text).unwrap();
    let mut command = starting::plain();
    command.args(["--config", &path("a.toml")]);
    assert_eq!(Server::start(command).get("/admin/users", KEY).0, "200");
}

#[test]
fn a_flag_comes_before_a_variable_before_the_file_before_the_default() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("openoutcry.toml");
    let text = "listen = \"127.0.0.1:1\"\nrate-reads = 5\nrate-writes = 6\narchive = \"b\"\n";
    fs::write(&file, text).unwrap();
    let (data, archive) = (dir.path().to_str().unwrap(), dir.path().join("b"));
    let show = ["config", "show", "--data", data, "--listen", "127.0.0.1:3"];
    let variables = [("OPENOUTCRY_LISTEN", "127.0.0.1:2"), ("OPENOUTCRY_RATE_READS", "7:8")];
    let (code, told) = said(&run(&show, &variables));
    assert_eq!(code, Some(0), "{told}");
    for line in [
        &format!("# {}", file.display()),
        "listen = \"127.0.0.1:3\"  # flag",
        "rate-reads = \"7:8\"  # environment",
        "rate-writes = 6  # file",
        &format!("archive = \"{}\"  # file", archive.display()),
        "rate-cancels = 4000  # default",
        "# public-url is not set",
    ] {
        assert!(told.lines().any(|one| one == line), "{line} in {told}");
    }
    // What it shows is what a start says is wrong.
    fs::write(&file, "lisen = \"127.0.0.1:1\"\n").unwrap();
    for verb in [&["config", "show"][..], &["serve"]] {
        let (code, told) = said(&run(&[verb, &["--data", data]].concat(), &[]));
        assert!(code == Some(2) && told.contains("did you mean listen?"), "{told}");
    }
    fs::write(&file, "[server]\nlisten = \"127.0.0.1:1\"\n").unwrap();
    let (code, told) = said(&run(&["config", "show", "--data", data], &[]));
    assert!(code == Some(2) && told.contains("[server]: there are no sections"), "{told}");
    fs::write(&file, "data = \"elsewhere\"\n").unwrap();
    let (code, told) = said(&run(&["config", "show", "--data", data], &[]));
    assert!(code == Some(2) && told.contains("data directory already"), "{told}");
    let missing = ["config", "show", "--config", "/nonexistent/openoutcry.toml"];
    assert_eq!(said(&run(&missing, &[])).0, Some(2));
}

#[test]
fn a_hangup_applies_limits_and_filter_and_names_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let (data, log) = (dir.path().join("venue"), dir.path().join("log"));
    let mut command = starting::serve(&data);
    command.env("OPENOUTCRY_OPERATOR_KEY", KEY).stderr(File::create(&log).unwrap());
    let server = Server::start(command);
    let logged = |word: &str| fs::read_to_string(&log).unwrap().contains(word);
    let file = data.join("openoutcry.toml");
    fs::write(&file, "rate-reads = \"lots\"\n").unwrap();
    server.signal("HUP");
    until("a faulty file is refused", || logged("SIGHUP: nothing was changed"));
    assert!(logged("rate-reads: invalid value 'lots'"));
    fs::write(&file, "daily-records = 77\nlog = \"debug\"\nkeep-alive = 9\n").unwrap();
    server.signal("HUP");
    until("what waits is named", || logged("keep-alive 75 -> 9"));
    assert!(logged("daily-records 10000000 -> 77") && logged("log info -> debug"));
    server.get("/time", KEY);
    until("the filter is applied", || logged("answered"));
    assert_eq!(server.get("/admin/users", KEY).0, "200");
}

#[test]
fn operators_have_an_entrance_of_their_own_if_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = starting::serve(&dir.path().join("venue"));
    command.args(["--admin-listen", "127.0.0.1:0"]).env("OPENOUTCRY_OPERATOR_KEY", KEY);
    let server = Server::start(command);
    let operators = server.2.split("http://").nth(1).unwrap().split(' ').next().unwrap();
    assert_ne!(operators, server.1);
    for path in ["/api/v1/admin/users", "/api/v1/admin/nothing", "/metrics", "/api/v1/time"] {
        let ask = |address: &str, key: &str| {
            Server::ask(address, &format!("GET {path} HTTP/1.1\r\nX-API-Key: {key}")).0
        };
        let (here, there) = match path {
            "/api/v1/time" => ("200", "200"),
            "/api/v1/admin/nothing" => ("404", "404"),
            _ => ("403", "200"),
        };
        assert_eq!(ask(&server.1, KEY), here, "{path}");
        assert_eq!(ask(operators, KEY), there, "{path}");
        assert_eq!(ask(&server.1, "nobodys-key-of-enough-characters-here"), "401", "{path}");
    }
    // Nor does an operator's key come of the other one.
    let body = r#"{"scope": "operator", "label": "spare"}"#;
    let head = "POST /api/v1/account/keys HTTP/1.1\r\nX-API-Key:";
    let make = format!("{head} {KEY}\r\nContent-Length: {}", body.len());
    assert_eq!(Server::send(&server.1, &make, body).0, "403");
    assert_eq!(Server::send(operators, &make, body).0, "201");
    let journal = "GET /api/v1/stream?subscribe=journal HTTP/1.1\r\nAccept: text/event-stream";
    let told = Server::ask(&server.1, &format!("{journal}\r\nX-API-Key: {KEY}"));
    assert_eq!(told.0, "403", "the journal goes round no corner: {}", told.1);
    assert_eq!(Server::ask(&server.1, "GET /healthz HTTP/1.1").0, "200");
}

#[test]
fn operators_come_by_a_socket_of_the_file_system_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("admin.sock");
    let place = format!("unix:{}", path.display());
    let command = |name: &str| {
        let mut command = starting::serve(&dir.path().join(name));
        command.args(["--admin-listen", &place]).env("OPENOUTCRY_OPERATOR_KEY", KEY);
        command
    };
    let mut server = Server::start(command("venue"));
    assert!(server.2.contains(&format!("--url {place} ")), "{}", server.2);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    assert_eq!(server.get("/admin/users", KEY).0, "403");
    let status = || {
        let key = [("OPENOUTCRY_OPERATOR_KEY", KEY)];
        said(&run(&["admin", "--url", &place, "status"], &key))
    };
    let (code, told) = status();
    assert!(code == Some(0) && told.contains("headSequence"), "{told}");
    let (code, told) = said(&command("other").output().unwrap());
    assert!(code == Some(1) && told.contains(&place) && told.contains("another"), "{told}");
    // One that was killed leaves its file, one that was stopped does not.
    server.signal("KILL");
    server.0.wait().unwrap();
    assert!(path.exists() && status().1.contains("cannot connect"));
    server = Server::start(command("venue"));
    assert_eq!(status().0, Some(0));
    server.signal("TERM");
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
    assert!(!path.exists());
}

#[test]
fn pages_of_a_listed_origin_may_ask_and_others_may_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = starting::serve(&dir.path().join("venue"));
    command.env("OPENOUTCRY_CORS_ORIGIN", "https://app.example,https://other.example");
    command.env("OPENOUTCRY_OPERATOR_KEY", KEY);
    let server = Server::start(command);
    let from = |origin: &str, request: &str| {
        Server::ask(&server.1, &format!("{request}\r\nOrigin: https://{origin}"))
    };
    let preflight = "OPTIONS /api/v1/trading/orders HTTP/1.1\r\n\
                     Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-api-key";
    let read = format!("GET /api/v1/time HTTP/1.1\r\nX-API-Key: {KEY}");
    for origin in ["app.example", "other.example"] {
        let allowed = format!("access-control-allow-origin: https://{origin}\r\n");
        let (status, answer) = from(origin, preflight);
        assert!(status == "204" && answer.contains(&allowed), "{answer}");
        assert!(answer.contains("POST") && answer.contains("x-api-key"), "{answer}");
        let (status, answer) = from(origin, &read);
        assert!(status == "200" && answer.contains(&allowed), "{answer}");
        // A refusal can be read, too.
        let (status, answer) = from(origin, "GET /api/v1/time HTTP/1.1");
        assert!(status == "401" && answer.contains(&allowed), "{answer}");
    }
    for request in [preflight, &read] {
        assert!(!from("evil.example", request).1.contains("access-control"), "{request}");
    }
    assert_eq!(from("evil.example", preflight).0, "401");
}

#[test]
fn pages_show_pictures_of_listed_origins_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = starting::serve(&dir.path().join("venue"));
    command.env("OPENOUTCRY_IMAGE_ORIGIN", "https://images.example");
    command.env("OPENOUTCRY_OPERATOR_KEY", KEY);
    let server = Server::start(command);
    let (_, page) = Server::ask(&server.1, "GET / HTTP/1.1");
    assert!(page.contains("; img-src 'self' https://images.example\r\n"), "{page}");
    let (_, site) = Server::ask(&server.1, "GET /api/v1/venue HTTP/1.1");
    assert!(site.contains(r#""imageOrigins":["https://images.example"]"#), "{site}");
    assert!(site.contains(r#""openIdConnect":false"#), "{site}");
}

#[test]
fn an_identity_provider_needs_what_belongs_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("venue");
    let asked = |more: &[&str]| {
        let serve = ["serve", "--init", "--data", data.to_str().unwrap()];
        said(&run(&[&serve, more].concat(), &[]))
    };
    let issuer = ["--openid-issuer", "https://id.example"];
    let (code, told) = asked(&issuer);
    assert!(code == Some(2) && told.contains("--openid-client-id"), "{told}");
    let client = ["--openid-client-id", "venue"];
    let (code, told) = asked(&[&issuer[..], &client].concat());
    assert!(code == Some(2) && told.contains("--public-url"), "{told}");
    let (code, told) = asked(&[&["--openid-issuer", "http://id.example"][..], &client].concat());
    assert!(code == Some(2) && told.contains("must be https://"), "{told}");
    let url = ["--public-url", "https://venue.example"];
    let secret = ["--openid-client-secret-file", "/nonexistent/secret"];
    let (code, told) = asked(&[&issuer[..], &client, &url, &secret].concat());
    assert!(code == Some(2) && told.contains("/nonexistent/secret"), "{told}");
    assert!(!data.exists(), "nothing was begun");
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_would_mend_it() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("venue");
    let name = data.to_str().unwrap();
    let look = |more: &[&str]| {
        let listen = ["doctor", "--data", name, "--listen", "127.0.0.1:0"];
        said(&run(&[&listen, more].concat(), &[]))
    };
    let (code, told) = look(&[]);
    assert!(code == Some(1) && told.contains("OPEN_MISSING"), "{told}");
    assert_eq!(run(&["init", name], &[]).status.code(), Some(0));
    let (_, told) = look(&[]);
    assert!(told.contains("ok    journal   record ") && told.contains("look  archive"), "{told}");
    let (_, told) = look(&["--public-url", "https://venue.example"]);
    assert!(told.contains("look  tls       none, and no proxy is named"), "{told}");
    let proxy = ["--public-url", "https://venue.example", "--trusted-proxy", "127.0.0.1"];
    assert!(look(&proxy).1.contains("ok    tls"), "a proxy speaks it");
    let (_, told) = look(&["--archive-s3", "s3://bucket/venue"]);
    assert!(told.contains("look  archive   ARCHIVE_FAILED: s3://bucket/venue: no keys"), "{told}");
    assert_eq!(look(&["--archive-s3", "https://bucket"]).0, Some(2));
    // Only root can give a folder away.
    if std::os::unix::fs::chown(&data, Some(65_534), None).is_ok() {
        let (_, told) = look(&[]);
        assert!(told.contains("belongs to the user with the number 65534"), "{told}");
        std::os::unix::fs::chown(&data, Some(0), None).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::chown(&elsewhere, Some(65_534), None).unwrap();
        let (code, told) = said(&run(&["init", elsewhere.to_str().unwrap()], &[]));
        assert!(code == Some(1) && told.contains("belongs to the user"), "{told}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
    // What others can read, an archive in the wrong place, a certificate that is none.
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    let inside = data.join("archive");
    let certificate = ["--tls-cert", "/nonexistent/chain", "--tls-key", "/nonexistent/key"];
    let archive = ["--archive", inside.to_str().unwrap()];
    let (code, told) = look(&[&certificate[..], &archive].concat());
    assert_eq!(code, Some(1));
    for says in ["chmod -R go-rwx", "is inside the data directory", "bad   tls"] {
        assert!(told.contains(says), "{says} in {told}");
    }
}

#[cfg(feature = "tls")]
mod over_tls {
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
    use tungstenite::Message;

    use super::*;

    fn file(name: &str) -> String {
        format!("{}/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    /// A server whose certificate is a copy in this folder, named by its file of settings.
    fn server(dir: &Path) -> Server {
        let data = dir.join("venue");
        fs::create_dir(&data).unwrap();
        renew(dir, "first");
        let settings = "tls-cert = \"../chain.pem\"\ntls-key = \"../key.pem\"\n";
        fs::write(data.join("openoutcry.toml"), settings).unwrap();
        let mut command = starting::serve(&data);
        command.env("OPENOUTCRY_OPERATOR_KEY", KEY).stderr(File::create(dir.join("log")).unwrap());
        Server::start(command)
    }

    fn renew(dir: &Path, name: &str) {
        fs::copy(file(&format!("{name}.pem")), dir.join("chain.pem")).unwrap();
        fs::copy(file(&format!("{name}.key")), dir.join("key.pem")).unwrap();
    }

    #[test]
    fn the_doctor_holds_the_certificate_against_the_public_url() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("venue");
        let name = data.to_str().unwrap();
        assert_eq!(run(&["init", name], &[]).status.code(), Some(0));
        let look = |url: &str, more: &[&str]| {
            let (chain, key) = (file("first.pem"), file("first.key"));
            let listen = ["doctor", "--data", name, "--listen", "127.0.0.1:0"];
            let tls = ["--tls-cert", &chain, "--tls-key", &key, "--public-url", url];
            said(&run(&[&listen[..], &tls, more].concat(), &[])).1
        };
        for own in ["https://localhost:8443", "https://LOCALHOST", "https://127.0.0.1"] {
            let told = look(own, &[]);
            assert!(told.contains("ok    tls       the certificate is good for"), "{told}");
        }
        for other in ["https://venue.example:8443", "https://[::1]"] {
            let told = look(other, &[]);
            let says =
                format!("look  tls       browsers refuse the certificate at {other}: it is for ");
            assert!(told.contains(&(says + "localhost, 127.0.0.1: name one for")), "{told}");
        }
        let told = look("https://venue.example", &["--trusted-proxy", "127.0.0.1"]);
        assert!(told.contains("ok    tls"), "browsers see the proxy's: {told}");
    }

    #[test]
    fn the_name_of_the_certificate_is_told_and_the_other_scheme_is_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let settings = ["--tls-cert", &file("first.pem"), "--tls-key", &file("first.key")];
        let mut command = starting::serve(&dir.path().join("venue"));
        command.args(settings).args(["--public-url", "https://venue.example"]);
        let server = Server::start(command);
        assert!(server.2.contains("--url https://venue.example "), "{}", server.2);
        let plain = format!("http://{}", server.1);
        let key = [("OPENOUTCRY_OPERATOR_KEY", KEY)];
        let (code, told) = said(&run(&["admin", "--url", &plain, "status"], &key));
        assert!(code == Some(1) && told.contains("begin with https://?"), "{told}");
        let over_tls = format!("https://{}", server.1);
        let (code, told) = said(&run(&["admin", "--url", &over_tls, "status"], &key));
        assert!(code == Some(2) || told.contains("nobody who is believed vouches"), "{told}");
    }

    #[test]
    fn operators_and_streams_speak_it_too() {
        let dir = tempfile::tempdir().unwrap();
        let server = server(dir.path());
        assert!(server.2.contains("--url https://127.0.0.1:"), "{}", server.2);
        let admin = |more: &[&str]| {
            let url = format!("https://{}", server.1);
            let args = [&["admin", "--url", &url, "users", "list"], more].concat();
            said(&run(&args, &[("OPENOUTCRY_OPERATOR_KEY", KEY)]))
        };
        assert_eq!(admin(&["--cacert", &file("ca.pem")]).0, Some(0));
        let (code, told) = admin(&[]);
        assert!(code == Some(1) || code == Some(2), "nobody vouches for it: {told}");
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(file("ca.pem")).unwrap()).unwrap();
        let config =
            ClientConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = StreamOwned::new(session, TcpStream::connect(&server.1).unwrap());
        let request = tungstenite::http::Request::builder()
            .uri("wss://localhost/api/v1/stream")
            .header("Host", "localhost")
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", tungstenite::handshake::client::generate_key())
            .header("X-API-Key", KEY)
            .body(())
            .unwrap();
        let (mut socket, _) = tungstenite::client(request, stream).unwrap();
        let welcome = socket.read().unwrap().into_text().unwrap();
        assert!(welcome.contains("welcome"), "{welcome}");
        for id in ["one", "two"] {
            let asked = format!(r#"{{"id":"{id}","op":"ping"}}"#);
            socket.send(Message::text(asked)).unwrap();
            loop {
                if socket.read().unwrap().into_text().unwrap().contains(&format!("\"{id}\"")) {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_hangup_renews_the_certificate() {
        let dir = tempfile::tempdir().unwrap();
        let server = server(dir.path());
        let log = || fs::read_to_string(dir.path().join("log")).unwrap();
        renew(dir.path(), "second");
        server.signal("HUP");
        until("it is renewed", || log().contains("another certificate"));
        fs::write(dir.path().join("key.pem"), "nonsense").unwrap();
        server.signal("HUP");
        until("a faulty one is refused", || log().contains("SIGHUP: nothing was changed"));
    }
}

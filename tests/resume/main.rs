//! Streams that are cut and go on: whatever a client missed, and however often, what it was told in
//! the end is message for message what one was told that never was away, also over restarts of the
//! venue.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod client;
mod recorded;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../snapshots/venue.rs"]
mod venue;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Engine;
use engine::start::Running;
use exchange::command::{Command, Role};
use exchange::ids::UserNo;
use exchange::units::Sequence;
use flow::lines::Source;
use flow::{Flow, sample};
use http::stream::hub::Hub;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use client::{Client, caller};
use venue::{commands, play, start};

/// Steps of the long story.
const STEPS: usize = 200;
/// Records between two snapshots.
const SNAPSHOT_EVERY: u64 = 150;

/// What happens to the clients in a round.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// So many commands are played.
    Play(usize),
    /// A client reads so many times.
    Read(usize, usize),
    /// A client's connection is cut.
    Cut(usize),
    /// A client comes back.
    Resume(usize),
    /// The venue is stopped and started again.
    Restart,
    /// The venue is killed, and what is on its disk is started.
    Kill,
}

/// A venue that may be stopped and killed, and the clients of its stream.
struct Scene {
    data: TempDir,
    running: Option<Running>,
    engine: Engine,
    hub: Arc<Hub>,
    /// Never cut, but when the venue stops: then they come back before anything happens.
    whole: Vec<Client>,
    cut: Vec<Client>,
    played: usize,
}

/// The channels of each client. Of the last only the latest state counts.
fn clients(engine: &Engine) -> Vec<Client> {
    let view = engine.read();
    let [first, second] =
        [0, 1].map(|place| view.catalogue.markets_created().nth(place).unwrap().id.to_string());
    drop(view);
    let of = |channel: &str, market: &str| format!("{channel}:{market}");
    let mut clients = vec![
        Client::of(caller(UserNo(0), Role::Operator), &["journal", "account"], true),
        Client::of(caller(UserNo(1), Role::Trader), &["account", "trades:*", "activity:*"], true),
        Client::of(caller(UserNo(2), Role::Trader), &["orders:*", "account"], true),
    ];
    for market in [&first, &second] {
        let channels = ["book", "orders", "trades", "activity"].map(|kind| of(kind, market));
        let channels: Vec<&str> = channels.iter().map(String::as_str).collect();
        clients.push(Client::of(caller(UserNo(3), Role::Trader), &channels, true));
    }
    let states = [of("market", &first), format!("book:{second}:top"), "markets".to_owned()];
    let states: Vec<&str> = states.iter().map(String::as_str).collect();
    clients.push(Client::of(caller(UserNo(4), Role::Trader), &states, false));
    clients
}

impl Scene {
    fn begin() -> Scene {
        let data = tempfile::tempdir().unwrap();
        let running = start(data.path(), SNAPSHOT_EVERY);
        let engine = running.engine();
        // Accounts and markets.
        let opening = opening();
        play(&engine, &commands()[..opening]);
        let (hub, whole, cut) = (Arc::default(), clients(&engine), clients(&engine));
        let mut scene =
            Scene { data, running: Some(running), engine, hub, whole, cut, played: opening };
        scene.come_back();
        scene
    }

    /// Those who are never cut come back.
    fn come_back(&mut self) {
        for client in &mut self.whole {
            client.resume(&self.hub, &self.engine);
        }
    }

    /// Those who are never cut read what there is.
    fn read_whole(&mut self) {
        self.whole.iter_mut().for_each(|client| while client.read() {});
    }

    fn step(&mut self, step: Step) {
        let count = self.cut.len();
        match step {
            Step::Play(commands) => {
                let rest = &venue::commands()[self.played..];
                let part = &rest[..commands.min(rest.len())];
                play(&self.engine, part);
                self.played += part.len();
                self.read_whole();
            }
            Step::Read(client, times) => {
                let client = &mut self.cut[client % count];
                for _ in 0..times {
                    client.read();
                }
            }
            Step::Cut(client) => self.cut[client % count].cut(),
            Step::Resume(client) => {
                self.cut[client % count].resume(&self.hub, &self.engine);
            }
            Step::Restart | Step::Kill => self.restart(matches!(step, Step::Kill)),
        }
    }

    fn restart(&mut self, killed: bool) {
        let clients = self.whole.iter_mut().chain(&mut self.cut);
        clients.for_each(Client::cut);
        self.hub = Arc::default();
        let copy = killed.then(|| {
            let copy = tempfile::tempdir().unwrap();
            copy_folder(self.data.path(), copy.path());
            copy
        });
        let stopped = self.running.take().unwrap().stop().unwrap();
        assert_eq!(stopped.halted, None);
        if let Some(copy) = copy {
            self.data = copy;
        }
        let running = start(self.data.path(), SNAPSHOT_EVERY);
        self.engine = running.engine();
        self.running = Some(running);
        self.come_back();
    }

    /// All catch up, and have been told the same; so is one who begins now with record 1.
    fn end(mut self) {
        let mut late = clients(&self.engine);
        for (client, late) in self.cut.iter_mut().zip(&mut late) {
            client.resume(&self.hub, &self.engine);
            late.resume(&self.hub, &self.engine);
        }
        for ((whole, cut), late) in self.whole.iter_mut().zip(&mut self.cut).zip(&mut late) {
            whole.catch_up(&self.engine);
            cut.catch_up(&self.engine);
            late.catch_up(&self.engine);
            if whole.is_exact {
                cut.assert_told_as(whole);
                late.assert_told_as(whole);
            } else {
                client::assert_same_state(&mut [whole, cut, late]);
            }
        }
        self.running.take().unwrap().stop().unwrap();
    }
}

/// How many commands open the venue.
fn opening() -> usize {
    let is_opening = |command: &Command| {
        matches!(
            command,
            Command::OpenVenue(_)
                | Command::CreateUser { .. }
                | Command::Deposit { .. }
                | Command::CreateMarket(_)
                | Command::PublishMarket { .. }
        )
    };
    commands().iter().take_while(|command| is_opening(command)).count()
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy_folder(&entry.path(), &to);
        } else {
            // A file that is removed meanwhile is not there after a kill either.
            std::fs::copy(entry.path(), &to).map(drop).unwrap_or_default();
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1_usize..60).prop_map(Step::Play),
        4 => (0_usize..8, 1_usize..20).prop_map(|(client, times)| Step::Read(client, times)),
        4 => (0_usize..8).prop_map(Step::Cut),
        4 => (0_usize..8).prop_map(Step::Resume),
        1 => Just(Step::Restart),
        1 => Just(Step::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6,
        max_shrink_iters: 30,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whoever_is_cut_is_told_the_same_in_the_end(
        steps in prop::collection::vec(step(), 10..40),
    ) {
        let mut scene = Scene::begin();
        steps.into_iter().for_each(|step| scene.step(step));
        scene.end();
    }
}

/// A long story, the same each time.
#[test]
fn whoever_is_cut_often_is_told_the_same_in_the_end() {
    let steps = prop::collection::vec(step(), STEPS);
    let steps = steps.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let mut scene = Scene::begin();
    steps.into_iter().for_each(|step| scene.step(step));
    scene.end();
}

/// Each fill of the sample once, from record 1 on.
#[test]
fn a_stream_from_record_1_tells_each_fill_once() {
    let flow = Flow::read(sample::flow(), Some(4_000)).unwrap();
    recorded::assert_each_fill_once(&flow);
}

#[test]
fn a_record_that_is_not_there_yet_is_refused_by_name() {
    let scene = Scene::begin();
    let mut client = Client::of(caller(UserNo(1), Role::Trader), &["account", "trades:*"], true);
    client.position = Sequence::new(scene.engine.watermark().get() + 1);
    let asked = client.ask(&scene.hub, &scene.engine);
    assert!(asked.iter().all(|asked| asked.is_err()), "{asked:?}");
    client.position = scene.engine.watermark();
    let asked = client.ask(&scene.hub, &scene.engine);
    assert!(asked.iter().all(Result::is_ok), "{asked:?}");
    client.catch_up(&scene.engine);
    assert_eq!(client.told, []);
}

/// The whole of a recorded evening, if it is present (see `tests/flow.rs`).
#[test]
fn a_stream_of_a_recorded_evening_tells_each_of_its_fills_once() {
    let folder = std::env::var_os("OPENOUTCRY_FLOW_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/flow"),
        PathBuf::from,
    );
    let path = folder.join("kalshi-gold-1800-2045.flow.jsonl.gz");
    if !path.exists() {
        println!("skipped: {} is not here", path.display());
        return;
    }
    let flow = Flow::read(Source::open(&path).unwrap(), None).unwrap();
    assert_eq!(recorded::assert_each_fill_once(&flow), 14_643);
}

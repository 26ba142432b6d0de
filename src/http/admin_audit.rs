//! The operator's audit endpoints: the journal's head with its hashes, and its records (semantics
//! 8).

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::call::Call;
use super::parse::{self, Fault};
use super::problem::{FieldCode, Problem};
use super::reply::Reply;
use super::wire::Text;
use super::wire::Timestamp;
use super::wire::record::{AuditHeadJson, JournalJson, OrdersNamed, RecordJson};
use engine::Engine;
use engine::past::Moment;
use exchange::command::Record;
use exchange::units::Sequence;
use views::ReadModel;
use views::verdicts::Came;

/// Records of a page if no limit is given.
const RECORDS_STANDARD: u64 = 100;
/// Most records of a page: a reader holds all of them in memory until they are sent.
const RECORDS_MAX: u64 = 1000;
/// Most bytes of journal blocks read for one page, so that a page of the largest texts is not much
/// larger than one of orders.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// `GET /admin/audit/head`. All figures are those at the end of one block.
pub async fn head(call: Call) -> Result<Reply, Problem> {
    call.read(|_| Some(()))?;
    let past = call.past();
    let seen = past.ask(Moment::Head, |past| {
        let digest = past.exchange().digest().map_err(|_| "the state's image contradicts itself");
        (*past.head(), past.results(), digest)
    });
    let (head, results, digest) = seen.await?;
    let content = AuditHeadJson {
        sequence: head.sequence.get(),
        time: Timestamp(head.time),
        chain_hash: head.hash.to_string(),
        results_hash: Text(results.hash),
        state_digest: Text(digest.map_err(Problem::internal)?),
    };
    Reply::ok(head.sequence, &content)
}

/// Largest `from`: the largest `int64`, which the `OpenAPI` document declares and every client can
/// hold.
const FROM_MAX: u64 = i64::MAX.unsigned_abs();

/// `GET /admin/journal`
pub async fn journal(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let from = form.query("from", |text| {
        let fault = || Fault::new(FieldCode::OutOfBounds, format!("must be 1 to {FROM_MAX}"));
        Some(parse::digits(text)?).filter(|from| (1..=FROM_MAX).contains(from)).ok_or_else(fault)
    });
    let limit = form.query("limit", |text| {
        let limit = parse::digits(text)?;
        let fault = || Fault::new(FieldCode::OutOfBounds, format!("must be 1 to {RECORDS_MAX}"));
        Some(limit).filter(|limit| (1..=RECORDS_MAX).contains(limit)).ok_or_else(fault)
    });
    let acts = form.query("acts", parse::boolean);
    let ((from, limit), acts) = form.finish(from.zip(limit).zip(acts))?;
    let (from, limit) = (from.unwrap_or(1), limit.unwrap_or(RECORDS_STANDARD));
    let count = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut records = call.past().records(Sequence::new(from), count, PAGE_BYTES_MAX).await?;
    // Records on disk that are not applied yet have no ids.
    let (applied, ()) = call.look(|_| Ok(()))?;
    records.retain(|record| record.sequence <= applied);
    let last = records.last().map(|record| record.sequence);
    if acts == Some(true) {
        records.retain(|record| record.act.is_some());
    }
    let next = last.filter(|last| *last < applied).map(|last| last.next().get());
    let looked = |view: &ReadModel| Ok((OrdersNamed::of(view, &records), view.verdicts.now()));
    let (_, (mut orders, verdicts)) = call.look(looked)?;
    orders.look_up()?;
    let orders = Arc::new(orders);
    let came = verdicts.of(Sequence::new(from), last.unwrap_or_default())?;
    let named = |record: Record| {
        let (came, engine) = (came.get(&record.sequence).copied(), call.engine.clone());
        Named { record, came, orders: Arc::clone(&orders), engine }
    };
    let records = records.into_iter().map(named).collect();
    let page = JournalJson { from, limit, next, records };
    Reply::list(applied, page, "records", |all| &mut all.records)
}

/// A record, and what became of it, serialised with the ids of what it names. Ids never change, so
/// they are looked up when the record is serialised.
struct Named {
    record: Record,
    came: Option<Came>,
    orders: Arc<OrdersNamed>,
    engine: Engine,
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = RecordJson::of(&self.engine.read(), &self.orders, &self.record, self.came);
        named.serialize(serializer)
    }
}

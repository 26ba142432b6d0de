//! Markets, as all callers see them: lists, one market, its activity (interface 4.1, 4.3).

use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::task::yield_now;

use super::call::{Call, market_no, public_market};
use super::cursor::EitherPage;
use super::form::Form;
use super::listed::Content;
use super::market_cache::ListedMarket;
use super::onward::Asked;
use super::page::{Above, PAGE_CAP, Page, PageRule};
use super::parse;
use super::preconditions;
use super::problem::Problem;
use super::quotes::Quoted;
use super::reply::Reply;
use super::stream::channel::{MarketChannel, Topic};
use super::waiting::follow;
use super::wire::Paging;
use super::wire::catalogue::{ActivitiesJson, ActivityJson, MarketDetailJson, MarketsJson};
use engine;
use exchange::catalogue::MarketDraft;
use exchange::command::Command;
use exchange::ids::{CategoryId, CategoryNo};
use exchange::reject::Reject;
use views::ReadModel;
use views::catalogue::{MarketRow, Wanted};
use views::table::Numbers;

/// Pages of markets (interface 4.1).
pub const MARKETS_PAGE: PageRule = PageRule { standard: 20, max: PAGE_CAP, above: Above::Capped };
/// Pages of markets with their quotes: each takes a few pages of history.
const QUOTES_PAGE: PageRule = PageRule { standard: 20, max: 50, above: Above::Refused };
/// Pages of activity (interface 4.3).
const ACTIVITY_PAGE: PageRule = PageRule { standard: 50, max: PAGE_CAP, above: Above::Capped };

/// The filters of a market list.
#[derive(Debug, Clone)]
pub struct MarketFilter {
    highlighted: Option<bool>,
    categories: Option<Vec<CategoryId>>,
}

impl MarketFilter {
    /// Reads the filter's query parameters.
    pub fn read(form: &mut Form<'_>) -> Option<MarketFilter> {
        let highlighted = form.query("highlighted", parse::boolean);
        let categories = form.query("categoryIds", parse::category_ids);
        Some(MarketFilter { highlighted: highlighted?, categories: categories? })
    }

    /// The public markets that pass, newest publication first, and their count; only those in
    /// `found` if a search was made.
    fn listed<'v>(
        &self,
        view: &'v ReadModel,
        found: Option<&Numbers>,
    ) -> (usize, impl Iterator<Item = &'v MarketRow> + use<'v>) {
        let categories = self.categories.as_deref().map(|ids| known_categories(view, ids));
        let (highlighted, categories) = (self.highlighted, categories.as_deref());
        view.catalogue.markets_wanted(Wanted { highlighted, categories, found })
    }

    /// The filter as a predicate for markets that may be drafts.
    pub fn resolve(&self, view: &ReadModel) -> impl Fn(&&MarketRow) -> bool + use<> {
        let highlighted = self.highlighted;
        let categories = self.categories.as_deref().map(|ids| known_categories(view, ids));
        move |market| {
            highlighted.is_none_or(|flag| market.draft.highlighted == flag)
                && categories
                    .as_deref()
                    .is_none_or(|wanted| shares_category(&market.draft.categories, wanted))
        }
    }
}

/// The numbers of the categories that exist, without repetitions; unknown ones match nothing.
pub fn known_categories(view: &ReadModel, ids: &[CategoryId]) -> Vec<CategoryNo> {
    let known = ids.iter().filter_map(|id| view.catalogue.category_no(*id));
    let mut numbers: Vec<CategoryNo> = known.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Whether two lists of categories have one in common.
pub fn shares_category(own: &[CategoryNo], wanted: &[CategoryNo]) -> bool {
    own.iter().any(|category| wanted.contains(category))
}

/// `GET /markets/public/list`
pub async fn list(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let filter = MarketFilter::read(&mut form);
    let quotes = form.query("quotes", parse::boolean);
    let in_full = quotes == Some(Some(true));
    let page = Page::read(&mut form, if in_full { QUOTES_PAGE } else { MARKETS_PAGE });
    let ((filter, _), page) = form.finish(filter.zip(quotes).zip(page))?;
    if in_full {
        return list_quoted(&call, filter, page).await;
    }
    let (sequence, found) = call.look(|view| {
        let (count, kept) = filter.listed(view, None);
        let (rows, paging) = page.cut_known(kept, count);
        Ok(listed(&call, view, &rows, paging))
    })?;
    Reply::list(sequence, found, "markets", |all| &mut all.markets)
}

/// The same with the quotes of each market, whose past prices are read from history.
async fn list_quoted(call: &Call, filter: MarketFilter, page: Page) -> Result<Reply, Problem> {
    let (sequence, (quoted, paging)) = call.look(|view| {
        let now = call.engine.now().max(view.time());
        let (count, kept) = filter.listed(view, None);
        let (rows, paging) = page.cut_known(kept, count);
        let quoted = rows.into_iter().map(|row| Quoted::of(view, row, now));
        Ok((quoted.collect::<Vec<_>>(), paging))
    })?;
    let mut markets = Vec::new();
    for quoted in quoted {
        markets.push(quoted.read()?);
        yield_now().await;
    }
    Reply::list(sequence, MarketsJson { markets, paging }, "markets", |all| &mut all.markets)
}

/// A page of these markets.
fn listed(
    call: &Call,
    view: &ReadModel,
    rows: &[&MarketRow],
    paging: Paging,
) -> MarketsJson<ListedMarket> {
    let cache = &call.shared.caches.markets;
    let markets = rows.iter().map(|row| ListedMarket::look(cache, view, row)).collect();
    MarketsJson { markets, paging }
}

/// `GET /markets/search`: the public markets whose question contains all the words, newest first.
pub fn search(call: &Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let words = form.query_required("q", parse::text);
    let filter = MarketFilter::read(&mut form);
    let page = Page::read(&mut form, MARKETS_PAGE);
    let (words, (filter, page)) = form.finish(words.zip(filter.zip(page)))?;
    let (sequence, found) = call.look(|view| {
        let found = view.search.found(&words);
        let (count, kept) = filter.listed(view, Some(&found));
        let (rows, paging) = page.cut_known(kept, count);
        Ok(listed(call, view, &rows, paging))
    })?;
    Reply::list(sequence, found, "markets", |all| &mut all.markets)
}

/// `GET /markets/{marketId}`. Operators also find drafts.
pub fn one(call: &Call) -> Result<Reply, Problem> {
    let id = call.read(|form| form.path("marketId"))?;
    let (sequence, market) = call.look(|view| {
        let row = if call.caller.sees_drafts() {
            let row = view.catalogue.market(market_no(view, id)?);
            row.ok_or_else(|| Problem::of(Reject::MarketNotFound))?
        } else {
            public_market(view, id)?
        };
        Ok((Arc::clone(&row.draft), MarketDetailJson::now(view, row)))
    })?;
    let (draft, json) = market;
    Ok(tagged(Reply::ok(sequence, &json)?, &draft))
}

/// Adds the tag of a market to an answer that shows it: what an operator can revise, and all that
/// is shown. The second part changes with every trade, which no revision undoes.
pub fn tagged(reply: Reply, draft: &MarketDraft) -> Reply {
    let tag = match &reply.body {
        Content::Whole(body) => {
            let terms = engine::meaning(&Command::CreateMarket(Box::new(draft.clone())));
            Some(preconditions::tag_of_part(&terms, body))
        }
        _ => None,
    };
    Reply { tag, ..reply }
}

/// `GET /markets/{marketId}/activity`
pub async fn activity(call: Call) -> Result<Reply, Problem> {
    let mut form = call.form();
    let id = form.path("marketId");
    let page = Asked::read(&mut form, ACTIVITY_PAGE, EitherPage::read);
    let (id, page) = form.finish(id.zip(page))?;
    let followed = |view: &ReadModel| {
        let market = public_market(view, id)?.no;
        let topic = Topic::Market(MarketChannel::Activity, market);
        Ok((topic, view.changes.of_market(market).activity.last))
    };
    let tag = match follow(&call, None, followed).await? {
        ControlFlow::Break(reply) => return Ok(reply),
        ControlFlow::Continue(tag) => tag,
    };
    let (sequence, rows) = call.look(|view| Ok(view.activity.of(public_market(view, id)?.no)))?;
    let (rows, paging, next) = page.of(rows).await?;
    let (_, activities) =
        call.look(|view| Ok(rows.iter().map(|row| ActivityJson::of(view, row)).collect()))?;
    let activities = ActivitiesJson { activities, paging, next };
    let list = Reply::list(sequence, activities, "activities", |all| &mut all.activities);
    Ok(list?.with_tag(tag))
}

//! Conversion between commands and flat structs, in both directions: one arm per kind.

use super::super::fields::{self, BadField};
use super::{
    AddKeyV1, AdvanceClockV1, AmendOrderV1, AmendOrderV2, Body, CANCELLED, CancelOrderV1,
    CancelOrdersV1, CloseMarketV1, ConvertV1, CreateCategoryV1, CreateEventV1, CreateMarketV1,
    CreateUserV1, DisputeMarketV1, Encoded, HeartbeatV1, OpenVenueV1, PLACED, PlaceOrderV1,
    PublishMarketV1, RecordError, ReopenMarketV1, ResolveMarketV1, ReviseEventV1, ReviseMarketV1,
    RevokeKeyV1, SetExposureLimitV1, SetUserModeV1, SetVenueModeV1, SuspendMarketV1, Tail, TextsV1,
    TransferV1, VoidMarketV1, cancelled_of, order_of,
};
use exchange::catalogue::{
    CategoryDraft, EventDraft, EventRevision, Localized, MarketDraft, MarketRevision,
};
use exchange::command::{Command, Conversion, KeyHash, PlaceOrder};
use exchange::fees::{FeeRate, Fees};
use exchange::ids::{CategoryNo, EventNo, KeyNo, MarketNo, OrderNo, Token, UserNo};
use exchange::rules::Rules;
use exchange::units::{Lots, Money, Sequence, SettlementPrice, Tick, TimeMs};

/// Encodes the command's body at the end of `tail`.
pub(super) fn encode_body(command: &Command, tail: &mut Tail<'_>) -> Encoded {
    match command {
        Command::CreateEvent(draft) => tail.put(event(draft)),
        Command::CreateMarket(draft) => tail.put(market(draft)),
        Command::ReviseEvent { event, revision } => tail.put(event_revision(*event, revision)),
        Command::ReviseMarket { market, revision } => tail.put(market_revision(*market, revision)),
        Command::PublishMarket { market } => tail.put(PublishMarketV1 { market: market.0 }),
        Command::SuspendMarket { market } => tail.put(SuspendMarketV1 { market: market.0 }),
        Command::ReopenMarket { market, deadline } => {
            let deadline = deadline.map(TimeMs::get);
            tail.put(ReopenMarketV1 { market: market.0, deadline })
        }
        Command::CloseMarket { market } => tail.put(CloseMarketV1 { market: market.0 }),
        Command::ResolveMarket { market, winner } => {
            let winner = fields::outcome_number(*winner);
            tail.put(ResolveMarketV1 { market: market.0, winner })
        }
        Command::DisputeMarket { market } => tail.put(DisputeMarketV1 { market: market.0 }),
        Command::VoidMarket { market, price } => {
            tail.put(VoidMarketV1 { market: market.0, price: price.get() })
        }
        Command::PlaceOrder(order) => tail.put(placed(order)),
        Command::AmendOrder { user, order, price, quantity, seen } => {
            let (user, order) = (user.0, order.0.get());
            let (price, quantity) = (price.map(Tick::get), quantity.map(Lots::get));
            let amend = AmendOrderV1 { user, order, price, quantity };
            match seen.map(fields::seen_numbers) {
                None => tail.put(amend),
                Some(seen) => tail.put(AmendOrderV2 { amend, seen }),
            }
        }
        Command::CancelOrder { user, order } => {
            tail.put(CancelOrderV1 { user: user.0, order: order.0.get() })
        }
        Command::CancelOrders { user, market } => {
            tail.put(CancelOrdersV1 { user: user.0, market: market.map(|market| market.0) })
        }
        Command::Convert(asked) => tail.put(ConvertV1 {
            user: asked.user.0,
            event: asked.event.0,
            markets: asked.markets.as_slice().iter().map(|market| market.0).collect(),
            quantity: asked.quantity.get(),
        }),
        Command::AdvanceClock => tail.put(AdvanceClockV1 {}),
        venue => encode_venue_body(venue, tail),
    }
}

/// The venue's own kinds: opening, users, keys, money, categories, switches.
fn encode_venue_body(command: &Command, tail: &mut Tail<'_>) -> Encoded {
    match command {
        Command::OpenVenue(rules) => tail.put(OpenVenueV1 {
            rules_version: rules.version,
            currency: &rules.currency,
            user_open_orders_max: rules.user_open_orders_max,
            venue_open_orders_max: rules.venue_open_orders_max,
            money_supply_max: rules.money_supply_max.get(),
            repeat_window_seconds: rules.repeat_window_seconds,
            user_names_max: rules.user_names_max,
        }),
        Command::CreateUser { profile_name, profile_pic } => {
            tail.put(CreateUserV1 { profile_name, profile_pic })
        }
        Command::AddKey { user, role, label, hash } => {
            let role = fields::role_number(*role);
            tail.put(AddKeyV1 { user: user.0, role, label, hash: hash.0 })
        }
        Command::RevokeKey { user, key } => tail.put(RevokeKeyV1 { user: user.0, key: key.0 }),
        Command::Deposit { user, amount }
        | Command::Withdraw { user, amount }
        | Command::TakeFees { user, amount } => {
            tail.put(TransferV1 { user: user.0, amount: amount.get() })
        }
        Command::CreateCategory(CategoryDraft { name, slug }) => {
            tail.put(CreateCategoryV1 { name, slug })
        }
        Command::Heartbeat { user, timeout_seconds } => {
            tail.put(HeartbeatV1 { user: user.0, timeout_seconds: *timeout_seconds })
        }
        Command::SetVenueMode { mode } => {
            tail.put(SetVenueModeV1 { mode: fields::mode_number(*mode) })
        }
        Command::SetUserMode { user, mode } => {
            tail.put(SetUserModeV1 { user: user.0, mode: fields::mode_number(*mode) })
        }
        Command::SetExposureLimit { user, limit } => {
            tail.put(SetExposureLimitV1 { user: user.0, limit: limit.map(Money::get) })
        }
        // In `encode_body`. Listed by name, so that a new kind must be added to either.
        Command::CreateEvent(_)
        | Command::CreateMarket(_)
        | Command::ReviseEvent { .. }
        | Command::ReviseMarket { .. }
        | Command::PublishMarket { .. }
        | Command::SuspendMarket { .. }
        | Command::ReopenMarket { .. }
        | Command::CloseMarket { .. }
        | Command::ResolveMarket { .. }
        | Command::DisputeMarket { .. }
        | Command::VoidMarket { .. }
        | Command::PlaceOrder(_)
        | Command::AmendOrder { .. }
        | Command::CancelOrder { .. }
        | Command::CancelOrders { .. }
        | Command::Convert(_)
        | Command::AdvanceClock => Tail::no_room(),
    }
}

/// Decodes a body's command.
pub(super) fn read(body: &Body<'_>) -> Result<Command, RecordError> {
    let bad = |BadField(field): BadField| RecordError::Field(body.kind, field);
    match body.kind {
        1 => body.read().map(|venue| venue_of(&venue)),
        2 => body.read().map(|user| user_of(&user)),
        3 => key_of(&body.read()?).map_err(bad),
        4 => body
            .read()
            .map(|k: RevokeKeyV1| Command::RevokeKey { user: UserNo(k.user), key: KeyNo(k.key) }),
        5 => transfer(body, |user, amount| Command::Deposit { user, amount }),
        6 => transfer(body, |user, amount| Command::Withdraw { user, amount }),
        7 => body.read().map(|c: CreateCategoryV1<'_>| {
            let (name, slug) = (c.name.to_owned(), c.slug.to_owned());
            Command::CreateCategory(CategoryDraft { name, slug })
        }),
        8 => body.read().map(event_of),
        9 => market_draft_of(body.read()?).map_err(bad),
        10 => body.read().map(event_revision_of),
        11 => market_revision_of(body.read()?).map_err(bad),
        12 => body
            .read()
            .map(|m: PublishMarketV1| Command::PublishMarket { market: MarketNo(m.market) }),
        13 => body
            .read()
            .map(|m: SuspendMarketV1| Command::SuspendMarket { market: MarketNo(m.market) }),
        14 => reopened_of(&body.read()?).map_err(bad),
        15 => {
            body.read().map(|m: CloseMarketV1| Command::CloseMarket { market: MarketNo(m.market) })
        }
        16 => resolved_of(&body.read()?).map_err(bad),
        17 => body
            .read()
            .map(|m: DisputeMarketV1| Command::DisputeMarket { market: MarketNo(m.market) }),
        18 => voided_of(&body.read()?).map_err(bad),
        PLACED => order_of(&body.decode_by_hand()?, PLACED).map(Command::PlaceOrder),
        20 if body.version == 1 => amended_of(&body.read()?, None).map_err(bad),
        20 => {
            let AmendOrderV2 { amend, seen } = body.read()?;
            amended_of(&amend, Some(seen)).map_err(bad)
        }
        CANCELLED => body.decode_by_hand().map(|c| cancelled_of(&c)),
        22 => body.read().map(|c: CancelOrdersV1| Command::CancelOrders {
            user: UserNo(c.user),
            market: c.market.map(MarketNo),
        }),
        23 => body.read().map(|AdvanceClockV1 {}| Command::AdvanceClock),
        24..=27 => switch(body),
        28 => converted_of(body.read()?).map_err(bad),
        29 => transfer(body, |user, amount| Command::TakeFees { user, amount }),
        unknown => Err(RecordError::UnknownKind(unknown)),
    }
}

/// The kinds that move money to an account or from it.
fn transfer(
    body: &Body<'_>,
    command: fn(UserNo, Money) -> Command,
) -> Result<Command, RecordError> {
    body.read().map(|t: TransferV1| command(UserNo(t.user), Money::new(t.amount)))
}

/// The heartbeat, trading modes and exposure limit.
fn switch(body: &Body<'_>) -> Result<Command, RecordError> {
    let bad = |BadField(field): BadField| RecordError::Field(body.kind, field);
    match body.kind {
        24 => body.read().map(|h: HeartbeatV1| Command::Heartbeat {
            user: UserNo(h.user),
            timeout_seconds: h.timeout_seconds,
        }),
        25 => {
            let set: SetVenueModeV1 = body.read()?;
            Ok(Command::SetVenueMode { mode: fields::mode(set.mode).map_err(bad)? })
        }
        26 => {
            let set: SetUserModeV1 = body.read()?;
            let mode = fields::mode(set.mode).map_err(bad)?;
            Ok(Command::SetUserMode { user: UserNo(set.user), mode })
        }
        27 => body.read().map(|set: SetExposureLimitV1| Command::SetExposureLimit {
            user: UserNo(set.user),
            limit: set.limit.map(Money::new),
        }),
        unknown => Err(RecordError::UnknownKind(unknown)),
    }
}

// Encoding.

fn texts(texts: &Localized) -> TextsV1<'_> {
    TextsV1 { pt: &texts.pt, en: &texts.en, es: &texts.es }
}

fn urls(urls: &[String]) -> Vec<&str> {
    urls.iter().map(String::as_str).collect()
}

fn numbers(categories: &[CategoryNo]) -> Vec<u32> {
    categories.iter().map(|category| category.0).collect()
}

fn event(draft: &EventDraft) -> CreateEventV1<'_> {
    CreateEventV1 {
        titles: texts(&draft.titles),
        sub_titles: texts(&draft.sub_titles),
        descriptions: texts(&draft.descriptions),
        images: urls(&draft.images),
        highlighted: draft.highlighted,
        categories: numbers(&draft.categories),
        mutually_exclusive: draft.mutually_exclusive,
    }
}

fn market(draft: &MarketDraft) -> CreateMarketV1<'_> {
    CreateMarketV1 {
        questions: texts(&draft.questions),
        descriptions: texts(&draft.descriptions),
        yes_text: texts(&draft.yes_text),
        no_text: texts(&draft.no_text),
        logo: &draft.logo,
        deadline: draft.deadline.get(),
        categories: numbers(&draft.categories),
        event: draft.event.map(|event| event.0),
        highlighted: draft.highlighted,
        dispute_window_seconds: draft.dispute_window_seconds,
        maker_fee: draft.fees.maker.get(),
        taker_fee: draft.fees.taker.get(),
    }
}

fn event_revision(event: EventNo, revision: &EventRevision) -> ReviseEventV1<'_> {
    ReviseEventV1 {
        event: event.0,
        titles: revision.titles.as_ref().map(texts),
        sub_titles: revision.sub_titles.as_ref().map(texts),
        descriptions: revision.descriptions.as_ref().map(texts),
        images: revision.images.as_deref().map(urls),
        highlighted: revision.highlighted,
        categories: revision.categories.as_deref().map(numbers),
    }
}

fn market_revision(market: MarketNo, revision: &MarketRevision) -> ReviseMarketV1<'_> {
    ReviseMarketV1 {
        market: market.0,
        questions: revision.questions.as_ref().map(texts),
        descriptions: revision.descriptions.as_ref().map(texts),
        yes_text: revision.yes_text.as_ref().map(texts),
        no_text: revision.no_text.as_ref().map(texts),
        logo: revision.logo.as_deref(),
        deadline: revision.deadline.map(TimeMs::get),
        categories: revision.categories.as_deref().map(numbers),
        highlighted: revision.highlighted,
        maker_fee: revision.maker_fee.map(FeeRate::get),
        taker_fee: revision.taker_fee.map(FeeRate::get),
    }
}

pub(super) fn placed(order: &PlaceOrder) -> PlaceOrderV1<'_> {
    let (time_in_force, expires_at) = fields::time_in_force_number(order.time_in_force);
    PlaceOrderV1 {
        user: order.user.0,
        market: order.market.0,
        outcome: fields::outcome_number(order.wording.outcome),
        side: fields::side_number(order.wording.side),
        price: order.price.get(),
        quantity: order.quantity.get(),
        time_in_force,
        expires_at,
        self_trade: fields::self_trade_number(order.self_trade),
        condition: fields::condition_number(order.condition),
        valid_until: order.valid_until.map(TimeMs::get),
        copy_from: order.copy_from.map(|user| user.0),
        client_order_id: order.client_order_id.as_deref().map(Token::as_str),
    }
}

// Decoding.

fn localized(texts: TextsV1<'_>) -> Localized {
    Localized { pt: texts.pt.to_owned(), en: texts.en.to_owned(), es: texts.es.to_owned() }
}

fn strings(urls: Vec<&str>) -> Vec<String> {
    urls.into_iter().map(str::to_owned).collect()
}

fn categories(numbers: Vec<u32>) -> Vec<CategoryNo> {
    numbers.into_iter().map(CategoryNo).collect()
}

fn venue_of(venue: &OpenVenueV1<'_>) -> Command {
    Command::OpenVenue(Rules {
        version: venue.rules_version,
        currency: venue.currency.to_owned(),
        user_open_orders_max: venue.user_open_orders_max,
        venue_open_orders_max: venue.venue_open_orders_max,
        money_supply_max: Money::new(venue.money_supply_max),
        repeat_window_seconds: venue.repeat_window_seconds,
        user_names_max: venue.user_names_max,
    })
}

fn user_of(user: &CreateUserV1<'_>) -> Command {
    Command::CreateUser {
        profile_name: user.profile_name.to_owned(),
        profile_pic: user.profile_pic.to_owned(),
    }
}

fn key_of(key: &AddKeyV1<'_>) -> Result<Command, BadField> {
    Ok(Command::AddKey {
        user: UserNo(key.user),
        role: fields::role(key.role)?,
        label: key.label.to_owned(),
        hash: KeyHash(key.hash),
    })
}

fn event_of(event: CreateEventV1<'_>) -> Command {
    Command::CreateEvent(Box::new(EventDraft {
        titles: localized(event.titles),
        sub_titles: localized(event.sub_titles),
        descriptions: localized(event.descriptions),
        images: strings(event.images),
        highlighted: event.highlighted,
        categories: categories(event.categories),
        mutually_exclusive: event.mutually_exclusive,
    }))
}

fn market_draft_of(market: CreateMarketV1<'_>) -> Result<Command, BadField> {
    Ok(Command::CreateMarket(Box::new(MarketDraft {
        questions: localized(market.questions),
        descriptions: localized(market.descriptions),
        yes_text: localized(market.yes_text),
        no_text: localized(market.no_text),
        logo: market.logo.to_owned(),
        deadline: fields::time(market.deadline, "deadline")?,
        categories: categories(market.categories),
        event: market.event.map(EventNo),
        highlighted: market.highlighted,
        dispute_window_seconds: market.dispute_window_seconds,
        fees: Fees {
            maker: fields::fee_rate(market.maker_fee, "maker_fee")?,
            taker: fields::fee_rate(market.taker_fee, "taker_fee")?,
        },
    })))
}

fn event_revision_of(event: ReviseEventV1<'_>) -> Command {
    let revision = Box::new(EventRevision {
        titles: event.titles.map(localized),
        sub_titles: event.sub_titles.map(localized),
        descriptions: event.descriptions.map(localized),
        images: event.images.map(strings),
        highlighted: event.highlighted,
        categories: event.categories.map(categories),
    });
    Command::ReviseEvent { event: EventNo(event.event), revision }
}

fn market_revision_of(market: ReviseMarketV1<'_>) -> Result<Command, BadField> {
    let revision = Box::new(MarketRevision {
        questions: market.questions.map(localized),
        descriptions: market.descriptions.map(localized),
        yes_text: market.yes_text.map(localized),
        no_text: market.no_text.map(localized),
        logo: market.logo.map(str::to_owned),
        deadline: fields::time_option(market.deadline, "deadline")?,
        categories: market.categories.map(categories),
        highlighted: market.highlighted,
        maker_fee: fields::fee_rate_option(market.maker_fee, "maker_fee")?,
        taker_fee: fields::fee_rate_option(market.taker_fee, "taker_fee")?,
    });
    Ok(Command::ReviseMarket { market: MarketNo(market.market), revision })
}

fn reopened_of(market: &ReopenMarketV1) -> Result<Command, BadField> {
    let deadline = fields::time_option(market.deadline, "deadline")?;
    Ok(Command::ReopenMarket { market: MarketNo(market.market), deadline })
}

fn resolved_of(market: &ResolveMarketV1) -> Result<Command, BadField> {
    let winner = fields::outcome(market.winner, "winner")?;
    Ok(Command::ResolveMarket { market: MarketNo(market.market), winner })
}

fn voided_of(market: &VoidMarketV1) -> Result<Command, BadField> {
    let price = SettlementPrice::new(market.price).ok_or(BadField("price"))?;
    Ok(Command::VoidMarket { market: MarketNo(market.market), price })
}

fn converted_of(asked: ConvertV1) -> Result<Command, BadField> {
    Ok(Command::Convert(Conversion {
        user: UserNo(asked.user),
        event: EventNo(asked.event),
        markets: fields::market_set(asked.markets)?,
        quantity: Lots::new(asked.quantity),
    }))
}

fn amended_of(order: &AmendOrderV1, seen: Option<(u8, u64, u64)>) -> Result<Command, BadField> {
    let (user, no) = (UserNo(order.user), OrderNo(Sequence::new(order.order)));
    let (price, quantity) = (order.price.map(fields::price), order.quantity.map(Lots::new));
    let (price, seen) = (price.transpose()?, seen.map(fields::seen).transpose()?);
    Ok(Command::AmendOrder { user, order: no, price, quantity, seen })
}

//! Random commands of every kind, and journals made of them.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses a part; a test may unwrap

use exchange::catalogue::{
    CategoryDraft, EventDraft, EventRevision, Localized, MarketDraft, MarketRevision, Outcome,
};
use exchange::command::{
    Act, BodyHash, Command, Condition, Conversion, IdempotencyKey, KeyHash, KeyedCommand, Password,
    PasswordChange, PasswordScheme, PlaceOrder, Record, RecoveryCodes, Role, SecondFactor,
    SeenTerms, SelfTradePrevention, Side, TimeInForce, TradingMode, TransferEnd, Wording,
};
use exchange::fees::{FEE_RATE_ONE, FeeRate, Fees};
use exchange::ids::{
    CategoryNo, EventNo, Group, KeyNo, MarketNo, MarketSet, OrderNo, Token, UserNo,
};
use exchange::results::Results;
use exchange::rules::{MONEY_SUPPLY_CEILING, Rules, VENUE_OPEN_ORDERS_CEILING};
use exchange::slugs::Slug;
use exchange::units::{Lots, Money, ORDER_LOTS_MAX, Sequence, SettlementPrice, Tick, TimeMs};
use journal::block::{Block, BlockBuilder, Head};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}
fn texts() -> impl Strategy<Value = Localized> {
    (text(), text(), text()).prop_map(|(pt, en, es)| Localized { pt, en, es })
}
pub fn time() -> impl Strategy<Value = TimeMs> {
    (0..=TimeMs::MAX.get()).prop_map(|ms| TimeMs::new(ms).unwrap())
}
fn user() -> impl Strategy<Value = UserNo> {
    any::<u32>().prop_map(UserNo)
}
fn market() -> impl Strategy<Value = MarketNo> {
    any::<u32>().prop_map(MarketNo)
}
fn order() -> impl Strategy<Value = OrderNo> {
    any::<u64>().prop_map(|n| OrderNo(Sequence::new(n)))
}
fn amount() -> impl Strategy<Value = Money> {
    (1..=i64::MAX).prop_map(Money::new)
}
fn lots() -> impl Strategy<Value = Lots> {
    (1..=ORDER_LOTS_MAX).prop_map(Lots::new)
}
fn seen() -> impl Strategy<Value = SeenTerms> {
    (tick(), 2..=ORDER_LOTS_MAX, any::<u64>()).prop_map(|(price, quantity, filled)| SeenTerms {
        price,
        quantity: Lots::new(quantity),
        filled: Lots::new(filled % quantity),
    })
}
fn tick() -> impl Strategy<Value = Tick> {
    (1..=99_u8).prop_map(|t| Tick::new(t).unwrap())
}
fn categories() -> impl Strategy<Value = Vec<CategoryNo>> {
    vec(any::<u32>().prop_map(CategoryNo), 0..4)
}
fn rate() -> impl Strategy<Value = FeeRate> {
    (0..=FEE_RATE_ONE).prop_map(|rate| FeeRate::new(rate).unwrap())
}
fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Yes), Just(Outcome::No)]
}

fn rules() -> impl Strategy<Value = Rules> {
    let supply = 1..=MONEY_SUPPLY_CEILING.get();
    let limits = (any::<u32>(), 0..=VENUE_OPEN_ORDERS_CEILING, supply, any::<(u32, u32)>());
    (any::<u32>(), "[A-Z]{3,8}", limits).prop_map(
        |(version, currency, (user, venue, supply, (window, names)))| Rules {
            version,
            currency,
            user_open_orders_max: user,
            venue_open_orders_max: venue,
            money_supply_max: Money::new(supply),
            repeat_window_seconds: window,
            user_names_max: names,
        },
    )
}

fn venue_command() -> BoxedStrategy<Command> {
    prop_oneof![
        rules().prop_map(Command::OpenVenue),
        (text(), text()).prop_map(|(profile_name, profile_pic)| Command::CreateUser {
            profile_name,
            profile_pic
        }),
        (
            user(),
            prop::sample::select(Role::ALL.to_vec()),
            text(),
            any::<[u8; 32]>(),
            option::of(time())
        )
            .prop_map(|(user, role, label, hash, ends)| Command::AddKey {
                user,
                role,
                label,
                hash: KeyHash(hash),
                ends
            }),
        (user(), any::<u32>()).prop_map(|(user, key)| Command::RevokeKey { user, key: KeyNo(key) }),
        (user(), amount()).prop_map(|(user, amount)| Command::Deposit { user, amount }),
        (user(), amount()).prop_map(|(user, amount)| Command::Withdraw { user, amount }),
        (user(), amount()).prop_map(|(user, amount)| Command::TakeFees { user, amount }),
        transfer_command(),
        (text(), text())
            .prop_map(|(name, slug)| Command::CreateCategory(CategoryDraft { name, slug })),
        sign_in_command(),
    ]
    .boxed()
}

fn transfer_command() -> BoxedStrategy<Command> {
    let reference = || option::of("[!-~]{1,64}".prop_map(|text| Token::new(&text).unwrap()));
    let how = prop_oneof![
        Just(TransferEnd::Confirmed),
        Just(TransferEnd::Refused),
        Just(TransferEnd::Cancelled)
    ];
    prop_oneof![
        (user(), amount(), reference()).prop_map(|(user, amount, reference)| {
            Command::AskDeposit { user, amount, reference }
        }),
        (user(), amount(), reference()).prop_map(|(user, amount, reference)| {
            Command::AskWithdrawal { user, amount, reference }
        }),
        (user(), any::<u32>(), 0..=i64::MAX, text()).prop_map(|(user, market, units, reason)| {
            let (market, bond) = (MarketNo(market), Money::new(units));
            Command::FileDispute { user, market, bond, reason }
        }),
        (user(), text())
            .prop_map(|(user, profile_name)| Command::RenameUser { user, profile_name }),
        option::of(0..=i64::MAX)
            .prop_map(|units| Command::SetTwoPersons { above: units.map(Money::new) }),
        (user(), any::<u64>()).prop_map(|(operator, number)| Command::ConfirmProposal {
            operator,
            proposal: Sequence::new(number)
        }),
        (user(), any::<u64>()).prop_map(|(operator, number)| Command::DropProposal {
            operator,
            proposal: Sequence::new(number)
        }),
        (user(), any::<u64>(), how).prop_map(|(user, transfer, how)| {
            Command::EndTransfer { user, transfer: Sequence::new(transfer), how }
        }),
    ]
    .boxed()
}

fn sign_in_command() -> BoxedStrategy<Command> {
    let hash = || any::<[u8; 32]>().prop_map(KeyHash);
    let password = || {
        let scheme = PasswordScheme::Argon2id19MiB;
        prop_oneof![
            9 => (hash(), hash()).prop_map(move |(salt, hashed)| Password { scheme, salt, hashed }),
            1 => hash().prop_map(Password::vouched),
        ]
    };
    let role = prop::sample::select(Role::ALL.to_vec());
    prop_oneof![
        (user(), role, hash(), time()).prop_map(|(user, role, invitation, ends)| Command::Invite {
            user,
            role,
            invitation,
            ends
        }),
        (token(), password()).prop_map(|(name, password)| Command::SignUp { name, password }),
        (user(), option::of(hash()), token(), password()).prop_map(
            |(user, invitation, name, password)| {
                Command::SetPassword { user, invitation, name, password }
            }
        ),
        (user(), time(), hash(), time(), time()).prop_map(
            |(user, password_set, session, until, ends)| {
                Command::SignIn { user, password_set, session, until, ends }
            }
        ),
        (user(), hash(), time()).prop_map(|(user, session, until)| Command::ExtendSession {
            user,
            session,
            until
        }),
        (user(), option::of(hash())).prop_map(|(user, session)| Command::SignOut { user, session }),
        second_factor_command(),
    ]
    .boxed()
}

fn second_factor_command() -> BoxedStrategy<Command> {
    let hash = || any::<[u8; 32]>().prop_map(KeyHash);
    let recovery = vec(hash(), 0..=10).prop_map(|codes| RecoveryCodes::new(codes).unwrap());
    let factor = (hash(), hash(), time(), recovery)
        .prop_map(|(salt, sealed, used, recovery)| SecondFactor { salt, sealed, used, recovery });
    let begins = || (user(), time(), hash(), time(), time());
    prop_oneof![
        (user(), hash(), factor).prop_map(|(user, password_salt, factor)| {
            Command::SetSecondFactor { user, password_salt, factor }
        }),
        (begins(), time()).prop_map(|((user, password_set, session, until, ends), used)| {
            Command::SignInByCode { user, password_set, session, until, ends, used }
        }),
        (begins(), hash()).prop_map(
            |((user, password_set, session, until, ends), recovery_code)| {
                Command::SignInByRecovery {
                    user,
                    password_set,
                    session,
                    until,
                    ends,
                    recovery_code,
                }
            }
        ),
        user().prop_map(|user| Command::ClearSecondFactor { user }),
        ((user(), hash(), hash(), hash(), hash()), (hash(), hash(), hash(), time(), time()))
            .prop_map(|((user, password_before, factor_before, salt, hashed), rest)| {
                let (factor_salt, sealed, session, until, ends) = rest;
                let scheme = PasswordScheme::Argon2id19MiB;
                Command::ChangePassword(Box::new(PasswordChange {
                    user,
                    password_before,
                    factor_before,
                    password: Password { scheme, salt, hashed },
                    factor_salt,
                    sealed,
                    session,
                    until,
                    ends,
                }))
            }),
    ]
    .boxed()
}

fn catalogue_command() -> BoxedStrategy<Command> {
    let flags = (any::<bool>(), any::<bool>());
    let event = (texts(), texts(), texts(), vec(text(), 0..3), flags, categories(), slug())
        .prop_map(|(titles, sub_titles, descriptions, images, flags, categories, slug)| {
            let (highlighted, mutually_exclusive) = flags;
            Command::CreateEvent(Box::new(EventDraft {
                mutually_exclusive,
                titles,
                sub_titles,
                descriptions,
                images,
                highlighted,
                categories,
                slug,
            }))
        });
    let draft = (
        (texts(), texts(), texts(), texts(), text()),
        (time(), categories(), option::of(any::<u32>()), any::<bool>(), any::<u32>()),
        (rate(), rate(), slug()),
    )
        .prop_map(
            |((questions, descriptions, yes_text, no_text, logo), rest, (maker, taker, slug))| {
                let (deadline, categories, event, highlighted, dispute_window_seconds) = rest;
                Command::CreateMarket(Box::new(MarketDraft {
                    questions,
                    descriptions,
                    yes_text,
                    no_text,
                    logo,
                    deadline,
                    categories,
                    event: event.map(EventNo),
                    highlighted,
                    dispute_window_seconds,
                    fees: Fees { maker, taker },
                    slug,
                }))
            },
        );
    prop_oneof![event, draft, revision_command()].boxed()
}

fn slug() -> impl Strategy<Value = Option<Slug>> {
    let slug = "[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,3}".prop_map(|text| Slug::new(&text).unwrap());
    prop_oneof![2 => Just(None), 1 => slug.prop_map(Some)]
}

fn revision_command() -> BoxedStrategy<Command> {
    let event_revision = (
        any::<u32>(),
        option::of(texts()),
        option::of(texts()),
        option::of(texts()),
        option::of(vec(text(), 0..3)),
        option::of(any::<bool>()),
        option::of(categories()),
        slug(),
    )
        .prop_map(
            |(event, titles, sub_titles, descriptions, images, highlighted, categories, slug)| {
                let revision = EventRevision {
                    titles,
                    sub_titles,
                    descriptions,
                    images,
                    highlighted,
                    categories,
                    slug,
                };
                Command::ReviseEvent { event: EventNo(event), revision: Box::new(revision) }
            },
        );
    let market_revision = (
        (market(), option::of(texts()), option::of(texts()), option::of(texts())),
        (option::of(texts()), option::of(text()), option::of(time()), option::of(categories())),
        (option::of(any::<bool>()), option::of(rate()), option::of(rate()), slug()),
    )
        .prop_map(|((market, questions, descriptions, yes_text), rest, last)| {
            let (highlighted, maker_fee, taker_fee, slug) = last;
            let (no_text, logo, deadline, categories) = rest;
            let revision = MarketRevision {
                questions,
                descriptions,
                yes_text,
                no_text,
                logo,
                deadline,
                categories,
                highlighted,
                maker_fee,
                taker_fee,
                slug,
            };
            Command::ReviseMarket { market, revision: Box::new(revision) }
        });
    prop_oneof![event_revision, market_revision].boxed()
}

fn market_command() -> BoxedStrategy<Command> {
    prop_oneof![
        market().prop_map(|market| Command::PublishMarket { market }),
        market().prop_map(|market| Command::SuspendMarket { market }),
        (market(), option::of(time()))
            .prop_map(|(market, deadline)| Command::ReopenMarket { market, deadline }),
        market().prop_map(|market| Command::CloseMarket { market }),
        (market(), outcome())
            .prop_map(|(market, winner)| Command::ResolveMarket { market, winner }),
        market().prop_map(|market| Command::DisputeMarket { market }),
        (market(), 0..=100_u8).prop_map(|(market, price)| Command::VoidMarket {
            market,
            price: SettlementPrice::new(price).unwrap()
        }),
    ]
    .boxed()
}

fn token() -> impl Strategy<Value = Token> {
    "[!-~]{1,64}".prop_map(|text| Token::new(&text).unwrap())
}

/// An idempotency key.
pub fn once() -> impl Strategy<Value = Box<IdempotencyKey>> {
    (user(), token(), any::<u8>(), any::<[u8; 32]>()).prop_map(|(caller, key, part, body)| {
        Box::new(IdempotencyKey { caller, key, part, body: BodyHash(body) })
    })
}

/// An operator's act.
pub fn act() -> impl Strategy<Value = Box<Act>> {
    let hash = any::<[u8; 32]>().prop_map(KeyHash);
    let texts = (option::of("\\PC{1,12}"), option::of("\\PC{1,12}"));
    (user(), option::of(any::<u32>()), texts, option::of(token()), option::of(hash)).prop_map(
        |(actor, key, (reason, evidence), reference, evidence_hash)| {
            let key = key.map(KeyNo);
            Box::new(Act { actor, key, reason, reference, evidence, evidence_hash })
        },
    )
}

fn convert() -> impl Strategy<Value = Command> {
    let markets = prop::collection::btree_set(any::<u32>(), 1..5);
    (user(), any::<u32>(), markets, lots()).prop_map(|(user, event, markets, quantity)| {
        let markets = markets.into_iter().map(MarketNo).collect();
        let markets = MarketSet::new(markets).unwrap();
        Command::Convert(Conversion { user, event: EventNo(event), markets, quantity })
    })
}

fn group() -> impl Strategy<Value = Option<Box<Group>>> {
    let group = "[!-~]{1,32}".prop_map(|text| Box::new(Group::new(&text).unwrap()));
    prop_oneof![2 => Just(None), 1 => group.prop_map(Some)]
}

fn order_terms() -> impl Strategy<Value = PlaceOrder> {
    let force = prop_oneof![
        option::of(time()).prop_map(|expires_at| TimeInForce::GoodTillCancelled { expires_at }),
        Just(TimeInForce::ImmediateOrCancel),
        Just(TimeInForce::FillOrKill),
    ];
    let self_trade = prop_oneof![
        Just(SelfTradePrevention::CancelTaker),
        Just(SelfTradePrevention::CancelMaker),
        Just(SelfTradePrevention::CancelBoth),
    ];
    let condition = prop_oneof![
        Just(Condition::Unconditional),
        Just(Condition::PostOnly),
        Just(Condition::ReduceOnly),
        Just(Condition::PostOnlyReduceOnly),
    ];
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    (
        (user(), market(), outcome(), side, tick(), lots()),
        (force, self_trade, condition, option::of(time()), option::of(user())),
        (option::of(token()), group(), option::of(any::<u32>().prop_map(KeyNo))),
    )
        .prop_map(|((user, market, outcome, side, price, quantity), rest, labels)| {
            let (client_order_id, group, key) = labels;
            let (time_in_force, self_trade, condition, valid_until, copy_from) = rest;
            PlaceOrder {
                user,
                market,
                wording: Wording { outcome, side },
                price,
                quantity,
                time_in_force,
                self_trade,
                condition,
                valid_until,
                copy_from,
                client_order_id: client_order_id.map(Box::new),
                group,
                key,
            }
        })
}

fn switch_command() -> BoxedStrategy<Command> {
    let mode = || {
        prop_oneof![
            Just(TradingMode::Normal),
            Just(TradingMode::CancelOnly),
            Just(TradingMode::ReadOnly)
        ]
    };
    prop_oneof![
        (user(), any::<u32>(), group()).prop_map(|(user, timeout_seconds, group)| {
            Command::Heartbeat { user, timeout_seconds, group }
        }),
        mode().prop_map(|mode| Command::SetVenueMode { mode }),
        (user(), mode()).prop_map(|(user, mode)| Command::SetUserMode { user, mode }),
        (user(), option::of(0..=i64::MAX)).prop_map(|(user, limit)| Command::SetExposureLimit {
            user,
            limit: limit.map(Money::new)
        }),
    ]
    .boxed()
}

fn amend() -> impl Strategy<Value = Command> {
    let changes = (option::of(tick()), option::of(lots()), option::of(seen()));
    (user(), order(), changes).prop_map(|(user, order, (price, quantity, seen))| {
        Command::AmendOrder { user, order, price, quantity, seen }
    })
}

fn replace() -> impl Strategy<Value = Command> {
    (order(), order_terms())
        .prop_map(|(replaced, terms)| Command::ReplaceOrder { replaced, terms: Box::new(terms) })
}

fn order_command() -> BoxedStrategy<Command> {
    prop_oneof![
        3 => order_terms().prop_map(Command::PlaceOrder),
        1 => replace(),
        1 => convert(),
        1 => amend(),
        1 => (user(), order()).prop_map(|(user, order)| Command::CancelOrder { user, order }),
        1 => (user(), option::of(market()), group(), option::of(any::<u32>().prop_map(KeyNo)))
            .prop_map(|(user, market, group, key)| {
                Command::CancelOrders { user, market, group, key }
            }),
        1 => Just(Command::AdvanceClock),
        2 => switch_command(),
    ]
    .boxed()
}

/// Any command that the journal accepts.
pub fn command() -> BoxedStrategy<Command> {
    prop_oneof![venue_command(), catalogue_command(), market_command(), order_command()].boxed()
}

/// Any command that the journal accepts, with or without an idempotency key and an act.
pub fn asked() -> impl Strategy<Value = KeyedCommand> {
    let once = prop_oneof![3 => Just(None), 1 => once().prop_map(Some)];
    let act = prop_oneof![3 => Just(None), 1 => act().prop_map(Some)];
    (once, act, command()).prop_map(|(once, act, command)| KeyedCommand { once, act, command })
}

/// A block after `head` that records no results; the commands must fit.
pub fn block_after(head: &Head, time: TimeMs, commands: Vec<impl Into<KeyedCommand>>) -> Block {
    block_with(head, time, commands, Results::NONE)
}

/// A block after `head` that records these results; the commands must fit.
pub fn block_with(
    head: &Head,
    time: TimeMs,
    commands: Vec<impl Into<KeyedCommand>>,
    recorded: Results,
) -> Block {
    let mut builder = BlockBuilder::new(head);
    let mut sequence = head.sequence;
    for asked in commands {
        let KeyedCommand { once, act, command } = asked.into();
        sequence = sequence.next();
        assert!(builder.push(Record { sequence, time, once, act, command }).is_ok(), "block full");
    }
    builder.build(recorded).unwrap()
}

/// Blocks of a few small records each, chained from the start.
pub fn chain(blocks_count: usize, records_count: usize) -> Vec<Block> {
    let mut head = Head::START;
    let mut blocks = Vec::new();
    for index in 0..blocks_count {
        let time = TimeMs::new(1_700_000_000_000 + i64::try_from(index).unwrap()).unwrap();
        let commands = (0..records_count)
            .map(|n| Command::Deposit {
                user: UserNo(u32::try_from(n).unwrap()),
                amount: Money::new(1 + i64::try_from(index * records_count + n).unwrap()),
            })
            .collect();
        let block = block_after(&head, time, commands);
        head = block.head();
        blocks.push(block);
    }
    blocks
}

/// A block whose one record fills it to the last byte.
pub fn largest_block(head: &Head, fill: u8) -> Block {
    use journal::record::{RECORD_BYTES_MAX, RECORD_HEADER_BYTES};
    let letters = RECORD_BYTES_MAX - RECORD_HEADER_BYTES - 16;
    // Incompressible texts, so that a store cannot shrink them.
    let mut state = u64::from(fill) + 1 + head.sequence.get();
    let profile_name: String = (0..letters)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b'!' + u8::try_from(state % 90).unwrap())
        })
        .collect();
    let command = Command::CreateUser { profile_name, profile_pic: String::new() };
    let block = block_after(head, TimeMs::new(1_700_000_000_000).unwrap(), vec![command]);
    assert_eq!(block.bytes().len(), journal::block::BLOCK_BYTES_MAX);
    block
}

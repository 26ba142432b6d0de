//! Tests that every record parses back from its printed form, and that errors name their line.

use proptest::option::of;
use proptest::prelude::*;

use super::super::catalogue::{
    CategoryDraft, EventDraft, EventRevision, Localized, MarketDraft, MarketRevision, Outcome,
};
use super::super::command::{
    Act, BodyHash, Command, Condition, Conversion, IdempotencyKey, KeyHash, Password,
    PasswordChange, PasswordScheme, PlaceOrder, RecoveryCodes, Role, SecondFactor, SeenTerms,
    SelfTradePrevention, Side, TimeInForce, TradingMode, TransferEnd, Wording,
};
use super::super::fees::FeeRate;
use super::super::ids::{
    CategoryNo, EventNo, Group, KeyNo, MarketNo, MarketSet, OrderNo, Token, UserNo,
};
use super::super::rules::Rules;
use super::super::slugs::Slug;
use super::super::units::{Lots, Money, ORDER_LOTS_MAX, Sequence, SettlementPrice, Tick, TimeMs};
use super::*;

/// Texts that are valid names, and texts that could break a line.
fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z]{1,3}", "all|yes|u0|m0|m1", "\\PC{0,6}", "[\"\\\\\n\t ;#?]{0,5}"].boxed()
}

fn texts() -> BoxedStrategy<Localized> {
    (text(), text(), text()).prop_map(|(pt, en, es)| Localized { pt, en, es }).boxed()
}

fn time() -> impl Strategy<Value = TimeMs> {
    let around = names::START_MS - 100_000..names::START_MS + 100_000;
    prop_oneof![around, 0..=TimeMs::MAX.get()].prop_map(|ms| TimeMs::new(ms).unwrap())
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Yes), Just(Outcome::No)]
}

fn categories() -> impl Strategy<Value = Vec<CategoryNo>> {
    prop::collection::vec((0..4_u32).prop_map(CategoryNo), 0..3)
}

fn event_revision() -> BoxedStrategy<EventRevision> {
    let images = of(prop::collection::vec(text(), 0..3));
    (of(texts()), of(texts()), of(texts()), images, of(any::<bool>()), of(categories()), slug())
        .prop_map(|(titles, sub_titles, descriptions, images, highlighted, categories, slug)| {
            EventRevision {
                titles,
                sub_titles,
                descriptions,
                images,
                highlighted,
                categories,
                slug,
            }
        })
        .boxed()
}

fn market_revision() -> BoxedStrategy<MarketRevision> {
    let all = (of(texts()), of(texts()), of(texts()), of(texts()));
    let rate = || of((0..=10_000_u16).prop_map(|rate| FeeRate::new(rate).unwrap()));
    (all, of(text()), of(time()), of(categories()), of(any::<bool>()), rate(), rate(), slug())
        .prop_map(|(texts, logo, deadline, categories, flag, maker_fee, taker_fee, slug)| {
            let (questions, descriptions, yes_text, no_text) = texts;
            MarketRevision {
                questions,
                descriptions,
                yes_text,
                no_text,
                logo,
                deadline,
                categories,
                highlighted: flag,
                maker_fee,
                taker_fee,
                slug,
            }
        })
        .boxed()
}

fn slug() -> impl Strategy<Value = Option<Slug>> {
    of("[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,3}".prop_map(|text| Slug::new(&text).unwrap()))
}

fn event_draft() -> BoxedStrategy<EventDraft> {
    (text(), event_revision(), any::<bool>())
        .prop_map(|(name, revision, mutually_exclusive)| {
            let mut draft = names::event_draft(&name);
            draft.mutually_exclusive = mutually_exclusive;
            draft.revise(&revision);
            draft
        })
        .boxed()
}

fn market_draft() -> BoxedStrategy<MarketDraft> {
    let rest = (of((0..3_u32).prop_map(EventNo)), prop_oneof![Just(0), any::<u32>()]);
    (text(), time(), market_revision(), rest)
        .prop_map(|(name, now, revision, rest)| {
            let mut draft = names::market_draft(&name, now);
            draft.revise(&revision);
            (draft.event, draft.dispute_window_seconds) = rest;
            draft
        })
        .boxed()
}

fn token() -> impl Strategy<Value = Token> {
    prop_oneof!["[a-c]", "[!-~]{1,64}"].prop_map(|text| Token::new(&text).unwrap())
}

fn once() -> impl Strategy<Value = Box<IdempotencyKey>> {
    let body = prop_oneof![Just([0; 32]), any::<[u8; 32]>()].prop_map(BodyHash);
    (0..4_u32, token(), prop_oneof![Just(0), any::<u8>()], body).prop_map(
        |(caller, key, part, body)| {
            Box::new(IdempotencyKey { caller: UserNo(caller), key, part, body })
        },
    )
}

fn act() -> impl Strategy<Value = Box<Act>> {
    let hash = of(any::<[u8; 32]>().prop_map(KeyHash));
    (0..4_u32, of((0..4_u32).prop_map(KeyNo)), of(text()), of(token()), of(text()), hash).prop_map(
        |(actor, key, reason, reference, evidence, evidence_hash)| {
            let actor = UserNo(actor);
            Box::new(Act { actor, key, reason, reference, evidence, evidence_hash })
        },
    )
}

fn group() -> impl Strategy<Value = Option<Box<Group>>> {
    of("[!-~]{1,32}".prop_map(|text| Box::new(Group::new(&text).unwrap())))
}

fn order() -> BoxedStrategy<PlaceOrder> {
    let numbers = (0..4_u32, 0..3_u32, 1..=99_u8, 1..=ORDER_LOTS_MAX);
    let wording = (outcome(), prop_oneof![Just(Side::Buy), Just(Side::Sell)])
        .prop_map(|(outcome, side)| Wording { outcome, side });
    let time_in_force = prop_oneof![
        of(time()).prop_map(|expires_at| TimeInForce::GoodTillCancelled { expires_at }),
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
    let key = of((0..4_u32).prop_map(KeyNo));
    let rest = (of(time()), of((0..4_u32).prop_map(UserNo)), of(token()), group(), key);
    (numbers, wording, time_in_force, self_trade, condition, rest)
        .prop_map(
            |((user, market, price, lots), wording, time_in_force, self_trade, condition, rest)| {
                PlaceOrder {
                    user: UserNo(user),
                    market: MarketNo(market),
                    wording,
                    price: Tick::new(price).unwrap(),
                    quantity: Lots::new(lots),
                    time_in_force,
                    self_trade,
                    condition,
                    valid_until: rest.0,
                    copy_from: rest.1,
                    client_order_id: rest.2.map(Box::new),
                    group: rest.3,
                    key: rest.4,
                }
            },
        )
        .boxed()
}

fn creation() -> BoxedStrategy<Command> {
    let key = (0..4_u32, proptest::option::of(any::<bool>()), text(), any::<[u8; 32]>());
    let rules = (
        1..3_u32,
        text(),
        1..20_000_u32,
        any::<u32>(),
        1..=i64::MAX,
        (0..200_000_u32, any::<u32>()),
    );
    prop_oneof![
        rules.prop_map(
            |(version, currency, user_open_orders_max, all, supply, (window, names))| {
                Command::OpenVenue(Rules {
                    version,
                    currency,
                    user_open_orders_max,
                    venue_open_orders_max: all,
                    money_supply_max: Money::new(supply),
                    repeat_window_seconds: window,
                    user_names_max: names,
                })
            }
        ),
        (text(), text()).prop_map(|(profile_name, profile_pic)| {
            Command::CreateUser { profile_name, profile_pic }
        }),
        (key, of(time())).prop_map(|((user, operator, label, hash), ends)| Command::AddKey {
            user: UserNo(user),
            role: match operator {
                None => Role::Reader,
                Some(false) => Role::Trader,
                Some(true) => Role::Operator,
            },
            label,
            hash: KeyHash(hash),
            ends,
        }),
        (text(), text())
            .prop_map(|(name, slug)| Command::CreateCategory(CategoryDraft { name, slug })),
        event_draft().prop_map(|draft| Command::CreateEvent(Box::new(draft))),
        market_draft().prop_map(|draft| Command::CreateMarket(Box::new(draft))),
        (0..3_u32, event_revision()).prop_map(|(event, revision)| Command::ReviseEvent {
            event: EventNo(event),
            revision: Box::new(revision),
        }),
        (0..3_u32, market_revision()).prop_map(|(market, revision)| Command::ReviseMarket {
            market: MarketNo(market),
            revision: Box::new(revision),
        }),
    ]
    .boxed()
}

fn life_cycle() -> BoxedStrategy<Command> {
    let market = || (0..3_u32).prop_map(MarketNo);
    prop_oneof![
        market().prop_map(|market| Command::PublishMarket { market }),
        market().prop_map(|market| Command::SuspendMarket { market }),
        (market(), of(time()))
            .prop_map(|(market, deadline)| Command::ReopenMarket { market, deadline }),
        market().prop_map(|market| Command::CloseMarket { market }),
        (market(), outcome())
            .prop_map(|(market, winner)| Command::ResolveMarket { market, winner }),
        market().prop_map(|market| Command::DisputeMarket { market }),
        (market(), 0..=100_u8).prop_map(|(market, price)| Command::VoidMarket {
            market,
            price: SettlementPrice::new(price).unwrap(),
        }),
    ]
    .boxed()
}

fn mode() -> impl Strategy<Value = TradingMode> {
    let modes = [TradingMode::Normal, TradingMode::CancelOnly, TradingMode::ReadOnly];
    prop::sample::select(modes.to_vec())
}

fn of_a_user() -> BoxedStrategy<Command> {
    let user = || (0..4_u32).prop_map(UserNo);
    let money = || (1..=i64::MAX).prop_map(Money::new);
    let order_no = || (0..40_u64).prop_map(|number| OrderNo(Sequence::new(number)));
    let price = (1..=99_u8).prop_map(|ticks| Tick::new(ticks).unwrap());
    let lots = (1..=ORDER_LOTS_MAX).prop_map(Lots::new);
    let filled = prop_oneof![Just(Lots::ZERO), lots.clone()];
    let seen = (price.clone(), lots.clone(), filled)
        .prop_map(|(price, quantity, filled)| SeenTerms { price, quantity, filled });
    prop_oneof![
        4 => order().prop_map(Command::PlaceOrder),
        1 => (user(), money()).prop_map(|(user, amount)| Command::Deposit { user, amount }),
        1 => (user(), money()).prop_map(|(user, amount)| Command::Withdraw { user, amount }),
        1 => (user(), money()).prop_map(|(user, amount)| Command::TakeFees { user, amount }),
        1 => (user(), money()).prop_map(|(user, amount)| {
            Command::AskDeposit { user, amount, reference: None }
        }),
        1 => (user(), money()).prop_map(|(user, amount)| {
            Command::AskWithdrawal { user, amount, reference: Token::new("own-1") }
        }),
        1 => (user(), 0..=i64::MAX).prop_map(|(user, units)| Command::FileDispute {
            user,
            market: MarketNo(0),
            bond: Money::new(units),
            reason: "it \"rained\"".to_owned()
        }),
        1 => of(0..=i64::MAX).prop_map(|units| Command::SetTwoPersons {
            above: units.map(Money::new)
        }),
        1 => (user(), 0..40_u64).prop_map(|(operator, number)| Command::ConfirmProposal {
            operator,
            proposal: Sequence::new(number)
        }),
        1 => (user(), 0..40_u64).prop_map(|(operator, number)| Command::DropProposal {
            operator,
            proposal: Sequence::new(number)
        }),
        1 => (user(), 0..40_u64).prop_map(|(user, number)| Command::EndTransfer {
            user,
            transfer: Sequence::new(number),
            how: TransferEnd::Refused,
        }),
        1 => (user(), (0..4_u32).prop_map(KeyNo))
            .prop_map(|(user, key)| Command::RevokeKey { user, key }),
        1 => (user(), order_no(), of(price.clone()), of(lots.clone()), of(seen))
            .prop_map(|(user, order, price, quantity, seen)| {
                Command::AmendOrder { user, order, price, quantity, seen }
            }),
        1 => (order_no(), order()).prop_map(|(replaced, terms)| Command::ReplaceOrder {
            replaced,
            terms: Box::new(terms),
        }),
        1 => (user(), order_no()).prop_map(|(user, order)| Command::CancelOrder { user, order }),
        1 => (user(), of((0..3_u32).prop_map(MarketNo)), group(), of((0..4_u32).prop_map(KeyNo)))
            .prop_map(|(user, market, group, key)| {
                Command::CancelOrders { user, market, group, key }
            }),
        1 => Just(Command::AdvanceClock),
        1 => (user(), prop_oneof![Just(0), any::<u32>()], group())
            .prop_map(|(user, timeout_seconds, group)| {
                Command::Heartbeat { user, timeout_seconds, group }
            }),
        1 => mode().prop_map(|mode| Command::SetVenueMode { mode }),
        1 => (user(), mode()).prop_map(|(user, mode)| Command::SetUserMode { user, mode }),
        1 => (user(), text())
            .prop_map(|(user, profile_name)| Command::RenameUser { user, profile_name }),
        1 => (user(), of((0..=i64::MAX).prop_map(Money::new)))
            .prop_map(|(user, limit)| Command::SetExposureLimit { user, limit }),
        1 => sign_in(),
    ]
    .boxed()
}

fn sign_in() -> BoxedStrategy<Command> {
    let user = || (0..4_u32).prop_map(UserNo);
    let hash = || any::<[u8; 32]>().prop_map(KeyHash);
    let time = || (0..TimeMs::MAX.get()).prop_map(|ms| TimeMs::new(ms).unwrap());
    let name = || "[a-z]{1,9}".prop_map(|name| Token::new(&name).unwrap());
    let password = || {
        let scheme = PasswordScheme::Argon2id19MiB;
        (hash(), hash()).prop_map(move |(salt, hashed)| Password { scheme, salt, hashed })
    };
    let role = prop::sample::select(Role::ALL.to_vec());
    prop_oneof![
        (user(), role, hash(), time()).prop_map(|(user, role, invitation, ends)| Command::Invite {
            user,
            role,
            invitation,
            ends
        }),
        (name(), password()).prop_map(|(name, password)| Command::SignUp { name, password }),
        (user(), of(hash()), name(), password()).prop_map(|(user, invitation, name, password)| {
            Command::SetPassword { user, invitation, name, password }
        }),
        (user(), hash(), time()).prop_map(|(user, session, until)| Command::ExtendSession {
            user,
            session,
            until
        }),
        (user(), of(hash())).prop_map(|(user, session)| Command::SignOut { user, session }),
        second_factor(),
    ]
    .boxed()
}

fn second_factor() -> BoxedStrategy<Command> {
    let hash = || any::<[u8; 32]>().prop_map(KeyHash);
    let user = || (0..4_u32).prop_map(UserNo);
    let codes = prop::collection::vec(hash(), 0..4);
    let recovery = codes.prop_map(|codes| RecoveryCodes::new(codes).unwrap());
    let factor = (hash(), hash(), time(), recovery)
        .prop_map(|(salt, sealed, used, recovery)| SecondFactor { salt, sealed, used, recovery });
    prop_oneof![
        (user(), hash(), factor).prop_map(|(user, password_salt, factor)| {
            Command::SetSecondFactor { user, password_salt, factor }
        }),
        (user(), time(), hash(), time(), time()).prop_map(
            |(user, password_set, session, until, used)| {
                let ends = until;
                Command::SignInByCode { user, password_set, session, until, ends, used }
            }
        ),
        (user(), time(), hash(), time(), hash()).prop_map(
            |(user, password_set, session, until, recovery_code)| Command::SignInByRecovery {
                user,
                password_set,
                session,
                until,
                ends: until,
                recovery_code,
            }
        ),
        user().prop_map(|user| Command::ClearSecondFactor { user }),
        (user(), hash(), hash(), hash(), time()).prop_map(|(user, one, other, third, until)| {
            let scheme = PasswordScheme::Argon2id19MiB;
            Command::ChangePassword(Box::new(PasswordChange {
                user,
                password_before: one,
                factor_before: other,
                password: Password { scheme, salt: third, hashed: one },
                factor_salt: other,
                sealed: third,
                session: one,
                until,
                ends: until,
            }))
        }),
    ]
    .boxed()
}

fn conversion() -> impl Strategy<Value = Command> {
    let markets = prop::collection::btree_set(0..5_u32, 1..4);
    (0..4_u32, 0..3_u32, markets, 1..=ORDER_LOTS_MAX).prop_map(|(user, event, markets, lots)| {
        Command::Convert(Conversion {
            user: UserNo(user),
            event: EventNo(event),
            markets: MarketSet::new(markets.into_iter().map(MarketNo).collect()).unwrap(),
            quantity: Lots::new(lots),
        })
    })
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let command = prop_oneof![
        3 => creation(),
        3 => life_cycle(),
        3 => of_a_user(),
        1 => conversion(),
    ];
    let once = prop_oneof![4 => Just(None), 1 => once().prop_map(Some)];
    let asked = (time(), once, prop_oneof![4 => Just(None), 1 => act().prop_map(Some)], command);
    (prop_oneof![Just(1), 1..50_u64], prop::collection::vec(asked, 0..30)).prop_map(
        |(first, commands)| {
            let numbered = (first..).map(Sequence::new).zip(commands);
            numbered
                .map(|(sequence, (time, once, act, command))| Record {
                    sequence,
                    time,
                    once,
                    act,
                    command,
                })
                .collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn records_survive_print_and_parse(records in records()) {
        let script = print(&records);
        prop_assert_eq!(parse(&script), Ok(records), "{}", script);
    }

    #[test]
    fn a_line_that_means_nothing_is_an_error_and_never_a_panic(line in "\\PC{0,40}") {
        let names = Names::starting_at(Sequence::new(1));
        prop_assert!(parse::line(&line, &names).is_err() || line.contains(char::is_alphabetic));
    }
}

/// A refused market takes no number, for reader and writer alike: the next one is market 0.
#[test]
fn refused_creations_keep_no_name() {
    let script = "\
venue USD
user ann
market rain until -1s
market rain
publish rain
ann buy yes 0.50 x1
deposit ann 1.00
ann buy yes 0.50 x1
ann cancel ann.2
";
    let records = parse(script).unwrap();
    assert!(matches!(records[4].command, Command::PublishMarket { market: MarketNo(0) }));
    assert_eq!(print(&records), script);
}

/// Each line, parsed and printed again, is the same line.
#[test]
fn lines_are_written_as_they_are_read() {
    let script = "\
venue USD
user ann
user bob \"Bob \\\"B.\\\"\" pic \"https://example.org/b.png\"
+5s deposit ann 100.00
withdraw ann 0.50
take-fees ann 0.03
ann asks-deposit 2.00 for own-1
bob asks-withdrawal 1.00
ann transfer 7 confirmed
two-persons above 5.00
two-persons off
ann confirms 7
bob rejects 7
rename ann \"Ann Lee\"
category weather
event storms exclusive in weather
market rain until +2h highlighted yes of storms window 1m
ann disputes rain bond 5.00 \"it rained\"
bob disputes rain bond 0.00 \"it did not\"
revise market rain until +1d
publish rain
ann sell yes 0.62 x5 as s1
bob buy no 0.40 x2.5 ioc stp=cancel-maker
bob buy yes 0.63 x8 expires +10m post-only valid +250ms copy ann
bob amend bob.2 price 0.61 x4
bob amend bob.2 x4 seen 0.61 x5 filled x1.5
bob amend bob.2 price 0.61 seen 0.63 x8
ann buy yes 0.30 x1 client \"a\\\"1\"
ann convert storms rain,?3 x2.5
ann cancel s1
bob cancel all rain
bob cancel all
ann heartbeat 30s
ann heartbeat off
mode venue read-only
mode ann cancel-only
limit ann 50.00
limit bob none
+1d clock
reopen rain until +1h
key phone for ann operator
revoke phone of ann
resolve rain yes
void rain 0.30
once bob \"k-1\" part 3 deposit bob 1.00
?7 buy yes 0.01 x1 on ?3
";
    let mut names = Names::starting_at(Sequence::new(1));
    for text in script.lines() {
        let line = parse::line(text, &names).unwrap();
        assert_eq!(print::line(&line, &names), text);
        names.follow(&line, Verdict::Taken);
    }
}

#[test]
fn errors_name_the_line_and_the_word() {
    let error = |script: &str| parse(script).unwrap_err().to_string();
    assert_eq!(error("venue\n\nann buy yes"), "line 3: nothing is called `ann`");
    assert_eq!(error("user all"), "line 1: `all` cannot be a name");
    assert_eq!(
        error("venue\nuser ann\nuser ann"),
        "line 3: `ann` is already the name of something"
    );
    assert_eq!(error("venue\nuser ann\ndeposit ann"), "line 3: the line ends before amount");
    assert_eq!(error("venue\nuser a\ndeposit a 1."), "line 3: `1.` is not of the expected form");
    assert_eq!(error("user ann \"x"), "line 1: a quoted text is not well formed");
    assert_eq!(error("clock twice"), "line 1: `twice` means nothing here");
    assert_eq!(error("+5 clock"), "line 1: `+5` is not a time");
}

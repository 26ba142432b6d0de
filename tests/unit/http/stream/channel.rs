//! Unit tests of `src/http/stream/channel.rs`.

use super::*;

#[test]
fn a_channel_is_read_by_its_name_alone() {
    let id = "01a2b3c4-0000-7000-8000-0123456789ab";
    let names = ["markets", "account", "journal", "book:*", "book:*:top", "orders:*"];
    let own = ["market", "book", "orders", "trades", "activity"].map(|kind| format!("{kind}:{id}"));
    let top = [format!("book:{id}:top")];
    for name in names.map(str::to_owned).iter().chain(&own).chain(&top) {
        assert_eq!(Channel::parse(name).unwrap().to_string(), *name);
    }
    // A book is one channel, whichever outcome's it is called.
    for outcome in ["yes", "no"] {
        let book = Channel::parse(&format!("book:{id}:{outcome}")).unwrap();
        assert_eq!(book, Channel::parse(&format!("book:{id}")).unwrap());
    }
    let upper = format!("book:{}", id.to_uppercase());
    let [tops, sided] = ["trades:{id}:top", "orders:{id}:yes"].map(|it| it.replace("{id}", id));
    let both = format!("book:{id}:yes:top");
    let unknown = ["", "book", "book:", "market:x", "quotes:*", "account:*", "books:*"];
    let unknown = unknown.into_iter().chain([&upper, &tops, &sided, &both].map(String::as_str));
    for name in unknown {
        let problem = Channel::parse(name).unwrap_err();
        assert_eq!(problem.kind, Kind::ChannelNotFound, "{name}");
    }
}

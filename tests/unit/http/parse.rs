//! Unit tests of `src/http/parse.rs`.

use super::*;
use exchange::units::ORDER_LOTS_MAX;

#[test]
fn only_the_hyphenated_form_is_a_uuid() {
    let id = "0192f0c1-2b3c-7d4e-8f50-617283940516";
    assert!(MarketId::read(id).is_ok());
    assert!(MarketId::read(&id.to_uppercase()).is_ok());
    for bad in ["", "x", &id.replace('-', ""), &format!("{{{id}}}"), &format!("urn:uuid:{id}")] {
        assert!(MarketId::read(bad).is_err(), "{bad}");
    }
    assert!(category_ids(&format!("{id},{id}")).is_ok_and(|ids| ids.len() == 2));
    assert!(category_ids(&format!("{id},")).is_err());
    assert!(category_ids("").is_err());
}

#[test]
fn names_in_paths_are_decoded_once() {
    let read = |text: &str| Escaped::read(text).map(|Escaped(token)| token.to_string()).ok();
    assert_eq!(read("a-1"), Some("a-1".to_owned()));
    assert_eq!(read("%2Fa%25%2f+"), Some("/a%/+".to_owned()));
    assert_eq!(read("%2525"), Some("%25".to_owned()));
    for bad in ["", "%", "%2", "%zz", "a%20b", "%C3%A9", "%+1", "%ff"] {
        assert_eq!(read(bad), None, "{bad}");
    }
}

#[test]
fn integers_are_plain_digits() {
    assert_eq!(digits("0020"), Ok(20));
    assert_eq!(digits("99999999999999999999999"), Ok(u64::MAX));
    for bad in ["", "+1", "-1", "1.0", "1e3", " 1", "٣"] {
        assert!(digits(bad).is_err(), "{bad}");
    }
}

/// Every faulty decimal gets an error that states the rule.
#[test]
fn a_wrong_decimal_is_answered_with_what_is_allowed() {
    let detail = |fault: Option<Fault>| fault.unwrap().detail.into_owned();
    for bad in ["0.605", "1", "0.00", "0.6 ", "-0.10", "60", ""] {
        let told = detail(Tick::read(bad).err());
        assert!(told.contains("0.01 to 0.99 in steps of 0.01"), "{bad}: {told}");
    }
    assert!(detail(Lots::read("0.0000001").err()).starts_with("has too many decimals"));
    assert!(detail(Lots::read("0").err()).starts_with("is out of range"));
    for bad in ["0", "100000001", "0.0000001", "1e3"] {
        assert!(detail(Lots::read(bad).err()).contains("at most 100000000"), "{bad}");
    }
    assert_eq!(Lots::read("100000000").map(Lots::get), Ok(ORDER_LOTS_MAX));
    assert!(detail(Money::read("0").err()).contains("more than 0"));
    assert!(detail(SettlementPrice::read("1.01").err()).contains("0.00 to 1.00"));
}

#[test]
fn moments_are_converted_to_utc() {
    let utc = TimeMs::read("2030-01-31T18:00:00.000Z").unwrap();
    assert_eq!(TimeMs::read("2030-01-31T15:00:00-03:00"), Ok(utc));
    assert_eq!(TimeMs::read("1969-12-31T23:59:59Z").unwrap_err().code, FieldCode::OutOfBounds);
    for bad in ["2030-01-31", "2030-01-31T18:00:00", "2030-02-30T00:00:00Z", "now", ""] {
        assert_eq!(TimeMs::read(bad).unwrap_err().code, FieldCode::InvalidValue, "{bad}");
    }
}

#[test]
fn times_of_queries_may_have_lost_their_plus() {
    let utc = TimeMs::read("2030-01-31T18:00:00.000Z");
    for offset in ["Z", "+00:00", "+0000", " 00:00", " 0000", "-00:00", "-0000"] {
        assert_eq!(moment_in_query(&format!("2030-01-31T18:00:00{offset}")), utc, "{offset}");
    }
    for text in ["2030-01-31T15:00:00.000-0300", "2030-01-31T23:30:00 0530"] {
        assert_eq!(moment_in_query(text), utc, "{text}");
    }
    let bad = ["", " ", "é", "2030-01-31 18:00", "2030-01-31T18:00:00", "2030-01-31T18:00:00+00"];
    for bad in bad.into_iter().chain(["2030-01-31T18:00:0000", "2030-01-31T18:00:00 00 00"]) {
        assert_eq!(moment_in_query(bad).unwrap_err().code, FieldCode::InvalidValue, "{bad}");
    }
}

#[test]
fn urls_are_of_the_web() {
    for good in [
        "https://example.org/a.png",
        "http://h",
        "http://1.2.3.4:80?a=b",
        "https://a_b-c#f",
        "HTTPS://Assets.Example/p.png",
        "Http://h?x",
        "https://[2001:db8::1]/p",
        "http://[::FFFF:1.2.3.4]:8080/",
        "https://xn--caf-dma.example/%C3%A9?a=%20&b=(c)#d/e?f",
    ] {
        assert_eq!(WebUrl::read(good), Ok(WebUrl(good.to_owned())));
    }
    for bad in [
        "",
        "ftp://h/x",
        "https://",
        "https:///x",
        "javascript:alert(1)",
        "http://a b",
        "http://[",
        "http://h:123456",
        "http://u:p@h",
        "http://@h",
        "http://é",
        "http://:1",
        "https:h",
        "https:/h",
        "//h/p",
        "/p",
        "data:,x",
        "http://1.2",
        "http://0x7f.1",
        "http://256.1.1.1",
        "http://[::1",
        "http://[g::]",
        "http://[::1%25eth0]/",
        "http://e%78ample.org",
        "https://h\\p",
        "https:\\\\h",
        " https://h",
        "https://h ",
        "https://h/\n",
        "https://h/\t",
        "https://h/\u{e9}",
        "http://h?[",
        "http://h#a#b",
        "https://h/<script>",
        "https://h/\"x",
        "https://h/{x}",
        "https://h/a|b",
        "https://h/^",
        "https://h/`",
        "https://h/%",
        "https://h/%z1",
        "https://h/%1",
        "https://h/%é1",
    ] {
        assert_eq!(
            WebUrl::read(bad).map_err(|fault| fault.code),
            Err(FieldCode::InvalidValue),
            "{bad}"
        );
    }
    let long = |bytes: usize| WebUrl::read(&format!("http://h/{}", "a".repeat(bytes - 9)));
    assert!(long(URL_CHARS_MAX).is_ok());
    assert_eq!(long(URL_CHARS_MAX + 1).unwrap_err().code, FieldCode::OutOfBounds);
}

#[test]
fn texts_are_bounded_in_characters() {
    for text in ["ção", "日本語", "😀😀😀"] {
        assert_eq!(Words::<3>::read(text), Ok(Words(text.to_owned())));
        assert_eq!(Words::<2>::read(text).unwrap_err().code, FieldCode::OutOfBounds);
    }
    assert!(Words::<10>::read(" \n").is_err() && Prose::<10>::read("").is_ok());
    assert!(Prose::<10>::read("a\u{0}").is_err());
}

#[test]
fn every_character_of_a_name_shows() {
    for good in ["ana", "João d'Ávila", "李小龙", "שלום", "a\u{301}", "Zoë 😀"] {
        assert_eq!(Name::read(good), Ok(Name(good.to_owned())));
    }
    for hidden in [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{180e}',
        '\u{200b}',
        '\u{200d}',
        '\u{200e}',
        '\u{202e}',
        '\u{2060}',
        '\u{2067}',
        '\u{2028}',
        '\u{2800}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fffa}',
        '\u{e0041}',
        '\n',
        '\t',
    ] {
        for text in [format!("an{hidden}a"), format!("{hidden}ana"), hidden.to_string()] {
            assert_eq!(Name::read(&text).unwrap_err().code, FieldCode::InvalidValue, "{text:?}");
        }
    }
    assert_eq!(Name::read(&"é".repeat(201)).unwrap_err().code, FieldCode::OutOfBounds);
}

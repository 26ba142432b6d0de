//! Unit tests of `src/http/preconditions.rs`.

use super::*;

fn read(method: &Method, lines: &[(&str, &str)]) -> Result<Preconditions, FieldCode> {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, value.parse().unwrap());
    }
    let read = Preconditions::read(method, &headers, true);
    read.map_err(|problem| problem.errors[0].code)
}

#[test]
fn a_write_is_made_only_if_one_of_the_tags_is_it() {
    let (own, other) = (tag_of(b"a"), tag_of(b"b"));
    let passes = |lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| ("if-match", *line)).collect();
        read(&Method::PATCH, &lines).map(|all| all.check(&own).is_ok())
    };
    let packed = format!("{}{GZIP_SUFFIX}\"", own.trim_end_matches('"'));
    for good in ["*", &own, &format!("{other}, {own}"), &format!("{own},"), &packed] {
        assert_eq!(passes(&[good]), Ok(true), "{good}");
    }
    assert_eq!(passes(&[&other, &own]), Ok(true));
    for bad in [&other, &format!("W/{own}"), "\"\"", "\"x\"", ""] {
        assert_eq!(passes(&[bad]), Ok(false), "{bad}");
    }
    for bad in ["x", "\"", "*, *", "w/\"a\"", &own[1..], &format!("{own} {own}")] {
        assert_eq!(passes(&[bad]), Err(FieldCode::InvalidValue), "{bad}");
    }
    assert_eq!(passes(&["*", &own]), Err(FieldCode::InvalidValue));
    assert_eq!(passes(&[]), Ok(true));
}

#[test]
fn a_revision_depends_on_what_can_be_revised() {
    let sent = tag_of_part(b"terms", b"terms at 0.5");
    let guard = read(&Method::PATCH, &[("if-match", &sent)]).unwrap();
    assert!(guard.guards() && guard.check_part(&sent).is_ok());
    assert!(guard.check_part(&tag_of_part(b"terms", b"terms at 0.6")).is_ok());
    assert!(guard.check_part(&tag_of_part(b"other", b"terms at 0.5")).is_err());
    for cut in ["\"\"", "\".\"", &format!("{}\"", &sent[..25]), &format!("{}.\"", &sent[..25])] {
        let guard = read(&Method::PATCH, &[("if-match", cut)]).unwrap();
        assert!(guard.check_part(&sent).is_err(), "{cut}");
    }
}

#[test]
fn a_reader_is_told_what_it_knows() {
    let (own, other) = (tag_of(b"a"), tag_of(b"b"));
    let knows =
        |line: &str| read(&Method::GET, &[("if-none-match", line)]).map(|all| all.is_known(&own));
    for yes in ["*", &own, &format!("W/{own}"), &format!("{other},{own}")] {
        assert_eq!(knows(yes), Ok(true), "{yes}");
    }
    for no in [&other, "x", "", "\""] {
        assert_eq!(knows(no), Ok(false), "{no}");
    }
    let guard = read(&Method::GET, &[("if-match", &other)]).unwrap();
    assert!(guard.check(&own).is_err() && !guard.is_known(&own));
}

#[test]
fn a_condition_that_is_not_checked_is_refused() {
    for method in [Method::POST, Method::PATCH, Method::DELETE] {
        for line in [("if-unmodified-since", "now"), ("if-none-match", "*")] {
            assert_eq!(read(&method, &[line]), Err(FieldCode::UnknownField));
        }
        let mut headers = HeaderMap::new();
        headers.append(header::IF_MATCH, "\"a\"".parse().unwrap());
        let refused = Preconditions::read(&method, &headers, false).unwrap_err();
        assert_eq!(refused.errors[0].field, "If-Match");
        // RFC 9110 has it ignored there.
        assert_eq!(read(&method, &[("if-modified-since", "now")]), Ok(Preconditions::default()));
    }
}

//! Unit tests of `src/s3/place.rs`.

use super::*;

fn place(url: &str) -> Place {
    let (url, endpoint) = (url.to_owned(), Some("http://127.0.0.1:9000".to_owned()));
    Place { url, endpoint, region: Some("eu-1".into()), cacert: None, retain_days: None }
}

#[test]
fn a_bucket_and_its_prefix_are_told_apart() {
    let prefix =
        |url| place(url).bucket().map(|(bucket, prefix)| (bucket.name().to_owned(), prefix));
    assert_eq!(prefix("s3://b"), Ok(("b".into(), String::new())));
    assert_eq!(prefix("s3://b/"), Ok(("b".into(), String::new())));
    assert_eq!(prefix("s3://b/x/y/"), Ok(("b".into(), "x/y/".into())));
    for bad in ["b", "http://b", "s3://", "s3:///x", "s3://b/../c"] {
        assert!(prefix(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_default_profile_of_a_file_has_the_keys() {
    let text = "[other]\naws_access_key_id=x\n[default]\naws_access_key_id = A\n\
                aws_secret_access_key=B/c=\n[last]\naws_session_token=t\n";
    let keys = in_file(text).unwrap();
    assert_eq!((keys.key(), keys.secret(), keys.token()), ("A", "B/c=", None));
    assert!(in_file("[default]\naws_access_key_id=A\n").is_none());
    assert!(in_file("").is_none());
}

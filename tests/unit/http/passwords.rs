//! Unit tests of `src/http/passwords.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use super::*;

fn name(text: &str) -> Token {
    Token::new(text).unwrap()
}

#[test]
fn a_password_is_known_by_its_hash_alone() {
    let scheme = PasswordScheme::Argon2id19MiB;
    let one = hash(b"correct horse", scheme, KeyHash([7; 32])).unwrap();
    assert_eq!(hash(b"correct horse", scheme, KeyHash([7; 32])), Some(one));
    assert_ne!(hash(b"correct horse", scheme, KeyHash([8; 32])), Some(one), "the salt counts");
    assert_ne!(hash(b"correct horsf", scheme, KeyHash([7; 32])), Some(one));
    // As RFC 9106's reference computes it: `argon2 -id -t 2 -k 19456 -p 1 -l 32`.
    let shown = data_encoding::HEXLOWER.encode(&one.0);
    assert_eq!(shown.len(), 64);
}

#[tokio::test]
async fn ten_wrong_passwords_are_followed_by_a_wait_of_that_name_and_address_alone() {
    let passwords = Passwords::default();
    let known = passwords.hashed("a long password".to_owned()).await.unwrap();
    let home: IpAddr = [192, 0, 2, 1].into();
    let (ann, bob) = (name("ann"), name("bob"));
    for _ in 0..TRIES_MAX {
        passwords.count(Trier::Name(ann));
    }
    let refused = passwords.check((ann, Some(home)), "a long password".to_owned(), Some(known));
    let problem = refused.await.unwrap_err();
    assert_eq!(problem.kind, Kind::TooManyTries);
    assert!(problem.wait.unwrap().get() <= 15 * 60);
    let other = passwords.check((bob, Some(home)), "a long password".to_owned(), Some(known));
    assert!(other.await.unwrap(), "another name");
    for _ in 0..TRIES_MAX {
        passwords.count(Trier::Address(home));
    }
    let other = passwords.check((bob, Some(home)), "a long password".to_owned(), Some(known));
    assert_eq!(other.await.unwrap_err().kind, Kind::TooManyTries, "the same address");
    let away = passwords.check((bob, None), "wrong password".to_owned(), None);
    assert!(!away.await.unwrap(), "a name that nobody has");
}

#[test]
fn an_address_makes_thirty_accounts_and_then_waits() {
    let passwords = Passwords::default();
    let (home, away): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    for _ in 0..SIGN_UPS_MAX {
        passwords.admit_newcomer(Some(home)).unwrap();
    }
    let waits = passwords.admit_newcomer(Some(home)).unwrap_err();
    assert_eq!(waits.kind, Kind::TooManyTries);
    passwords.admit_newcomer(Some(away)).unwrap();
    // Whoever has an account there signs in as before.
    passwords.admit(Trier::Address(home)).unwrap();
}

#[test]
fn what_is_counted_is_bounded() {
    let passwords = Passwords::default();
    for number in 0..COUNTED_MAX + 10 {
        passwords.count(Trier::Name(name(&format!("name-{number}"))));
        if number > COUNTED_MAX {
            break;
        }
    }
    assert!(passwords.tries.lock().len() <= COUNTED_MAX);
}

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
        passwords.admit(&[Some(Trier::Name(ann))]).unwrap();
    }
    let refused = passwords.check((ann, Some(home)), "a long password".to_owned(), Some(known));
    let problem = refused.await.unwrap_err();
    assert_eq!(problem.kind, Kind::TooManyTries);
    assert!(problem.wait.unwrap().get() <= 15 * 60);
    let other = passwords.check((bob, Some(home)), "a long password".to_owned(), Some(known));
    assert!(other.await.unwrap(), "another name");
    // What was right counts no more once that is seen.
    passwords.forgive((bob, Some(home)));
    for _ in 0..TRIES_MAX {
        passwords.admit(&[Trier::address(home)]).unwrap();
    }
    let other = passwords.check((bob, Some(home)), "a long password".to_owned(), Some(known));
    assert_eq!(other.await.unwrap_err().kind, Kind::TooManyTries, "the same address");
    // Everybody may come from this machine, by a proxy.
    let here = ["127.0.0.1", "::1", "::ffff:127.0.0.1"];
    assert!(here.iter().all(|here| Trier::address(here.parse().unwrap()).is_none()));
    let away = passwords.check((bob, None), "wrong password".to_owned(), None);
    assert!(!away.await.unwrap(), "a name that nobody has");
}

#[test]
fn whoever_guesses_elsewhere_locks_nobody_out_where_the_name_was_signed_in() {
    let passwords = Passwords::default();
    let (home, away): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let (ann, bob) = (name("ann"), name("bob"));
    passwords.welcome((ann, Some(home)));
    let tries = |name, address| {
        (0..TRIES_MAX).all(|_| passwords.admit(&[Some(passwords.trier((name, address)))]).is_ok())
    };
    assert!(tries(ann, Some(away)));
    assert!(!tries(ann, Some(away)) && !tries(ann, None), "whoever comes from elsewhere waits");
    // There, too, ten are enough, and one that was right does not count.
    passwords.admit(&[Some(passwords.trier((ann, Some(home))))]).unwrap();
    passwords.forgive((ann, Some(home)));
    assert!(tries(ann, Some(home)));
    assert!(!tries(ann, Some(home)));
    assert!(tries(bob, Some(home)), "another name");
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
    passwords.admit(&[Trier::address(home)]).unwrap();
}

/// Tries that are on their way at once count before anybody knows that they are wrong.
#[tokio::test]
async fn more_tries_at_once_than_may_be_wrong_are_refused() {
    let passwords = Passwords::default();
    let ann = (name("ann"), None);
    let tries = (0..TRIES_MAX + 5).map(|_| passwords.check(ann, "wrong password".to_owned(), None));
    let refused = futures_of(tries.collect()).await;
    assert_eq!(refused, 5);
}

/// How many of these are refused, all begun before the first is over.
async fn futures_of<F: Future<Output = Result<bool, Problem>>>(all: Vec<F>) -> usize {
    let mut all: Vec<_> = all.into_iter().map(Box::pin).collect();
    let mut refused = 0;
    std::future::poll_fn(|cx| {
        all.retain_mut(|one| match one.as_mut().poll(cx) {
            std::task::Poll::Ready(answer) => {
                refused += usize::from(answer.is_err());
                false
            }
            std::task::Poll::Pending => true,
        });
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    refused
}

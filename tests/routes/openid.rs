//! Signing in with an identity provider, which is one of the tests' own here: `tests/openid.mjs`
//! has a real one.

use http::identity::{Answering, Asked, Provider, Unvouched, Vouched};
use http::keys;
use serde_json::{Value, json};

use super::client::{Answer, bare};
use super::sign_in::{Browser, PASSWORD, credentials};
use super::venue::Venue;
use exchange::units::TimeMs;

/// Vouches for whomever the code names.
#[derive(Debug)]
pub struct Friendly;

impl Provider for Friendly {
    fn address(&self, asked: Asked) -> Answering<'_, String> {
        Box::pin(async move { Ok(format!("https://id.example/go?state={}", asked.state)) })
    }

    fn vouched(&self, code: String, asked: Asked, _: TimeMs) -> Answering<'_, Vouched> {
        Box::pin(async move {
            assert_eq!((asked.nonce.len(), asked.verifier.len()), (43, 43));
            match code.as_str() {
                "nobody" => Err(Unvouched::Refused("it knows nobody".to_owned())),
                "away" => Err(Unvouched::Unreachable("it is away".to_owned())),
                _ => {
                    let name = Some(code.split('/').next().unwrap().to_owned());
                    Ok(Vouched { identity: keys::hash(code.as_bytes()), name })
                }
            }
        })
    }
}

/// A person on the way to the provider.
struct Away<'a> {
    venue: &'a Venue,
    way: String,
    state: String,
}

impl<'a> Away<'a> {
    fn leave(venue: &'a Venue, body: &Value) -> Away<'a> {
        let left = Browser::new(venue).send("POST", "/session/openid", &super::sign_in::OWN, body);
        assert_eq!(left.status, 200, "{left:?}");
        let cookie = &left.headers.iter().find(|(name, _)| name == "set-cookie").unwrap().1;
        assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        let way = cookie.split(';').next().unwrap().to_owned();
        let state = left.text("url").split_once("state=").unwrap().1.to_owned();
        Away { venue, way, state }
    }

    fn back(&self, query: &str, cookie: &str) -> Answer {
        let target = format!("/api/v1/session/openid/back?{query}");
        let address = self.venue.operator.address;
        let came = bare(address, "GET", &target, &[("cookie", cookie)], None);
        assert_eq!(came.status, 303, "{came:?}");
        came
    }

    /// Comes back with a code; where that leads, and as whom.
    fn with(&self, code: &str) -> (String, Browser<'a>) {
        let came = self.back(&format!("code={code}&state={}", self.state), &self.way);
        let header = |wanted: &str| {
            let found = came.headers.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.clone())
        };
        let cookie = header("set-cookie").unwrap_or_default();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        (header("location").unwrap(), Browser { venue: self.venue, cookie })
    }
}

#[test]
fn whom_the_provider_vouches_for_is_one_user() {
    let venue = Venue::open();
    let (to, ann) = Away::leave(&venue, &json!({})).with("ann/1");
    assert_eq!(to, "/");
    let session = ann.get("/session").json;
    assert_eq!(
        (&session["signInName"], &session["identityProvider"]),
        (&json!("ann"), &json!(true))
    );
    assert_eq!(ann.get("/trading/balance").json["available"], "1000.00");
    let (_, again) = Away::leave(&venue, &json!({})).with("ann/1");
    assert_eq!(again.get("/session").json["user"], session["user"]);
    // Another of the same name is another user.
    let (_, other) = Away::leave(&venue, &json!({})).with("ann/2");
    assert_eq!(other.get("/session").json["signInName"], "ann-2");
    // There is no password to guess, to change or to put a second factor beside.
    let mut thief = Browser::new(&venue);
    thief.post("/session", &credentials("ann", PASSWORD)).refused(401, "CREDENTIALS_REFUSED");
    let (_, mut ann) = Away::leave(&venue, &json!({})).with("ann/1");
    let change = json!({ "current": "", "password": PASSWORD });
    ann.post("/account/password", &change).refused(401, "CREDENTIALS_REFUSED");
    let begins = json!({ "current": PASSWORD });
    ann.post("/account/second-factor", &begins).refused(401, "CREDENTIALS_REFUSED");
}

#[test]
fn an_invitation_is_taken_up_by_an_account_of_the_provider() {
    let venue = Venue::open();
    let ann = venue.trader("Ann").id;
    let invite = || {
        let path = format!("/admin/users/{ann}/invitations");
        json!({ "token": venue.operator.post(&path, &json!({})).text("token") })
    };
    let token = invite();
    let (to, browser) = Away::leave(&venue, &token).with("anna/1");
    assert_eq!((to.as_str(), &browser.get("/session").json["user"]["id"]), ("/", &json!(ann)));
    let (to, thief) = Away::leave(&venue, &token).with("eve/1");
    assert_eq!((to.as_str(), thief.cookie.as_str()), ("/sign-in?refused=INVITATION_NOT_FOUND", ""));
    // An account is one user's only.
    let ben = venue.trader("Ben").id;
    let path = format!("/admin/users/{ben}/invitations");
    let token = json!({ "token": venue.operator.post(&path, &json!({})).text("token") });
    let (to, _) = Away::leave(&venue, &token).with("anna/1");
    assert_eq!(to, "/sign-in?refused=IDENTITY_TAKEN");
    // A password that is set by another invitation takes the account's place.
    let mut browser = Browser::new(&venue);
    let accepts =
        json!({ "token": invite()["token"], "profileName": "anna", "password": PASSWORD });
    assert_eq!(browser.post("/invitations/accept", &accepts).status, 200);
    assert_eq!(browser.get("/session").json["identityProvider"], false);
    let (_, newcomer) = Away::leave(&venue, &json!({})).with("anna/1");
    assert_ne!(newcomer.get("/session").json["user"]["id"], json!(ann));
}

#[test]
fn who_did_not_leave_from_here_does_not_come_back() {
    let venue = Venue::open();
    let away = Away::leave(&venue, &json!({}));
    let lost = |query: &str, cookie: &str| {
        let came = away.back(query, cookie);
        let to = came.headers.iter().find(|(name, _)| name == "location").unwrap();
        assert_eq!(to.1, "/sign-in?refused=OPENID_LOST", "{query} {cookie}");
        assert!(!came.headers.iter().any(|(name, _)| name == "set-cookie"));
    };
    let good = format!("code=ann&state={}", away.state);
    lost(&good, "");
    lost("code=ann", &away.way);
    lost(&format!("code=ann&state={}x", away.state), &away.way);
    // Another's way, one to which an invitation was added, and one that began at another time.
    let other = Away::leave(&venue, &json!({}));
    lost(&good, &other.way);
    lost(&good, &format!("{}{}", away.way, "0".repeat(64)));
    lost(&good, &away.way.replacen('1', "2", 1));
    assert_eq!(away.with("nobody").0, "/sign-in?refused=OPENID_REFUSED");
    assert_eq!(away.with("away").0, "/sign-in?refused=OPENID_UNREACHABLE");
    let denied = away.back(&format!("error=access_denied&state={}", away.state), &away.way);
    let to = denied.headers.iter().find(|(name, _)| name == "location").unwrap();
    assert_eq!(to.1, "/sign-in?refused=OPENID_REFUSED");
    assert_eq!(away.with("ann").0, "/");
}

#[test]
fn where_people_come_by_invitation_an_account_alone_opens_nothing() {
    let venue = Venue::by_invitation();
    let (to, nobody) = Away::leave(&venue, &json!({})).with("ann/1");
    assert_eq!((to.as_str(), nobody.cookie.as_str()), ("/sign-in?refused=OPENID_UNKNOWN", ""));
}

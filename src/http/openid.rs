//! Signing in with an identity provider (`OpenID` Connect): the way there, and who comes back.

use super::cookies;
use super::identity::{AWAY_MS, OpenId, Unvouched, Vouched, Way};
use super::keys;
use super::members::bodies;
use super::problem::{Kind, Problem};
use super::reply::Reply;
use super::second_factor::Proof;
use super::sign_in::{self, Ticket};
use super::site::SignUp;
use super::visit::Visit;
use super::wire::site::OpenIdAddressJson;
use exchange::command::{Command, KeyHash, Password};
use exchange::ids::{Token, UserNo};
use exchange::reject::Reject;

/// The name of somebody whom the provider gives none.
const NAMELESS: &str = "member";
/// Names that are tried for somebody whose name is taken.
const NAMES_MAX: u32 = 100;
/// Most characters of a name, with room for a number.
const NAME_CHARS_MAX: usize = 48;
/// Most characters that the log has of why somebody did not sign in.
const LOGGED_CHARS_MAX: usize = 200;

bodies! {
    /// Who goes to the provider, with an invitation or without.
    struct Leaving {
        optional { "token" => ticket: Ticket }
    }
}

fn of_site(visit: &Visit) -> Result<&OpenId, Problem> {
    let none = || Problem::new(Kind::Forbidden, "this venue has no identity provider");
    visit.shared.site.openid.as_ref().ok_or_else(none)
}

/// `POST /session/openid`: where to go, and what the browser carries meanwhile.
pub async fn leave(visit: Visit) -> Result<Reply, Problem> {
    let Leaving { ticket } = visit.read()?;
    let openid = of_site(&visit)?;
    let way = Way::begin(ticket.map(|Ticket(hash)| hash), visit.engine.now());
    let way = way.map_err(|_| Problem::internal("the system gave no random bytes"))?;
    let address = openid.provider.address(openid.asked(&way)).await.map_err(|error| {
        tracing::warn!(%error, "nobody can go to the identity provider");
        Problem::new(Kind::Overloaded, "the identity provider cannot be reached; try again")
    })?;
    let cookie = cookies::set_way(&way.text(), AWAY_MS / 1_000, &visit.shared.site);
    let shown = OpenIdAddressJson::of(address);
    Ok(Reply { cookie, ..Reply::ok(visit.engine.watermark(), &shown)? })
}

/// Why somebody who comes back is not in.
enum Astray {
    /// The provider vouches for nobody.
    Unvouched(Unvouched),
    /// It did not begin here, or too long ago.
    Lost,
    /// Nobody here is known by that account.
    Unknown,
    /// As elsewhere.
    Problem(Problem),
}

impl Astray {
    /// The code that the page of signing in explains.
    const fn code(&self) -> &'static str {
        match self {
            Astray::Unvouched(Unvouched::Unreachable(_)) => "OPENID_UNREACHABLE",
            Astray::Unvouched(Unvouched::Refused(_)) => "OPENID_REFUSED",
            Astray::Lost => "OPENID_LOST",
            Astray::Unknown => "OPENID_UNKNOWN",
            Astray::Problem(problem) => problem.kind.code(),
        }
    }
}

impl From<Problem> for Astray {
    fn from(problem: Problem) -> Astray {
        Astray::Problem(problem)
    }
}

/// `GET /session/openid/back`: somebody comes from the provider, and is sent on to a page.
pub async fn come_back(visit: Visit) -> Result<Reply, Problem> {
    let (cookie, to) = match vouched_for(&visit).await {
        Ok(entered) => (entered.cookie, "/".to_owned()),
        Err(astray) => {
            if let Astray::Unvouched(error) = &astray {
                // It may be the visitor's own text.
                let error = error.to_string().chars().take(LOGGED_CHARS_MAX).collect::<String>();
                tracing::warn!(error = %error.escape_debug(), "somebody did not sign in");
            }
            (None, format!("/sign-in?refused={}", astray.code()))
        }
    };
    Ok(Reply::see_other(visit.engine.watermark(), to, cookie))
}

/// Signs in whoever comes back.
async fn vouched_for(visit: &Visit) -> Result<Reply, Astray> {
    let openid = of_site(visit)?;
    let now = visit.engine.now();
    let query = visit.query.as_deref().unwrap_or_default();
    let part = |wanted: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
    };
    let way = visit.way.as_deref().and_then(|text| Way::read(text, now)).ok_or(Astray::Lost)?;
    let asked = openid.asked(&way);
    let hashed = |text: &str| keys::hash(text.as_bytes());
    let shown = part("state").unwrap_or_default();
    if !keys::same(&hashed(&shown), &hashed(&asked.state)) {
        return Err(Astray::Lost);
    }
    visit.shared.passwords.admit_stranger(visit.address)?;
    let Some(code) = part("code") else {
        let why = part("error").unwrap_or_else(|| "there is no code".to_owned());
        return Err(Astray::Unvouched(Unvouched::Refused(why)));
    };
    let vouched = openid.provider.vouched(code, asked, now).await.map_err(Astray::Unvouched)?;
    visit.shared.passwords.is_no_stranger(visit.address);
    enter(visit, &vouched, way.ticket).await
}

/// Begins a session of the user whom the provider vouches for: whoever the invitation is for, who
/// is known by the account, or somebody new where everybody may sign up.
async fn enter(visit: &Visit, vouched: &Vouched, ticket: Option<KeyHash>) -> Result<Reply, Astray> {
    let password = Password::vouched(vouched.identity);
    let (known, invited) = {
        let view = visit.engine.read();
        let known = view.sign_ins.vouched(vouched.identity);
        let known = known.map(|person| (person.user, person.set));
        (known, ticket.map(|hash| view.sign_ins.invited(hash, visit.engine.now())))
    };
    if let Some(invited) = invited {
        let (user, _) = invited.ok_or(Problem::of(Reject::InvitationNotFound))?;
        let (name, invitation) = (free_name(visit, vouched, Some(user))?, ticket);
        let command = Command::SetPassword { user, invitation, name, password };
        let answer = sign_in::give_name(visit, (name, Some(user)), command).await?;
        return Ok(sign_in::begin(visit, user, answer.time(), Proof::Password).await?);
    }
    if let Some((user, set)) = known {
        return Ok(sign_in::begin(visit, user, set, Proof::Password).await?);
    }
    if visit.shared.site.sign_up != SignUp::Open {
        return Err(Astray::Unknown);
    }
    visit.shared.passwords.admit_newcomer(visit.address)?;
    let name = free_name(visit, vouched, None)?;
    Ok(sign_in::enrol(visit, name, password).await?)
}

/// The name that the user has, or the provider's, or that with a number.
fn free_name(visit: &Visit, vouched: &Vouched, user: Option<UserNo>) -> Result<Token, Problem> {
    let view = visit.engine.read();
    if let Some(person) = user.and_then(|user| view.sign_ins.person(user)) {
        return Ok(person.name);
    }
    let plain = vouched.name.as_deref().unwrap_or_default().chars();
    let plain: String = plain.filter(char::is_ascii_graphic).take(NAME_CHARS_MAX).collect();
    let plain = if plain.is_empty() { NAMELESS } else { plain.as_str() };
    let numbered = (2..NAMES_MAX).map(|number| format!("{plain}-{number}"));
    let names = [plain.to_owned()].into_iter().chain(numbered);
    let mut names = names.filter_map(|name| Token::new(&name));
    let free = names.find(|name| !view.sign_ins.confusing(*name, user));
    free.ok_or(Problem::of(Reject::NameTaken))
}

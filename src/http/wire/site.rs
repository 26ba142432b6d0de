//! The JSON of the venue as a site, of sessions and of invitations.

use std::sync::Arc;

use qrcodegen::{QrCode, QrCodeEcc};

use super::words::{Picture, Scope};
use super::{Text, Timestamp};
use crate::auth::{Caller, Via};
use crate::scopes::scope_name;
use crate::site::Site;
use exchange::command::{KeyHash, Role, SecondFactor};
use exchange::ids::{KeyId, UserId, UserNo};
use exchange::sign_in::Invitation;
use exchange::units::{Money, TimeMs};
use views::ReadModel;
use views::accounts::UserRow;

answers! {
    /// What a page must know before anybody signs in.
    SiteJson = "Site" (site: &Site) {
        /// Who may make an account: `invite`, `open` (everybody) or `off`.
        signup: &'static str = site.sign_up.name();
        /// How much play money a user may have from the venue; null where money is real.
        faucet: Option<Text<Money>> = site.faucet.map(Text);
        /// What a holder sets aside to dispute an outcome; null where only operators dispute.
        dispute_bond: Option<Text<Money>> = site.dispute_bond.map(Text);
        /// Whether this is a demo.
        demo: bool = site.demo;
        /// Origins of other sites whose pictures the pages show.
        image_origins: Vec<String> = site.images.clone();
        /// Whether people may sign in with an identity provider.
        open_id_connect: bool = site.openid.is_some();
    }

    /// Where a person goes to be vouched for.
    OpenIdAddressJson = "OpenIdAddress" (url: String) {
        /// For the browser that asked, which carries a cookie meanwhile.
        url: String = url;
    }

    /// A user in a session.
    SessionUserJson = "SessionUser" (row: &UserRow) {
        id: Text<UserId> = Text(row.id);
        profile_name: Text<Arc<str>> = Text(Arc::clone(&row.profile_name));
        #[schemars(with = "Picture")]
        profile_pic: Text<Arc<str>> = Text(Arc::clone(&row.profile_pic));
    }

    /// Who is asking, and for how long.
    SessionJson = "Session" (
        user: &UserRow, role: Role, key_id: KeyId, ends: Option<TimeMs>, known: Known,
    ) {
        user: SessionUserJson = SessionUserJson::of(user);
        #[schemars(with = "Scope")]
        scope: &'static str = scope_name(role);
        /// The session in the list of keys, or the key.
        key_id: Text<KeyId> = Text(key_id);
        /// When it is over, a session unless it is used; null for a key that lasts.
        expires_at: Option<Timestamp> = ends.map(Timestamp);
        /// The name to sign in with; null for a user without a password.
        sign_in_name: Option<Text<Arc<str>>> = known.name.map(Text);
        /// Whether a code is asked for at signing in, too.
        second_factor: bool = known.second_factor;
        /// Whether an identity provider vouches for the user, who has no password then.
        identity_provider: bool = known.vouched;
    }

    /// Whether a code is asked for at signing in.
    FactorJson = "SecondFactor" (factor: Option<&SecondFactor>) {
        on: bool = factor.is_some();
        /// How many recovery codes are left.
        recovery_codes_left: usize = factor.map_or(0, |factor| factor.recovery.as_slice().len());
    }

    /// A second factor that waits for its first code.
    BegunFactorJson = "BegunSecondFactor" (secret: String, uri: String, picture: QrJson) {
        /// For an authenticator, in base 32; shown this once.
        secret: String = secret;
        /// The same as a link, which an authenticator on the same device opens.
        uri: String = uri;
        /// The link for the camera of another device.
        qr: QrJson = picture;
    }

    /// A QR code: dark squares in a square, for SVG.
    QrJson = "QrCode" (size: usize, path: String) {
        /// Squares on a side, the quiet zone of four on each side included.
        size: usize = size;
        /// The outline of the dark ones, as the `d` of a path.
        path: String = path;
    }

    /// Recovery codes, shown this once; each is good once in place of a code.
    RecoveryCodesJson = "NewRecoveryCodes" (codes: Vec<String>) {
        recovery_codes: Vec<String> = codes;
    }

    /// An invitation, shown this once.
    InvitationJson = "Invitation" (token: &str, ends: TimeMs) {
        /// To be put behind `/invitations#`.
        token: String = token.to_owned();
        ends_at: Timestamp = Timestamp(ends);
    }

    /// Whose an invitation is.
    InvitedJson = "Invited" (row: &UserRow, invitation: &Invitation) {
        profile_name: Text<Arc<str>> = Text(Arc::clone(&row.profile_name));
        #[schemars(with = "Scope")]
        scope: &'static str = scope_name(invitation.role);
        ends_at: Timestamp = Timestamp(invitation.ends);
    }
}

/// How a user signs in.
pub struct Known {
    name: Option<Arc<str>>,
    second_factor: bool,
    vouched: bool,
}

impl Known {
    fn of(view: &ReadModel, user: UserNo) -> Known {
        let person = view.sign_ins.person(user);
        Known {
            name: person.map(|person| person.name.as_str().into()),
            second_factor: view.sign_ins.factor(user).is_some(),
            vouched: person.is_some_and(|person| person.password.identity().is_some()),
        }
    }
}

impl SessionJson {
    /// The session with this hash.
    pub fn in_force(view: &ReadModel, session: KeyHash, now: TimeMs) -> Option<SessionJson> {
        let (person, row) = view.sign_ins.session(session, now)?;
        let (user, known) = (view.accounts.user(person.user)?, Known::of(view, person.user));
        Some(SessionJson::of(user, person.role, row.id, Some(row.until), known))
    }

    /// The holder of a key.
    pub fn of_key(view: &ReadModel, caller: &Caller) -> Option<SessionJson> {
        let Via::Key(key) = caller.via else { return None };
        let (user, row) = (view.accounts.user(caller.user)?, view.accounts.key(key)?);
        let known = Known::of(view, caller.user);
        Some(SessionJson::of(user, caller.role, row.id, row.ends, known))
    }
}

/// Squares around a code that stay light.
const QUIET: i32 = 4;

impl QrJson {
    /// The code of a text; `None` if no code holds so much.
    pub fn of_text(text: &str) -> Option<QrJson> {
        let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
        let side = code.size();
        let mut path = String::new();
        for row in 0..side {
            let dark: Vec<i32> = (0..side).filter(|x| code.get_module(*x, row)).collect();
            let below = row.saturating_add(QUIET);
            for run in dark.chunk_by(|one, next| one.saturating_add(1) == *next) {
                let (left, length) = (run.first()?.saturating_add(QUIET), run.len());
                path.extend([format!("M{left} {below}h{length}v1h-{length}z")]);
            }
        }
        let whole = side.saturating_add(QUIET).saturating_add(QUIET);
        Some(QrJson::of(usize::try_from(whole).ok()?, path))
    }
}

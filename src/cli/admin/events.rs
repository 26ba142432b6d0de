//! `admin events` and `admin categories`: what markets are grouped by.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::session::{AdminError, Session};
use super::table;
use super::texts::{Language, in_all, merge};

const CATEGORIES: [(&str, &str); 3] = [("ID", "id"), ("SLUG", "slug"), ("NAME", "name")];
const CATEGORY: [(&str, &str); 3] = [("id", "id"), ("slug", "slug"), ("name", "name")];
const EVENTS: [(&str, &str); 3] = [("ID", "id"), ("SLUG", "slug"), ("TITLE", "titles.en")];
const EVENT: [(&str, &str); 5] = [
    ("id", "id"),
    ("slug", "slug"),
    ("title", "titles.en"),
    ("sub-title", "subTitles.en"),
    ("exclusive", "mutuallyExclusive"),
];

/// What can be done with categories.
#[derive(Debug, Subcommand)]
pub(crate) enum CategoriesVerb {
    /// List all categories
    List,
    /// Create a category
    #[command(after_help = "Example:\n  openoutcry admin categories create Weather weather")]
    Create {
        /// The name that others see
        name: String,
        /// What it is called in addresses
        slug: String,
    },
}

/// What can be done with events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsVerb {
    /// List the events that the public sees, the newest first
    List,
    /// Show an event
    Show {
        /// The event's id or slug
        #[arg(value_parser = super::names::id_or_slug)]
        event: String,
    },
    /// Create an event
    #[command(after_help = "Example:
  openoutcry admin events create --title 'Rain at Christmas' --category 0190f1c4-...")]
    Create {
        /// What it is.
        #[command(flatten)]
        what: EventArgs,
        /// Only one of its markets can resolve yes
        #[arg(long)]
        exclusive: bool,
    },
    /// Change an event; what is not given stays
    Edit {
        /// The event's id or slug
        #[arg(value_parser = super::names::id_or_slug)]
        event: String,
        /// What it becomes.
        #[command(flatten)]
        what: EventArgs,
    },
}

/// What an event is.
#[derive(Debug, Args)]
pub(crate) struct EventArgs {
    /// Its title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What stands below the title
    #[arg(long, value_name = "TEXT")]
    sub_title: Option<String>,
    /// What it is about
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// URL of a picture; may be given several times
    #[arg(long, value_name = "URL")]
    image: Vec<String>,
    /// A category's id; may be given several times
    #[arg(long, value_name = "ID")]
    category: Vec<String>,
    /// What it is called in addresses
    #[arg(long)]
    slug: Option<String>,
    /// The language of the texts; the others say `[en]` and the like before them, until edited
    #[arg(long, value_enum, default_value = "en")]
    language: Language,
}

impl EventArgs {
    /// The body with what was given; texts in other languages stay as they were before.
    fn body(&self, before: Option<&Value>) -> Value {
        let mut body = Map::new();
        let texts = [
            ("titles", &self.title),
            ("subTitles", &self.sub_title),
            ("descriptions", &self.description),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                let before = before.and_then(|before| before.get(name));
                body.insert(name.to_owned(), in_all(text, self.language, before));
            }
        }
        for (name, list) in [("images", &self.image), ("categoryIds", &self.category)] {
            if !list.is_empty() {
                body.insert(name.to_owned(), json!(list));
            }
        }
        if let Some(slug) = &self.slug {
            body.insert("slug".to_owned(), json!(slug));
        }
        Value::Object(body)
    }
}

/// Runs a command about categories.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn categories(
    session: &mut Session,
    verb: &CategoriesVerb,
) -> Result<(), AdminError> {
    match verb {
        CategoriesVerb::List => {
            let answer = session.get("/categories/public/list").await?;
            session.show(&answer, |json| table::list(json, "categories", &CATEGORIES))
        }
        CategoriesVerb::Create { name, slug } => {
            let body = json!({"name": name, "slug": slug});
            let answer = session.post("/admin/categories", &body).await?;
            session.show(&answer, |json| table::thing(json, &CATEGORY))
        }
    }
}

/// Runs a command about events.
///
/// # Errors
/// [`AdminError`].
pub(crate) async fn run(session: &mut Session, verb: &EventsVerb) -> Result<(), AdminError> {
    let answer = match verb {
        EventsVerb::List => {
            let answer = session.get("/events/public/list?limit=100").await?;
            return session.show(&answer, |json| table::list(json, "events", &EVENTS));
        }
        EventsVerb::Show { event } => session.get(&format!("/events/{event}")).await?,
        EventsVerb::Create { what, exclusive } => {
            let mut body = json!({
                "subTitles": in_all("", what.language, None),
                "descriptions": in_all("", what.language, None),
                "images": [], "mutuallyExclusive": exclusive,
            });
            merge(&mut body, what.body(None));
            session.post("/admin/events", &body).await?
        }
        EventsVerb::Edit { event, what } => {
            let before = session.get(&format!("/events/{event}")).await?;
            let id = table::cell(&before.json, "id");
            session.patch(&format!("/admin/events/{id}"), &what.body(Some(&before.json))).await?
        }
    };
    session.show(&answer, |json| table::thing(json, &EVENT))
}

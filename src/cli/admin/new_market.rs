//! What `admin markets create` and `edit` take of a market.

use clap::Args;
use serde_json::{Map, Value, json};

use super::texts::{Language, in_all, merge};

/// What a market is, and what cannot be changed later.
#[derive(Debug, Args)]
pub(crate) struct NewMarketArgs {
    /// What it is.
    #[command(flatten)]
    what: WhatArgs,
    /// The id of the event that it belongs to
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// Seconds in which an announced outcome can be disputed
    #[arg(long, value_name = "SECONDS")]
    dispute_window: Option<u32>,
}

/// What a market is.
#[derive(Debug, Args)]
pub(crate) struct WhatArgs {
    /// What is asked
    #[arg(long, value_name = "TEXT")]
    question: Option<String>,
    /// By what it is decided
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// URL of its picture
    #[arg(long, value_name = "URL")]
    logo: Option<String>,
    /// When trading ends, RFC 3339
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    /// A category's id; may be given several times
    #[arg(long, value_name = "ID")]
    category: Vec<String>,
    /// The rate of the maker's fee, such as 0.02
    #[arg(long, value_name = "RATE")]
    maker_fee: Option<String>,
    /// The rate of the taker's fee, such as 0.07
    #[arg(long, value_name = "RATE")]
    taker_fee: Option<String>,
    /// What it is called in addresses
    #[arg(long)]
    slug: Option<String>,
    /// The language of the texts; the others say `[en]` and the like before them, until edited
    #[arg(long, value_enum, default_value = "en")]
    language: Language,
}

impl WhatArgs {
    /// The body with what was given; texts in other languages stay as they were before.
    pub(crate) fn body(&self, before: Option<&Value>) -> Value {
        let mut body = Map::new();
        let texts = [("questions", &self.question), ("descriptions", &self.description)];
        for (name, text) in texts {
            if let Some(text) = text {
                let before = before.and_then(|before| before.get(name));
                body.insert(name.to_owned(), in_all(text, self.language, before));
            }
        }
        let plain = [
            ("logo", &self.logo),
            ("deadline", &self.deadline),
            ("makerFee", &self.maker_fee),
            ("takerFee", &self.taker_fee),
            ("slug", &self.slug),
        ];
        for (name, text) in plain {
            if let Some(text) = text {
                body.insert(name.to_owned(), json!(text));
            }
        }
        if !self.category.is_empty() {
            body.insert("categoryIds".to_owned(), json!(self.category));
        }
        Value::Object(body)
    }
}

impl NewMarketArgs {
    /// The body of a market whose outcomes are yes and no.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "descriptions": in_all("", self.what.language, None),
            "outcomes": [
                {"id": "yes", "text": {"pt": "Sim", "en": "Yes", "es": "Sí"}},
                {"id": "no", "text": {"pt": "Não", "en": "No", "es": "No"}},
            ],
        });
        if let Some(event) = &self.event {
            body["eventId"] = json!(event);
        }
        if let Some(seconds) = self.dispute_window {
            body["disputeWindowSeconds"] = json!(seconds);
        }
        merge(&mut body, self.what.body(None));
        body
    }
}

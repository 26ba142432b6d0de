//! The addresses of the demo's pictures, which the server draws itself.

/// Where a venue's pictures are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pictures(String);

/// The path of pictures, as the server has it.
const PATH: &str = "/pictures/";
const PEOPLE: &str = "people";

impl Pictures {
    /// Those of the server at an origin such as `http://127.0.0.1:8080`.
    pub(crate) fn at(origin: &str) -> Pictures {
        Pictures(format!("{origin}{PATH}"))
    }

    /// Those of the server that has this one.
    pub(crate) fn beside(picture: &str) -> Option<Pictures> {
        picture.split_once(PATH).map(|(origin, _)| Pictures::at(origin))
    }

    /// The picture of something in a category; other words give another one.
    pub(crate) fn of(&self, family: &str, words: &str) -> String {
        let Pictures(below) = self;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let seed: String = words.chars().map(plain).collect();
        format!("{below}{family}/{seed}.svg")
    }

    /// The picture of a person.
    pub(crate) fn of_person(&self, name: &str) -> String {
        self.of(PEOPLE, name)
    }
}

//! The form in which most answers are written: each member once, with its type and where it is
//! from.

/// Declares answers. `Name = "Schema" (given: Type) { member: Type = value; }` is a type that
/// prints itself with these members, describes itself in the document under the schema's name, and
/// is made by `Name::of(given)`. What is said of a member is said of it in the document, too.
macro_rules! answers {
    ($(
        $(#[$about:meta])*
        $name:ident = $schema:literal ($($given:ident: $from:ty),* $(,)?) {
            $($(#[$says:meta])* $member:ident: $kind:ty = $value:expr;)*
        }
    )+) => {$(
        $(#[$about])*
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        #[schemars(rename = $schema)]
        pub struct $name {
            $($(#[$says])* $member: $kind,)*
        }

        impl $name {
            /// The answer that shows this.
            #[inline]
            pub fn of($($given: $from),*) -> $name {
                $name { $($member: $value,)* }
            }
        }
    )+};
}

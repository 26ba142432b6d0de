//! The tables: macros that declare an enum once, with the number that each of its variants has on
//! disk, its name and its fields. The bytes of the variants, both ways, and the lists of numbers
//! and names follow from the declaration.

/// Declares an enum without fields: each variant with its number on disk and its name in the
/// interface. Numbers begin at 1, so that a zero byte is never a value.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident by $word:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $number:literal $text:literal, )*
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
        }

        impl $name {
            /// All of them, in this order.
            pub const ALL: [$name; [$($number),*].len()] = [$($name::$variant),*];

            /// The interface's name of it.
            #[must_use]
            pub const fn $word(self) -> &'static str {
                match self {
                    $( $name::$variant => $text, )*
                }
            }
        }

        const _: () = {
            use $crate::fields::{Field, Named, Shown, Value};
            use $crate::image::coding::{BadImage, ImageSink, ImageSource, Imaged};
            $crate::image::coding::imaged_choice!($name { $($variant = $number),* });

            impl Field for $name {
                fn show<'a>(&'a self, name: &'static str, to: &mut Vec<Shown<'a>>) {
                    to.push((name, Value::Word(self.$word())));
                }

                fn taken<N: Named>(name: &'static str, named: &N) -> Result<Self, N::Error> {
                    named.word(name, |word| $name::ALL.into_iter().find(|one| one.$word() == word))
                }
            }
        };
    };
}
pub(crate) use choice;

/// Declares a struct that is a part of commands or effects: its fields in their order on disk, with
/// the names that they have in the journal where those differ; after a semicolon a field that only
/// bodies of a later version have.
macro_rules! part {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty $(= $called:literal)?, )*
            $( ; $version:literal $(#[$later_meta:meta])* pub $later:ident: $later_type:ty, )?
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
            $( $(#[$later_meta])* pub $later: Option<$later_type>, )?
        }

        const _: () = {
            use $crate::fields::{Field, Named, Shown};
            use $crate::image::coding::{BadImage, ImageSink, ImageSource, Imaged, called};
            $crate::image::coding::imaged!(
                $name { $($field $(= $called)?),* $(; $version $later)? }
            );

            impl Field for $name {
                fn show<'a>(&'a self, _: &'static str, to: &mut Vec<Shown<'a>>) {
                    $( self.$field.show(called!($field $($called)?), to); )*
                    $( self.$later.show(stringify!($later), to); )?
                }

                fn taken<N: Named>(_: &'static str, named: &N) -> Result<Self, N::Error> {
                    Ok($name {
                        $($field: Field::taken(called!($field $($called)?), named)?,)*
                        $($later: Field::taken(stringify!($later), named)?,)?
                    })
                }
            }
        };
    };
}
pub(crate) use part;

/// Declares an enum of records: commands or effects. A row has a number on disk, a name, and either
/// nothing, one struct or named fields, in their order on disk; after a semicolon a field that only
/// bodies of a later version have. After `@` stands the later version of a row with a struct that
/// has one.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub enum $table:ident numbered $number:ty {
            $(
                $(#[$row_meta:meta])*
                $no:literal $name:ident = $row:ident
                $( ( $inner:ident: $inner_type:ty ) )?
                $( {
                    $( $(#[$field_meta:meta])* $field:ident: $type:ty, )*
                    $( ; $version:literal $(#[$later_meta:meta])* $later:ident: $later_type:ty, )?
                } )?
                $( @ $further:literal )?
                $( => $words:literal )?
                ;
            )*
        }
    ) => {
        $(#[$meta])*
        pub enum $table {
            $(
                $(#[$row_meta])*
                $row $( ($inner_type) )? $( {
                    $( $(#[$field_meta])* $field: $type, )*
                    $( $(#[$later_meta])* $later: Option<$later_type>, )?
                } )?,
            )*
        }

        impl $table {
            /// The kinds by number, each with its name. Numbers are dense and never reused.
            pub const KINDS: [($number, &str); [$($no),*].len()] =
                [$( ($no, stringify!($name)) ),*];

            /// The versions of bodies after the first, each with the number of its kind.
            pub const LATER: &[($number, u8)] =
                &[$( $( $( ($no, $version), )? )? $( ($no, $further), )? )*];

            /// The words of the kinds that a pattern says (`script/pattern.rs`).
            pub const WORDS: &[($number, &str)] = &[$( $( ($no, $words), )? )*];

            /// The number of its kind.
            #[must_use]
            #[inline]
            pub const fn number(&self) -> $number {
                match self {
                    $( $table::$row { .. } => $no, )*
                }
            }

            /// The version of its body: the first that can say it, so that a reader of the first
            /// version reads all that it could ever read.
            #[must_use]
            #[inline]
            pub fn version(&self) -> u8 {
                use $crate::image::coding::Imaged;
                match self {
                    $(
                        $table::$row $( ($inner) )? $( { $( $field, )* $( $later, )? } )? => {
                            let version = 1_u8;
                            $( let version = version.max(Imaged::version($inner)); )?
                            $(
                                $( let version = version.max(Imaged::version($field)); )*
                                $( let version =
                                    if $later.is_some() { $version } else { version }; )?
                            )?
                            version
                        }
                    )*
                }
            }

            /// Its fields, those of structs one by one, in the order of the table.
            #[must_use]
            pub fn fields(&self) -> Vec<$crate::fields::Shown<'_>> {
                use $crate::fields::Field;
                let mut shown = Vec::new();
                match self {
                    $(
                        $table::$row $( ($inner) )? $( { $( $field, )* $( $later, )? } )? => {
                            $( $inner.show(stringify!($inner), &mut shown); )?
                            $(
                                $( $field.show(stringify!($field), &mut shown); )*
                                $( $later.show(stringify!($later), &mut shown); )?
                            )?
                        }
                    )*
                }
                shown
            }

            /// The kind with this number, of the fields that somebody names; `None` if no kind has
            /// it.
            ///
            /// # Errors
            /// A field is missing or has no such value.
            pub fn of_fields<F: $crate::fields::Named>(
                number: $number,
                named: &F,
            ) -> Result<Option<$table>, F::Error> {
                use $crate::fields::Field;
                Ok(Some(match number {
                    $(
                        $no => $table::$row
                            $( (<$inner_type as Field>::taken(stringify!($inner), named)?) )?
                            $( {
                                $( $field: <$type as Field>::taken(stringify!($field), named)?, )*
                                $(
                                    $later: <Option<$later_type> as Field>::taken(
                                        stringify!($later),
                                        named,
                                    )?,
                                )?
                            } )?,
                    )*
                    _ => return Ok(None),
                }))
            }

            /// Appends its fields' bytes, in the order of the table.
            // Inlined, so that the offsets of small ones are known at compile time.
            #[inline(always)]
            #[allow(clippy::inline_always)]
            pub fn write_fields(&self, sink: &mut impl $crate::image::coding::ImageSink) {
                use $crate::image::coding::Imaged;
                match self {
                    $(
                        $table::$row $( ($inner) )? $( { $( $field, )* $( $later, )? } )? => {
                            $( $inner.write(sink); )?
                            $(
                                $( $field.write(sink); )*
                                $( if let Some(later) = $later { later.write(sink); } )?
                            )?
                        }
                    )*
                }
            }

            /// Reads the fields of the kind with this number, in this version of its body.
            ///
            /// # Errors
            /// The bytes are no such fields, or no kind has this number.
            #[inline]
            #[allow(unused_variables, reason = "only some tables have rows with later versions")]
            pub fn read_fields(
                number: $number,
                version: u8,
                source: &mut impl $crate::image::coding::ImageSource,
            ) -> Result<$table, $crate::image::coding::BadImage> {
                use $crate::image::coding::{BadImage, Imaged};
                match number {
                    $(
                        $no => Ok($table::$row
                            $( ({
                                let $inner: $inner_type = Imaged::read_version(version, source)?;
                                $inner
                            }) )?
                            $( {
                                $( $field: <$type>::read_version(version, source)
                                    .map_err(|bad| bad.of_field(stringify!($field)))?, )*
                                $( $later: if version >= $version {
                                    Some(<$later_type>::read(source)?)
                                } else {
                                    None
                                }, )?
                            } )?
                        ),
                    )*
                    _ => Err(BadImage::Value(stringify!($table))),
                }
            }
        }
    };
}
pub(crate) use table;

//! Names that users type: the same kebab-case word in the command, in TOML, in JSON and in tables.

use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Declares a closed set of choices together with the word for each.
macro_rules! named {
    ($(#[$about:meta])* pub enum $Type:ident, $kind:literal { $($(#[$doc:meta])* $Variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Type { $($(#[$doc])* $Variant,)+ }

        impl $Type {
            /// Every choice, in the order in which help texts list them.
            pub const ALL: &'static [$Type] = &[$($Type::$Variant,)+];

            /// The word a user types.
            pub fn name(self) -> &'static str {
                match self { $($Type::$Variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $Type {
            type Err = $crate::error::Error;

            fn from_str(word: &str) -> $crate::error::Result<Self> {
                Self::ALL.iter().copied().find(|choice| choice.name() == word).ok_or_else(|| {
                    $crate::error::Error::UnknownName {
                        kind: $kind,
                        name: word.to_string(),
                        known: Self::ALL.iter().map(|choice| choice.name().to_string()).collect(),
                    }
                })
            }
        }

        $crate::names::serde_as_word!($Type);
    };
}
pub(crate) use named;

/// Serialises a type with `Display` and `FromStr` as its word.
macro_rules! serde_as_word {
    ($Type:ident) => {
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_word;

/// A choice that follows from the data or the protocol unless the user makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto<T> {
    /// Written `auto`: resolved by `Config::resolve`.
    Auto,
    /// Made.
    Is(T),
}

impl<T> Auto<T> {
    /// The user's choice, or `choice` where there is none.
    pub fn unwrap_or(self, choice: T) -> T {
        match self {
            Auto::Auto => choice,
            Auto::Is(made) => made,
        }
    }

    /// The user's choice, if there is one.
    pub fn made(self) -> Option<T> {
        match self {
            Auto::Auto => None,
            Auto::Is(made) => Some(made),
        }
    }
}

impl<T> From<T> for Auto<T> {
    fn from(choice: T) -> Auto<T> {
        Auto::Is(choice)
    }
}

impl From<&str> for Auto<String> {
    fn from(choice: &str) -> Auto<String> {
        Auto::Is(choice.to_string())
    }
}

impl<T: fmt::Display> fmt::Display for Auto<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Auto::Auto => f.pad("auto"),
            Auto::Is(choice) => choice.fmt(f),
        }
    }
}

impl<T: FromStr> FromStr for Auto<T> {
    type Err = T::Err;

    fn from_str(word: &str) -> std::result::Result<Self, T::Err> {
        if word == "auto" { Ok(Auto::Auto) } else { word.parse().map(Auto::Is) }
    }
}

impl<T: Serialize> Serialize for Auto<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Auto::Auto => serializer.serialize_str("auto"),
            Auto::Is(choice) => choice.serialize(serializer),
        }
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Written<T>(std::marker::PhantomData<T>);

        impl<T: FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Written<T> {
            type Value = Auto<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`auto`, a word or a number that is not negative")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> std::result::Result<Auto<T>, E> {
                word.parse().map_err(E::custom)
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> std::result::Result<Auto<T>, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> std::result::Result<Auto<T>, E> {
                let wrong = |_| E::invalid_type(serde::de::Unexpected::Float(number), &self);
                number.to_string().parse().map(Auto::Is).map_err(wrong)
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> std::result::Result<Auto<T>, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(number), &self)),
                }
            }
        }

        deserializer.deserialize_any(Written(std::marker::PhantomData))
    }
}

/// Checks that `name` is among `known`; the error suggests the nearest.
pub fn one_of(kind: &'static str, name: &str, known: &[&str]) -> Result<()> {
    if known.contains(&name) {
        return Ok(());
    }
    Err(Error::UnknownName { kind, name: name.to_string(), known: known.iter().map(|k| k.to_string()).collect() })
}

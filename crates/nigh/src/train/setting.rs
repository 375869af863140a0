//! What a setting is: a name, a help text, a default, and how its value is written. [`settings!`] makes `Config`, which may
//! leave choices open, and `Resolved`, in which all are made, from one declaration of each setting.

use super::adam::Optimizer;
use super::config::{NodeFeatures, Protocol};
use super::schedule::Schedule;
use crate::error::Error;
use crate::linalg::half::Storage;
use crate::metric::Metric;
use crate::model::catalog::NodeTable;
use crate::model::{Decoder, Without};
use crate::names::Auto;
use crate::propagation::Proximities;
use crate::source::{Reconstruction, Refresh, Signal, SignalScale};
use crate::task::{EvaluationNegatives, Masking, Negatives, SameLabelPairs, SplitChoice, Task, TestEdges};
use serde::Serialize;

/// A setting as users see it: an option of the command line, a key in a TOML file.
#[derive(Debug, Clone)]
pub struct Setting {
    /// In kebab-case, as users type it.
    pub name: String,
    /// What stands for its value in help texts.
    pub value_name: &'static str,
    /// What it does.
    pub help: String,
    /// The value where the user gives none.
    pub default: String,
    /// The words that it may be, where these are a closed set.
    pub choices: Vec<&'static str>,
    /// What it belongs to.
    pub group: SettingGroup,
    parse: fn(&str) -> Result<toml::Value, String>,
}

/// What a setting belongs to. Help texts and the documentation list settings by group, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingGroup {
    /// What most users set.
    Common,
    /// How data are split and models are judged.
    Evaluation,
    /// How weights are learnt.
    Optimisation,
    /// Training on pairs of nodes.
    Pairs,
    /// The stochastic matrix `E` and its propagation.
    Signal,
    /// The model of the catalog that alone uses the setting.
    Model(&'static str),
}

impl SettingGroup {
    /// The line above the settings of the group; for those of a model, its name.
    ///
    /// ```
    /// use nigh::train::SettingGroup;
    /// assert_eq!(SettingGroup::Common.heading(), "Common settings");
    /// assert_eq!(SettingGroup::Model("node2vec").heading(), "node2vec");
    /// ```
    pub fn heading(self) -> &'static str {
        match self {
            SettingGroup::Common => "Common settings",
            SettingGroup::Evaluation => "Splits and evaluation",
            SettingGroup::Optimisation => "Optimisation",
            SettingGroup::Pairs => "Pairs of nodes",
            SettingGroup::Signal => "Signal and propagation",
            SettingGroup::Model(name) => name,
        }
    }
}

impl Setting {
    pub(super) fn new<T: SettingValue>(
        group: SettingGroup,
        field: &str,
        value_name: &'static str,
        docs: &[&str],
        default: &T,
        parse: fn(&str) -> Result<toml::Value, String>,
    ) -> Setting {
        let help: Vec<&str> = docs.iter().map(|line| line.trim()).collect();
        Setting {
            name: field.replace('_', "-"),
            value_name,
            help: help.join(" ").replace('`', ""),
            default: default.to_string(),
            choices: T::choices(),
            group,
            parse,
        }
    }

    /// The value that `text` means, or what would be right.
    ///
    /// ```
    /// use nigh::train::Setting;
    /// let repeats = Setting::all().iter().find(|setting| setting.name == "repeats").unwrap();
    /// assert_eq!(repeats.parse("3").unwrap().as_integer(), Some(3));
    /// assert_eq!(repeats.parse("three").unwrap_err(), "expected a whole number from 0 to 2^53");
    /// ```
    pub fn parse(&self, text: &str) -> Result<toml::Value, String> {
        (self.parse)(text)
    }
}

/// A type that a setting may have.
pub(super) trait SettingValue: Serialize + std::fmt::Display + Sized {
    /// The value that a user typed, or what would be right.
    fn from_text(text: &str) -> Result<Self, String>;

    /// Every word it may be, if these are a closed set.
    fn choices() -> Vec<&'static str> {
        Vec::new()
    }

    /// How it is written to files.
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

/// A value on its way to a file.
struct Written<'a, T>(&'a T);

impl<T: SettingValue> Serialize for Written<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

/// The value of type `T` that `text` means, as a TOML file has it.
pub(super) fn parse<T: SettingValue>(text: &str) -> Result<toml::Value, String> {
    toml::Value::try_from(Written(&T::from_text(text)?)).map_err(|error| error.to_string())
}

/// `SettingValue::write`, by the name that `serde` wants.
pub(super) fn write<T: SettingValue, S: serde::Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.write(serializer)
}

impl SettingValue for u64 {
    fn from_text(text: &str) -> Result<u64, String> {
        let number = text.parse().ok().filter(|&number: &u64| number <= 1 << 53);
        number.ok_or_else(|| "expected a whole number from 0 to 2^53".to_string())
    }
}

impl SettingValue for usize {
    fn from_text(text: &str) -> Result<usize, String> {
        u64::from_text(text)?.try_into().map_err(|_| "too large for this machine".to_string())
    }
}

impl SettingValue for f32 {
    fn from_text(text: &str) -> Result<f32, String> {
        text.parse().map_err(|_| "expected a number".to_string())
    }

    /// As the shortest number that means the same: 0.1, not 0.10000000149011612.
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_string().parse().unwrap_or(f64::from(*self)))
    }
}

impl SettingValue for String {
    fn from_text(text: &str) -> Result<String, String> {
        Ok(text.to_string())
    }
}

impl SettingValue for Metric {
    fn from_text(text: &str) -> Result<Metric, String> {
        text.parse().map_err(|error: Error| error.to_string())
    }
}

impl SettingValue for Without {
    fn from_text(text: &str) -> Result<Without, String> {
        text.parse().map_err(|error: Error| error.to_string())
    }
}

impl<T: SettingValue> SettingValue for Auto<T> {
    fn from_text(text: &str) -> Result<Auto<T>, String> {
        match text {
            "auto" => Ok(Auto::Auto),
            _ => T::from_text(text).map(Auto::Is).map_err(|problem| match problem.strip_prefix("expected ") {
                Some(right) => format!("expected `auto` or {right}"),
                None => problem,
            }),
        }
    }

    fn choices() -> Vec<&'static str> {
        let choices = T::choices();
        if choices.is_empty() { choices } else { [vec!["auto"], choices].concat() }
    }

    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Auto::Auto => serializer.serialize_str("auto"),
            Auto::Is(choice) => choice.write(serializer),
        }
    }
}

/// Choices of a closed set, made by `named!`.
macro_rules! named_settings {
    ($($Type:ty),+) => {$(
        impl SettingValue for $Type {
            fn from_text(text: &str) -> Result<$Type, String> {
                text.parse().map_err(|error: Error| error.to_string())
            }

            fn choices() -> Vec<&'static str> {
                <$Type>::ALL.iter().map(|choice| choice.name()).collect()
            }
        }
    )+};
}
named_settings!(
    Task,
    Protocol,
    NodeFeatures,
    Storage,
    Signal,
    SignalScale,
    Refresh,
    Decoder,
    SplitChoice,
    Negatives,
    EvaluationNegatives,
    Masking,
    Proximities,
    NodeTable,
    Reconstruction,
    Optimizer,
    Schedule,
    TestEdges,
    SameLabelPairs
);

/// Declares every setting once: in the block of its group, as `name: {Type = default}` where there is one default, and as `name: [Type]` where
/// `auto` is it. The documentation of a setting is its help text.
macro_rules! settings {
    ($($group:expr => {$(
        $(#[doc = $help:literal])+
        $field:ident: $({$Fixed:ty = $default:expr})? $([$Open:ty])?, $value_name:literal;
    )+})+) => {
        /// What is trained, how, and how it is judged; what is left `auto` follows from the data ([`Config::resolve`]). The
        /// names are those of the program's options.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
        pub struct Config {
            $($($(#[doc = $help])+ #[serde(serialize_with = "setting::write")] pub $field: $($Fixed)? $(Auto<$Open>)?,)+)+
        }

        /// A configuration in which every choice is made: what training uses and what a model folder holds.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub struct Resolved {
            $($($(#[doc = $help])+ #[serde(serialize_with = "setting::write")] pub $field: $($Fixed)? $($Open)?,)+)+
        }

        /// The choices that a configuration may leave open, all made.
        pub(super) struct Choices {
            $($($(pub(super) $field: $Open,)?)+)+
        }

        impl Default for Config {
            /// Every choice open that may be; for the paper's models this is its appendix.
            fn default() -> Config {
                Config { $($($field: $($default)? $(Auto::<$Open>::Auto)?,)+)+ }
            }
        }

        impl Config {
            pub(super) fn with(self, choices: Choices) -> Resolved {
                Resolved { $($($field: $(settings!(@fixed self.$field, $Fixed))? $(settings!(@open choices.$field, $Open))?,)+)+ }
            }
        }

        impl TryFrom<Config> for Resolved {
            type Error = Error;

            /// The configuration as it is, if no choice is open.
            fn try_from(config: Config) -> Result<Resolved> {
                config.check_values()?;
                let choices = Choices { $($($($field: settings!(@made config, $field, $Open),)?)+)+ };
                Ok(config.with(choices))
            }
        }

        impl From<Resolved> for Config {
            fn from(resolved: Resolved) -> Config {
                Config {
                    $($($field: $(settings!(@fixed resolved.$field, $Fixed))? $(Auto::<$Open>::Is(resolved.$field))?,)+)+
                }
            }
        }

        impl Setting {
            /// Every setting, group by group, in the order in which help texts list them.
            pub fn all() -> &'static [Setting] {
                static ALL: LazyLock<Vec<Setting>> = LazyLock::new(|| {
                    let defaults = Config::default();
                    vec![$($(Setting::new(
                        $group,
                        stringify!($field),
                        $value_name,
                        &[$($help),+],
                        &defaults.$field,
                        setting::parse::<$($Fixed)? $(Auto<$Open>)?>,
                    ),)+)+]
                });
                &ALL
            }
        }
    };
    (@fixed $value:expr, $Fixed:ty) => { $value };
    (@open $value:expr, $Open:ty) => { $value };
    (@made $config:ident, $field:ident, $Open:ty) => {
        match $config.$field.clone() {
            Auto::<$Open>::Is(choice) => choice,
            Auto::Auto => return Err(Error::OpenChoice { name: stringify!($field).replace('_', "-") }),
        }
    };
}
pub(super) use settings;

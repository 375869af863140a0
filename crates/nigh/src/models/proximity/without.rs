//! Parts of what a pair is scored by that a model does without: what an ablation takes away.

use super::{NAME, PairSource};
use crate::error::{Error, Result};
use crate::models::Architecture;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// The word for `h_i ⊙ h_j`, beside the names of the sources of pairs.
const REPRESENTATIONS: &str = "representations";

/// Sources of pairs, and `h_i ⊙ h_j`, that a model does without. Written as names with commas, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Without {
    /// In the order of [`PairSource::ALL`].
    sources: [bool; PairSource::ALL.len()],
    representations: bool,
}

impl Without {
    /// Every name, in the order in which they are written.
    pub fn known() -> Vec<&'static str> {
        PairSource::ALL.iter().map(|source| source.name()).chain([REPRESENTATIONS]).collect()
    }

    /// Whether a source of pairs is left out.
    pub fn leaves_out(&self, source: PairSource) -> bool {
        PairSource::ALL.iter().zip(self.sources).any(|(other, left_out)| left_out && *other == source)
    }

    /// What is left out.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let flags = self.sources.into_iter().chain([self.representations]);
        Without::known().into_iter().zip(flags).filter_map(|(name, left_out)| left_out.then_some(name))
    }

    fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Without> {
        let (known, mut without) = (Without::known(), Without::default());
        for name in names {
            let at = known.iter().position(|known| *known == name).ok_or_else(|| Error::UnknownName {
                kind: "part of a pair's score",
                name: name.to_string(),
                known: known.iter().map(|name| name.to_string()).collect(),
            })?;
            match without.sources.get_mut(at) {
                Some(left_out) => *left_out = true,
                None => without.representations = true,
            }
        }
        if without == Without::default() {
            return Err(Error::setting("without", "empty", "expected none, or names with commas"));
        }
        Ok(without)
    }
}

impl Architecture {
    /// The architecture without some parts of what it scores pairs by. Each of them has to be there, and some source of pairs
    /// has to stay.
    pub(crate) fn without(mut self, model: &str, without: &Without) -> Result<Architecture> {
        if *without == Without::default() {
            return Ok(self);
        }
        let wrong = |problem: String| Err(Error::setting("without", without, problem));
        if !self.has_pair_features() {
            return wrong(format!("it belongs to {NAME}; {model} has no sources of pairs"));
        }
        let mut here: Vec<&str> = self.pair_sources.iter().map(|source| source.name()).collect();
        here.extend((!self.branches.is_empty()).then_some(REPRESENTATIONS));
        if let Some(name) = without.names().find(|name| !here.contains(name)) {
            return wrong(format!("{model} has no {name} on these data; it has {}", here.join(", ")));
        }
        self.pair_sources.retain(|source| !without.leaves_out(*source));
        if without.representations {
            self.branches.clear();
        }
        if self.pair_sources.is_empty() {
            let sources: Vec<&str> = here.into_iter().filter(|name| *name != REPRESENTATIONS).collect();
            return wrong(format!("one of {} has to stay", sources.join(", ")));
        }
        Ok(self)
    }
}

impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        f.pad(&if names.is_empty() { "none".to_string() } else { names.join(",") })
    }
}

impl FromStr for Without {
    type Err = Error;

    fn from_str(text: &str) -> Result<Without> {
        match text.trim() {
            "none" => Ok(Without::default()),
            "" => Without::of([]),
            names => Without::of(names.split(',').map(str::trim)),
        }
    }
}

impl serde::Serialize for Without {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Without {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = Without;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none`, names with commas, or a list of names")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Without, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> std::result::Result<Without, A::Error> {
                let mut given: Vec<String> = Vec::new();
                while let Some(name) = names.next_element()? {
                    given.push(name);
                }
                Without::of(given.iter().map(String::as_str)).map_err(serde::de::Error::custom)
            }
        }

        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::catalog::{Hyperparameters, architecture};

    #[test]
    fn names_are_written_in_one_order_and_read_back() {
        let read = |text: &str| text.parse::<Without>().map_err(|error| error.to_string());
        assert_eq!(read("representations, degrees,degrees").unwrap().to_string(), "degrees,representations");
        assert_eq!(read("none").unwrap(), Without::default());
        assert_eq!(Without::default().to_string(), "none");
        let all = Without::known().join(",");
        assert_eq!(read(&all).unwrap().to_string(), all);
        assert_eq!(read("degres").unwrap_err(), "unknown part of a pair's score `degres`; did you mean `degrees`?");
        assert!(read("").unwrap_err().contains("`without` is empty"));
        assert!(read("degrees,").is_err() && read("none,degrees").is_err());
        let listed = |text: &str| serde_json::from_str::<Without>(text).map_err(|error| error.to_string());
        assert_eq!(listed(r#"["walks", "degrees"]"#), listed(r#""degrees,walks""#));
        assert!(listed("[]").unwrap_err().contains("`without` is empty"));
    }

    #[test]
    fn parts_are_taken_away_where_they_are_and_one_source_stays() {
        let take = |model: &str, names: &str, has_features: bool| {
            let settings = Hyperparameters { has_features, ..Hyperparameters::default() };
            let without = architecture(model, &settings).unwrap().without(model, &names.parse().unwrap());
            let shown = |left: Architecture| (left.pair_sources.len(), left.branches.len());
            without.map(shown).map_err(|error| error.to_string())
        };
        assert_eq!(take("smp-proximity", "none", true), Ok((4, 1)));
        assert_eq!(take("smp-proximity", "representations", true), Ok((4, 0)));
        assert_eq!(take("smp-proximity", "walks,similarities", true), Ok((2, 1)));
        assert_eq!(take("smp-proximity", "degrees", false), Ok((2, 0)));
        let wrong = |model, names, has_features| take(model, names, has_features).unwrap_err();
        assert_eq!(
            wrong("smp-proximity", "similarities", false),
            "`without` is similarities, but smp-proximity has no similarities on these data; it has walks, degrees, \
             shared-neighbours"
        );
        assert!(wrong("smp-proximity", "representations", false).contains("no representations"));
        assert!(wrong("smp-proximity", "walks,degrees,shared-neighbours", false).contains("has to stay"));
        assert!(wrong("smp-linear", "degrees", true).contains("smp-linear has no sources of pairs"));
        assert_eq!(take("smp-linear", "none", true), Ok((0, 2)));
    }
}

//! The people of one house: a set of users by one name, so that a study of one's own line is short.
//!
//! What each of them does is data (`data/household.toml`), with its sources. A study's points hold the users that it
//! stands for, never the household.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use sojourn_net::refuse_if;

use super::Users;
use crate::document;
use crate::scenario::Invalid;
use crate::scenario::defaults::{count, keys};
use crate::scenario::flows::check_count;
use crate::scenario::provenance::Provenance;

keys! {
    /// A household: how many of its people do what. A composition of today, and a choice.
    pub struct Household {
        /// Begins the names of its users: `NAME-voice`. By default `household`.
        pub name: Option<String>,
        /// The hops that its users cross, by name, neighbours on the path; all if absent.
        pub over: Option<Vec<String>>,
        /// Households of this kind.
        pub count: u32 = "count::<1>",
        /// Callers.
        pub voice: u32 = "count::<1>",
        /// Callers with a camera, both ways.
        pub call: u32 = "count::<1>",
        /// Readers of web pages of today.
        pub web: u32 = "count::<1>",
        /// Players of an online game.
        pub gaming: u32 = "count::<1>",
        /// Players of a game that is streamed.
        pub cloud_gaming: u32 = "count::<0>",
        /// Viewers of adaptive video.
        pub adaptive: u32 = "count::<2>",
    }
}

/// The file of the household.
#[derive(Deserialize)]
struct HouseholdFile {
    #[serde(flatten)]
    provenance: Provenance,
    /// What each of its people does, as a study file writes it.
    people: BTreeMap<String, Value>,
}

static HOUSEHOLD: LazyLock<HouseholdFile> =
    LazyLock::new(|| document::shipped(include_str!("../../../data/household.toml")));

/// Where the household comes from.
pub fn household() -> &'static Provenance {
    &HOUSEHOLD.provenance
}

impl Household {
    /// Its people, each with how many there are of them.
    fn counts(&self) -> [(&'static str, u32); 6] {
        [
            ("voice", self.voice),
            ("call", self.call),
            ("web", self.web),
            ("adaptive", self.adaptive),
            ("gaming", self.gaming),
            ("cloud-gaming", self.cloud_gaming),
        ]
    }

    /// The users that it stands for.
    pub(crate) fn members(&self) -> Vec<Users> {
        let family = self.name.as_deref().unwrap_or("household");
        let there = self.counts().into_iter().filter(|(_, count)| *count > 0);
        let member = |(kind, count): (&str, u32)| {
            let mut keys = HOUSEHOLD.people.get(kind)?.clone();
            keys["name"] = format!("{family}-{kind}").into();
            keys["count"] = (count * self.count).into();
            if let Some(over) = &self.over {
                keys["over"] = over.clone().into();
            }
            document::read(&keys).ok()
        };
        there.filter_map(member).collect()
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        for (kind, count) in self.counts() {
            check_count(kind, count.max(1))?;
            check_count(kind, count.saturating_mul(self.count).max(1))?;
        }
        let empty = self.counts().iter().all(|(_, count)| *count == 0);
        refuse_if!(empty, "", "a household without people; leave the entry out to have none");
        self.members().iter().try_for_each(Users::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &str) -> Household {
        serde_json::from_str(keys).unwrap()
    }

    #[test]
    fn everybody_is_a_user_that_a_study_may_have() {
        let everybody = read("{}");
        for (kind, _) in everybody.counts() {
            let user: Result<Users, _> = serde_json::from_value(HOUSEHOLD.people[kind].clone());
            assert_eq!(user.map(|user| user.check()).map_err(|error| error.to_string()), Ok(Ok(())), "{kind}");
        }
        assert_eq!(HOUSEHOLD.people.len(), everybody.counts().len(), "nobody is described that no key counts");
    }

    #[test]
    fn who_is_not_there_is_no_user_and_several_households_have_as_many_more() {
        let of = |keys: &str| {
            read(keys).members().iter().map(|user| (user.name().unwrap().to_owned(), user.count())).collect::<Vec<_>>()
        };
        let named =
            |list: &[(&str, u32)]| list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
        assert_eq!(
            of("{\"adaptive\": 0, \"gaming\": 0, \"call\": 0}"),
            named(&[("household-voice", 1), ("household-web", 1)])
        );
        let several = "{\"name\": \"street\", \"count\": 3, \"voice\": 0, \"call\": 0, \"web\": 0, \"gaming\": 0, \
                       \"over\": [\"line\"]}";
        assert_eq!(of(several), named(&[("street-adaptive", 6)]));
        assert_eq!(read(several).members()[0].over(), Some(&["line".to_owned()][..]));
    }

    #[test]
    fn a_household_of_nobody_or_of_too_many_is_refused() {
        let said = |keys: &str| read(keys).check().unwrap_err().sentence();
        assert!(
            said("{\"voice\": 0, \"call\": 0, \"web\": 0, \"adaptive\": 0, \"gaming\": 0}").contains("without people")
        );
        assert!(said("{\"count\": 0}").contains("at least 1"));
        assert!(said("{\"count\": 60000}").contains("120000 is more than"));
    }
}

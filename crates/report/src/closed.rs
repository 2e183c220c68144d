//! Closed sets of words: enums that are written as one word each.

/// An enum of which every variant is written as the word beside it, in JSON, in text and in its schema alike.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// As it is written.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.name())
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use crate::account::Loss;
    use crate::remedies::{Need, Purpose, RemedyKind};
    use crate::{
        Basis, CauseSource, Certainty, Kind, MatchedBy, Nature, Origin, SeenIn, WarningKind,
    };

    /// Serde and [`Kind::name`] each have the word from the same literal; this holds them to it, and no word stands for two things.
    #[test]
    fn what_is_written_is_the_name() {
        macro_rules! check {
            ($($of:ident),+) => {$({
                let mut seen = std::collections::BTreeSet::new();
                for one in $of::ALL {
                    let written = serde_json::to_value(one).unwrap();
                    assert_eq!(written, one.name());
                    assert!(seen.insert(one.name()), "{one} stands for two");
                }
            })+};
        }
        check!(
            Basis,
            CauseSource,
            Certainty,
            Kind,
            Loss,
            MatchedBy,
            Nature,
            Need,
            Origin,
            Purpose,
            RemedyKind,
            SeenIn,
            WarningKind
        );
    }
}

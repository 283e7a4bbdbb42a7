//! Enumerations that the library passes as numbers. Later releases may add values.

/// Defines an enumeration. Its last variant, `Unknown`, holds numbers that this crate does not
/// know.
macro_rules! numbered {
    (
        $(#[$about:meta])*
        $type:ident {
            $($(#[$about_variant:meta])* $variant:ident = $number:ident, $name:literal;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $type {
            $($(#[$about_variant])* $variant,)*
            /// A number of a later release.
            Unknown(u32),
        }

        impl $type {
            pub(crate) const fn from_number(number: u32) -> $type {
                match number {
                    $(lapwing_sys::$number => $type::$variant,)*
                    other => $type::Unknown(other),
                }
            }

            /// Returns the number in lapwing.h.
            pub const fn number(self) -> u32 {
                match self {
                    $($type::$variant => lapwing_sys::$number,)*
                    $type::Unknown(number) => number,
                }
            }

            /// Returns the name in Lapwing's documentation.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                    $type::Unknown(_) => "unknown",
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use numbered;

//! Options: each has a private field and a method, so that later releases can add options.

/// Defines a struct of options. A line is `name(type of the method's argument): type = default;`.
/// Fields of the second list have methods elsewhere.
macro_rules! options {
    (
        $(#[$about:meta])*
        $type:ident {
            $($(#[$about_option:meta])* $option:ident($given:ty): $kind:ty = $default:expr;)*
        }
        $({ $($other:ident: $other_kind:ty = $other_default:expr;)* })?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $type {
            $($option: $kind,)*
            $($($other: $other_kind,)*)?
        }

        impl Default for $type {
            fn default() -> $type {
                $type {
                    $($option: $default,)*
                    $($($other: $other_default,)*)?
                }
            }
        }

        impl $type {
            $(
                $(#[$about_option])*
                #[must_use]
                pub fn $option(mut self, $option: $given) -> $type {
                    self.$option = $option.into();
                    self
                }
            )*
        }
    };
}
pub(crate) use options;

//! A program's structs as records: described by a macro, and checked by the library.

use crate::schema::{Field, FieldType, Role, Unit};
pub use crate::types::Layout;
use crate::types::Row;

/// A struct with a description. The macro [`record!`](crate::record!) implements this trait.
///
/// A publisher of such records ([`PublisherOptions::of`](crate::PublisherOptions::of)) stores their
/// schema with the bus. A subscriber ([`SubscriberOptions::of`](crate::SubscriberOptions::of))
/// fails with record-size on a bus with other records. The message names the first field that
/// differs. The library compares the fields, so the message is the same in every language.
pub trait Record: Row {
    /// At most 31 printable bytes, without blanks.
    const NAME: &'static str;
    const VERSION: u32;

    /// Returns the fields in the order of their offsets.
    fn fields() -> Vec<Field>;

    /// Returns the schema in JSON, for the options `schema` and `expect`.
    fn schema_text() -> String
    where
        Self: Sized,
    {
        let fields: Vec<String> = Self::fields().iter().map(json_of).collect();
        format!(
            r#"{{"name":"{}","version":{},"record_bytes":{},"fields":[{}]}}"#,
            Self::NAME,
            Self::VERSION,
            size_of::<Self>(),
            fields.join(",")
        )
    }
}

/// Writes members in the same order as the library does.
fn json_of(field: &Field) -> String {
    let mut json = format!(r#"{{"name":"{}","type":"{}""#, field.name, field.field_type);
    if matches!(field.field_type, FieldType::Text | FieldType::Bytes) {
        json += &format!(r#","bytes":{}"#, field.bytes);
    }
    json += &format!(r#","offset":{}"#, field.offset);
    if field.unit != Unit::Plain {
        json += &format!(r#","unit":"{}""#, field.unit);
    }
    if field.role != Role::Data {
        json += &format!(r#","role":"{}""#, field.role);
    }
    json + "}"
}

/// The meaning of a member in [`record!`](crate::record!). Meanings that do not exclude each other
/// can be combined: `symbol: Key + Letters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Data,
    /// The record's time: `u64`, ns since 1970, UTC.
    Time,
    /// The subject of the record: an instrument, an account. There may be several.
    Key,
    /// The publish time. Same type as `Time`.
    PublishTime,
    /// Bytes without a meaning yet.
    Spare,
    /// `i64`, units of 1e-9; the largest value means none.
    Price,
    /// `u64`, ns since 1970; the largest value means none.
    UtcNs,
    /// Unsigned, a sum of bits.
    Flags,
    /// `u8`, an ASCII letter.
    Letter,
    /// `[u8; N]`, text up to the first zero or the end.
    Letters,
}

/// A type that a member can have.
pub trait Member {
    const TYPE: FieldType;
}

macro_rules! members {
    ($($type:ty = $field_type:ident,)*) => {
        $(impl Member for $type {
            const TYPE: FieldType = FieldType::$field_type;
        })*
    };
}

members! {
    i8 = Int8, i16 = Int16, i32 = Int32, i64 = Int64,
    u8 = Uint8, u16 = Uint16, u32 = Uint32, u64 = Uint64,
    f32 = Float32, f64 = Float64,
}

impl<const N: usize> Member for [u8; N] {
    const TYPE: FieldType = FieldType::Bytes;
}

/// Describes the member that `_member` returns. For the macro.
#[doc(hidden)]
pub fn field_of<R, M: Member>(
    name: &str,
    offset: usize,
    _member: fn(&R) -> &M,
    meanings: &[Meaning],
) -> Field {
    let mut field = Field {
        name: name.to_owned(),
        offset: offset as u32,
        bytes: size_of::<M>() as u32,
        field_type: M::TYPE,
        unit: Unit::Plain,
        role: Role::Data,
    };
    for meaning in meanings {
        match meaning {
            Meaning::Data => {}
            Meaning::Time => (field.unit, field.role) = (Unit::UtcNs, Role::Time),
            Meaning::Key => field.role = Role::Key,
            Meaning::PublishTime => (field.unit, field.role) = (Unit::UtcNs, Role::PublishTime),
            Meaning::Spare => field.role = Role::Spare,
            Meaning::Price => field.unit = Unit::Price,
            Meaning::UtcNs => field.unit = Unit::UtcNs,
            Meaning::Flags => field.unit = Unit::Flags,
            Meaning::Letter => field.field_type = FieldType::Char,
            Meaning::Letters => field.field_type = FieldType::Text,
        }
    }
    field
}

/// Whether at most one meaning sets a role, at most one a unit, and at most one a type. For the
/// macro.
#[doc(hidden)]
pub const fn agree(meanings: &[Meaning]) -> bool {
    let (mut roles, mut units, mut types) = (0, 0, 0);
    let mut i = 0;
    while i < meanings.len() {
        match meanings[i] {
            Meaning::Data => {}
            Meaning::Time | Meaning::PublishTime => (roles, units) = (roles + 1, units + 1),
            Meaning::Key | Meaning::Spare => roles += 1,
            Meaning::Price | Meaning::UtcNs | Meaning::Flags => units += 1,
            Meaning::Letter | Meaning::Letters => types += 1,
        }
        i += 1;
    }
    roles <= 1 && units <= 1 && types <= 1
}

/// Describes a struct: its name, its version and every member, in the order of the struct. A member
/// can have a [`Meaning`], or several: `symbol: Key + Letters`.
///
/// ```
/// use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
/// #[repr(C)]
/// struct Quote {
///     time: u64,
///     instrument: u32,
///     size: u32,
///     price: i64,
/// }
/// lapwing::record!(Quote, "desk.quote", 1, { time: Time, instrument: Key, size, price: Price });
///
/// assert_eq!(<Quote as lapwing::Record>::fields()[3].offset, 16);
/// ```
///
/// Members are numbers, or `[u8; N]`. The compiler rejects a struct with padding (`IntoBytes`), and
/// a list that omits a member:
///
/// ```compile_fail
/// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
/// # #[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
/// # #[repr(C)]
/// # struct Quote { time: u64, price: i64 }
/// lapwing::record!(Quote, "desk.quote", 1, { time: Time });
/// ```
#[macro_export]
macro_rules! record {
    ($record:ty, $name:literal, $version:literal,
     { $($member:ident $(: $first:ident $(+ $more:ident)*)?),* $(,)? }) => {
        $(const _: () = ::core::assert!(
            $crate::record::agree(&[$(
                $crate::record::Meaning::$first
                $(, $crate::record::Meaning::$more)*
            )?]),
            "a member has one role, one unit and one type at most"
        );)*

        impl $crate::Row for $record {
            const FIELDS: $crate::record::Layout =
                $crate::record::Layout::Fields(<$record as $crate::Record>::fields);
        }

        impl $crate::Record for $record {
            const NAME: &'static str = $name;
            const VERSION: u32 = $version;

            fn fields() -> ::std::vec::Vec<$crate::Field> {
                let _every_member = |record: &Self| {
                    let Self { $($member: _),* } = record;
                };
                ::std::vec![$($crate::record::field_of(
                    ::core::stringify!($member),
                    ::core::mem::offset_of!($record, $member),
                    |record: &$record| &record.$member,
                    &[$(
                        $crate::record::Meaning::$first
                        $(, $crate::record::Meaning::$more)*
                    )?],
                )),*]
            }
        }
    };
}

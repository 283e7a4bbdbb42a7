//! Checks whether the fields of a type match those of a bus's records.

use std::any::{type_name, TypeId};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::error::{Code, Error, Result};
use crate::schema::{Field, Role, Schema};

/// The description of the bytes of a type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// `u8`, and arrays of it. They fit records with any fields.
    Bytes,
    /// Numbers without names. They fit records that are not described.
    Unnamed,
    Fields(fn() -> Vec<Field>),
}

/// A type that can be published or read as a row: numbers, arrays of numbers, and structs.
///
/// [`record!`](crate::record!) turns a struct into a row type. The names, offsets and types of its
/// fields are compared with the schema of the bus when the type is first used there. If they
/// differ, the error record-size names the first field that differs. For `[u8; N]` only the size is
/// compared. Numbers, and structs without names (`impl lapwing::Row for Quote {}`), fit a bus whose
/// records are not described.
pub trait Row: FromBytes + IntoBytes + Immutable + KnownLayout + 'static {
    #[doc(hidden)]
    const FIELDS: Layout = Layout::Unnamed;
}

macro_rules! unnamed {
    ($($type:ty),*) => { $(impl Row for $type {})* };
}
unnamed!(i8, i16, i32, i64, i128, u16, u32, u64, u128, f32, f64);

impl Row for u8 {
    const FIELDS: Layout = Layout::Bytes;
}

impl<T: Row, const N: usize> Row for [T; N] {
    const FIELDS: Layout = match T::FIELDS {
        Layout::Bytes => Layout::Bytes,
        Layout::Unnamed | Layout::Fields(_) => Layout::Unnamed,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Publish,
    Read,
}

#[derive(Debug)]
enum Source {
    Bus(PathBuf),
    Shipped(&'static str),
    Known(Result<Schema>),
}

/// The types that were compared with the records of a session, or with the entries of a state.
#[derive(Debug)]
pub(crate) struct Types {
    source: Source,
    usage: Use,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    schema: Option<Option<Schema>>,
    fitting: Vec<TypeId>,
}

impl Types {
    pub(crate) fn published(directory: &Path) -> Types {
        Types::of(Source::Bus(absolute(directory)), Use::Publish)
    }

    /// Types for the records of a journal.
    pub(crate) fn archived(directory: &Path) -> Types {
        Types::of(Source::Bus(absolute(directory)), Use::Read)
    }

    /// Types for the records of a session whose schema was read.
    pub(crate) fn of_session(schema: Result<Schema>) -> Types {
        Types::of(Source::Known(schema), Use::Read)
    }

    pub(crate) fn entries(fold: &'static str) -> Types {
        Types::of(Source::Shipped(fold), Use::Read)
    }

    fn of(source: Source, usage: Use) -> Types {
        Types { source, usage, known: Mutex::default() }
    }

    /// Compares the type with the schema. Error: record-size, with the first field that differs. A
    /// type of a different size passes; the caller checks the size.
    #[inline]
    pub(crate) fn check<R: Row>(&self) -> Result<()> {
        match R::FIELDS {
            Layout::Bytes => Ok(()),
            layout => {
                self.check_layout(TypeId::of::<R>(), size_of::<R>(), layout, type_name::<R>())
            }
        }
    }

    fn check_layout(&self, id: TypeId, bytes: usize, layout: Layout, name: &str) -> Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.fitting.contains(&id) {
            return Ok(());
        }
        if known.schema.is_none() {
            known.schema = Some(self.find_schema()?);
        }
        if let Some(Some(schema)) = &known.schema {
            if schema.record_bytes as usize != bytes {
                return Ok(());
            }
            if let Some(why) = difference(schema, layout, self.usage) {
                return Err(differs(name, &schema.name, &why));
            }
        }
        known.fitting.push(id);
        Ok(())
    }

    /// Returns `None` if the records are not described.
    fn find_schema(&self) -> Result<Option<Schema>> {
        let found = match &self.source {
            Source::Bus(directory) => Schema::of_bus(directory),
            Source::Shipped(name) => Schema::shipped(name),
            Source::Known(schema) => schema.clone(),
        };
        match found {
            Ok(schema) => Ok(Some(schema)),
            Err(error) if error.code() == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn absolute(directory: &Path) -> PathBuf {
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned())
}

#[cold]
fn differs(name: &str, schema: &str, why: &str) -> Error {
    Error::new(
        Code::RecordSize,
        format!(
            "{name} is not a record of this bus, {schema}: {why}. Use the struct that describes \
             the bus; Schema has its fields."
        ),
    )
}

fn difference(schema: &Schema, layout: Layout, usage: Use) -> Option<String> {
    match layout {
        Layout::Bytes => None,
        Layout::Unnamed => Some("the type has no field names; describe it by record!".to_owned()),
        Layout::Fields(fields) => first_difference(&schema.fields, &fields(), usage),
    }
}

fn is_spare(field: &&Field) -> bool {
    field.role == Role::Spare
}

/// Whether `field` is inside one spare field, or inside several consecutive ones.
fn lies_in_spare(fields: &[Field], field: &Field) -> bool {
    let (mut at, end) = (field.offset, field.offset + field.bytes);
    for spare in fields.iter().filter(is_spare) {
        if spare.offset <= at && at < spare.offset + spare.bytes {
            at = spare.offset + spare.bytes;
        }
    }
    at >= end
}

fn first_difference(bus: &[Field], given: &[Field], usage: Use) -> Option<String> {
    for field in bus.iter().filter(|field| !is_spare(field)) {
        let name = &field.name;
        match given.iter().find(|other| other.name == *name && !is_spare(other)) {
            // A later version of the record may use bytes that are spare in an earlier struct.
            None if usage == Use::Read && lies_in_spare(given, field) => {}
            None => return Some(format!("field {name} is missing")),
            Some(other) if other.offset != field.offset => {
                return Some(format!(
                    "field {name} is at byte {}, not at {}",
                    other.offset, field.offset
                ));
            }
            Some(other) if other.field_type != field.field_type => {
                return Some(format!(
                    "field {name} is {}, not {}",
                    other.field_type, field.field_type
                ));
            }
            Some(other) if other.bytes != field.bytes => {
                return Some(format!(
                    "field {name} has {} bytes, not {}",
                    other.bytes, field.bytes
                ));
            }
            Some(_) => {}
        }
    }
    let is_known = |field: &Field| bus.iter().any(|other| other.name == field.name);
    given
        .iter()
        .filter(|field| !is_spare(field) && !is_known(field))
        .find(|field| usage == Use::Read || !lies_in_spare(bus, field))
        .map(|field| format!("field {} is not in the records of the bus", field.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{FieldType, Unit};

    fn field(name: &str, offset: u32, field_type: FieldType, bytes: u32, role: Role) -> Field {
        Field { name: name.into(), offset, bytes, field_type, unit: Unit::Plain, role }
    }

    fn quote() -> Vec<Field> {
        vec![
            field("time", 0, FieldType::Uint64, 8, Role::Time),
            field("price", 8, FieldType::Int64, 8, Role::Data),
            field("spare", 16, FieldType::Bytes, 8, Role::Spare),
        ]
    }

    fn both(bus: &[Field], given: &[Field]) -> [Option<String>; 2] {
        [Use::Publish, Use::Read].map(|usage| first_difference(bus, given, usage))
    }

    #[test]
    fn equal_fields_fit() {
        assert_eq!(both(&quote(), &quote()), [None, None]);
    }

    #[test]
    fn each_difference_is_named() {
        let differs = |change: fn(&mut Field), words: &str| {
            let mut given = quote();
            change(&mut given[1]);
            assert_eq!(both(&quote(), &given), [Some(words.to_owned()), Some(words.to_owned())]);
        };
        differs(|field| field.name = "bid".into(), "field price is missing");
        differs(|field| field.offset = 12, "field price is at byte 12, not at 8");
        differs(|field| field.field_type = FieldType::Uint64, "field price is uint64, not int64");
        differs(|field| field.bytes = 4, "field price has 4 bytes, not 8");
        let mut spare = quote();
        spare[1].role = Role::Spare;
        assert_eq!(both(&quote(), &spare), [Some("field price is missing".to_owned()), None]);
    }

    #[test]
    fn spare_bytes_may_be_used_by_a_later_version() {
        let mut later = quote();
        later[2] = field("size", 16, FieldType::Uint64, 8, Role::Data);
        // A publisher of the earlier struct would leave the new field empty.
        let missing = Some("field size is missing".to_owned());
        assert_eq!(both(&later, &quote()), [missing, None]);
        // A reader of the later struct would take spare bytes for a size.
        let unknown = Some("field size is not in the records of the bus".to_owned());
        assert_eq!(both(&quote(), &later), [None, unknown]);
    }
}

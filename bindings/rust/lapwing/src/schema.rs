//! Descriptions of records: the fields of a bus's records, or of a schema that Lapwing ships.

use std::ffi::c_char;
use std::path::Path;
use std::ptr;

use lapwing_sys as sys;

use crate::error::{check, library, Code, Result};
use crate::numbered::numbered;
use crate::text::{text_of, Text};

numbered! {
    /// The type of a field. Numbers are little-endian.
    FieldType {
        Int8 = LAPWING_TYPE_INT8, "int8";
        Int16 = LAPWING_TYPE_INT16, "int16";
        Int32 = LAPWING_TYPE_INT32, "int32";
        Int64 = LAPWING_TYPE_INT64, "int64";
        Uint8 = LAPWING_TYPE_UINT8, "uint8";
        Uint16 = LAPWING_TYPE_UINT16, "uint16";
        Uint32 = LAPWING_TYPE_UINT32, "uint32";
        Uint64 = LAPWING_TYPE_UINT64, "uint64";
        Float32 = LAPWING_TYPE_FLOAT32, "float32";
        Float64 = LAPWING_TYPE_FLOAT64, "float64";
        /// One letter.
        Char = LAPWING_TYPE_CHAR, "char";
        /// Letters, up to the first zero or the end.
        Text = LAPWING_TYPE_TEXT, "text";
        Bytes = LAPWING_TYPE_BYTES, "bytes";
    }
}

numbered! {
    /// The unit of a field.
    Unit {
        Plain = LAPWING_UNIT_PLAIN, "plain";
        /// `i64`, 1e-9 of a currency or point; the largest value: none.
        Price = LAPWING_UNIT_PRICE, "price";
        /// `u64`, ns since 1970; the largest value: none.
        UtcNs = LAPWING_UNIT_UTC_NS, "utc_ns";
        /// Unsigned, a sum of named bits.
        Flags = LAPWING_UNIT_FLAGS, "flags";
    }
}

numbered! {
    /// The purpose of a field.
    Role {
        Data = LAPWING_ROLE_DATA, "data";
        /// The record's time, UTC ns.
        Time = LAPWING_ROLE_TIME, "time";
        /// The subject of the record; there may be several.
        Key = LAPWING_ROLE_KEY, "key";
        /// UTC ns.
        PublishTime = LAPWING_ROLE_PUBLISH_TIME, "publish_time";
        /// Bytes without a meaning yet.
        Spare = LAPWING_ROLE_SPARE, "spare";
    }
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// Offset in the record, in bytes.
    pub offset: u32,
    pub bytes: u32,
    pub field_type: FieldType,
    pub unit: Unit,
    pub role: Role,
}

/// A value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Int(i64),
    Uint(u64),
    Float(f64),
    /// Text up to the first zero, mostly ASCII. A letter is a text of one byte.
    Text(&'a [u8]),
    Bytes(&'a [u8]),
}

impl Field {
    /// Returns the field's value in a record; `None` if the record is too short.
    pub fn value<'a>(&self, record: &'a [u8]) -> Option<Value<'a>> {
        let start = self.offset as usize;
        let bytes = record.get(start..start.checked_add(self.bytes as usize)?)?;
        Some(match self.field_type {
            FieldType::Int8 => Value::Int(i8::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldType::Int16 => Value::Int(i16::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldType::Int32 => Value::Int(i32::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldType::Int64 => Value::Int(i64::from_le_bytes(bytes.try_into().ok()?)),
            FieldType::Uint8 => Value::Uint(u8::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldType::Uint16 => Value::Uint(u16::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldType::Uint32 => Value::Uint(u32::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldType::Uint64 => Value::Uint(u64::from_le_bytes(bytes.try_into().ok()?)),
            FieldType::Float32 => Value::Float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            FieldType::Float64 => Value::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
            FieldType::Char => Value::Text(bytes),
            FieldType::Text => Value::Text(bytes.split(|&byte| byte == 0).next()?),
            FieldType::Bytes | FieldType::Unknown(_) => Value::Bytes(bytes),
        })
    }
}

/// A description of records.
#[derive(Clone, Debug)]
pub struct Schema {
    pub name: String,
    pub version: u32,
    pub record_bytes: u32,
    /// XXH3-64 of the text.
    pub hash: u64,
    /// In the order of their offsets.
    pub fields: Vec<Field>,
    /// The whole schema in JSON, including the names of values, for
    /// [`PublisherOptions::schema`](crate::PublisherOptions::schema) and
    /// [`SubscriberOptions::expect`](crate::SubscriberOptions::expect).
    pub text: String,
}

impl Schema {
    /// Reads the schema of the bus in that directory.
    ///
    /// Errors: not-found (its records are not described), no-bus, damaged, system.
    pub fn of_bus(directory: impl AsRef<Path>) -> Result<Schema> {
        // Here an empty path means the working directory. For the library it means NULL: by name.
        let directory = match directory.as_ref() {
            empty if empty.as_os_str().is_empty() => Path::new("."),
            other => other,
        };
        read(&Text::of_path(directory, "directory")?, &Text::of("", "name")?)
    }

    /// Returns a schema that Lapwing ships (`dbn.mbo`, `kv16` …, the newest version), or `orders`,
    /// the entries of that fold.
    ///
    /// Errors: not-found.
    pub fn shipped(name: &str) -> Result<Schema> {
        read(&Text::of("", "directory")?, &Text::of(name, "name")?)
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Converts a schema to its text, for the options `schema` and `expect`.
impl From<Schema> for String {
    fn from(schema: Schema) -> String {
        schema.text
    }
}

impl From<&Schema> for String {
    fn from(schema: &Schema) -> String {
        schema.text.clone()
    }
}

fn read(directory: &Text, name: &Text) -> Result<Schema> {
    let library = library()?;
    fill(|schema, fields, fields_max, text, text_bytes_max| {
        // SAFETY: the buffers have the given sizes.
        check(|error| unsafe {
            let (directory, name) = (directory.as_ptr(), name.as_ptr());
            library.lapwing_schema_fields(
                directory,
                name,
                schema,
                fields,
                fields_max,
                text,
                text_bytes_max,
                error,
            )
        })
    })
}

/// Calls `read` with buffers that are large enough for the fields and the text of a schema. Each is
/// a pointer and its size, or NULL and 0.
pub(crate) fn fill(
    read: impl Fn(
        *mut sys::lapwing_schema,
        *mut sys::lapwing_field,
        usize,
        *mut c_char,
        usize,
    ) -> Result<()>,
) -> Result<Schema> {
    let mut schema = sys::lapwing_schema {
        struct_size: size_of::<sys::lapwing_schema>() as u32,
        ..Default::default()
    };
    let mut fields: Vec<sys::lapwing_field> = Vec::new();
    let mut text: Vec<u8> = Vec::new();
    // The first call returns the sizes. The description of a bus may change between two calls.
    loop {
        let with_memory = !text.is_empty();
        let (fields_at, text_at) = match with_memory {
            true => (fields.as_mut_ptr(), text.as_mut_ptr().cast()),
            false => (ptr::null_mut(), ptr::null_mut()),
        };
        let done = read(&mut schema, fields_at, fields.len(), text_at, text.len());
        match done {
            Ok(()) if with_memory => break,
            Ok(()) => {}
            Err(error) if error.code() == Code::TooSmall => {}
            Err(error) => return Err(error),
        }
        fields.resize(schema.field_count, Default::default());
        text.resize(schema.text_bytes.max(1), 0);
    }
    fields.truncate(schema.field_count);
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(Schema {
        name: text_of(&schema.name).to_owned(),
        version: schema.version,
        record_bytes: schema.record_bytes,
        hash: schema.hash,
        fields: fields.iter().map(Field::from).collect(),
        text: String::from_utf8_lossy(text).into_owned(),
    })
}

impl From<&sys::lapwing_field> for Field {
    fn from(field: &sys::lapwing_field) -> Field {
        Field {
            name: text_of(&field.name).to_owned(),
            offset: field.offset,
            bytes: field.bytes,
            field_type: FieldType::from_number(field.type_),
            unit: Unit::from_number(field.unit),
            role: Role::from_number(field.role),
        }
    }
}

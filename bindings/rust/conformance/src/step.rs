//! A step: an operation, and its values by name.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use lapwing::{Timeout, FOREVER, NOW};

use crate::answer::Failure;

pub struct Step {
    pub operation: String,
    values: HashMap<String, String>,
}

impl Step {
    pub fn parse(line: &str) -> Result<Step, Failure> {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let operation = words.next().ok_or(Failure::Unsupported)?.to_owned();
        let values = words.map(|word| {
            let (key, value) = word.split_once('=').ok_or(Failure::Unsupported)?;
            Ok((key.to_owned(), decoded(value).ok_or(Failure::Unsupported)?))
        });
        Ok(Step { operation, values: values.collect::<Result<_, Failure>>()? })
    }

    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    pub fn given(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    pub fn text(&self, key: &str) -> Result<&str, Failure> {
        self.given(key).ok_or(Failure::Unsupported)
    }

    /// Returns an empty text if the value is not given.
    pub fn text_or_empty(&self, key: &str) -> String {
        self.given(key).unwrap_or_default().to_owned()
    }

    pub fn number<T: FromStr>(&self, key: &str) -> Result<T, Failure> {
        self.text(key)?.parse().map_err(|_| Failure::Unsupported)
    }

    pub fn number_or<T: FromStr>(&self, key: &str, otherwise: T) -> Result<T, Failure> {
        if self.has(key) {
            self.number(key)
        } else {
            Ok(otherwise)
        }
    }

    pub fn flag(&self, key: &str) -> bool {
        self.given(key) == Some("1")
    }

    /// Returns the default if the value is not given.
    pub fn one_of<T: Copy + Default>(&self, key: &str, of: &[(&str, T)]) -> Result<T, Failure> {
        let Some(word) = self.given(key) else { return Ok(T::default()) };
        let found = of.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or(Failure::Unsupported)
    }

    pub fn milliseconds(&self, key: &str) -> Result<Duration, Failure> {
        Ok(Duration::from_millis(self.number(key)?))
    }

    pub fn timeout(&self) -> Result<Timeout, Failure> {
        match self.given("timeout_ms") {
            None | Some("now") => Ok(NOW),
            Some("forever") => Ok(FOREVER),
            Some(_) => Ok(self.milliseconds("timeout_ms")?.into()),
        }
    }
}

fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

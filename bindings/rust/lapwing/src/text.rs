//! Conversion of text and paths to and from the library.

use std::ffi::{c_char, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use crate::error::{Code, Error, Result};

/// Text for the library: it ends with a zero, and an empty text is NULL.
pub(crate) struct Text(Option<CString>);

impl Text {
    /// `what` names the text in the error message if it contains a zero byte.
    pub(crate) fn of(text: &str, what: &str) -> Result<Text> {
        Text::of_bytes(text.as_bytes(), what)
    }

    pub(crate) fn of_path(path: &Path, what: &str) -> Result<Text> {
        Text::of_bytes(path.as_os_str().as_bytes(), what)
    }

    fn of_bytes(bytes: &[u8], what: &str) -> Result<Text> {
        if bytes.is_empty() {
            return Ok(Text(None));
        }
        let text = CString::new(bytes).map_err(|error| {
            let at = error.nul_position();
            Error::new(
                Code::InvalidArgument,
                format!(
                    "byte {at} of {what} is zero; the library takes text up to a zero: remove it"
                ),
            )
        })?;
        Ok(Text(Some(text)))
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ref().map_or(ptr::null(), |text| text.as_ptr())
    }
}

/// Returns the text of a fixed field, up to the first zero or the first byte that is not UTF-8.
pub(crate) fn text_of(field: &[c_char]) -> &str {
    // SAFETY: c_char is one byte of any value, like u8.
    let bytes = unsafe { std::slice::from_raw_parts(field.as_ptr().cast::<u8>(), field.len()) };
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    text.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_is_null() {
        assert!(Text::of("", "name").unwrap().as_ptr().is_null());
    }

    #[test]
    fn a_zero_byte_is_an_invalid_argument() {
        let error = Text::of("es\0x", "options.name").err().unwrap();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().starts_with("byte 2 of options.name is zero"));
    }

    #[test]
    fn text_ends_at_its_zero_and_at_what_is_no_utf8() {
        let field = |bytes: &[u8]| bytes.iter().map(|&byte| byte as c_char).collect::<Vec<_>>();
        assert_eq!(text_of(&field(b"dbn.mbo\0\0x")), "dbn.mbo");
        assert_eq!(text_of(&field("k\u{e4}se".as_bytes())), "k\u{e4}se");
        assert_eq!(text_of(&field(b"ab\xffc\0")), "ab");
        assert_eq!(text_of(&field(b"\0")), "");
    }
}

//! Records in Databento's binary encoding, with the layout of the schema `dbn.mbo`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// An order event (market by order): a record of the schema `dbn.mbo`, 56 bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Mbo {
    /// Length of the whole record, in units of 4 bytes: 14.
    pub length: u8,
    /// [`RTYPE_MBO`].
    pub rtype: u8,
    pub publisher_id: u16,
    pub instrument_id: u32,
    /// The venue's time, UTC ns.
    pub ts_event: u64,
    pub order_id: u64,
    /// In units of 1e-9; `i64::MAX`: none.
    pub price: i64,
    pub size: u32,
    /// A sum of bits: [`FLAG_LAST`] …
    pub flags: u8,
    pub channel_id: u8,
    /// `A` add, `M` modify, `C` cancel, `R` clear the book, `T` trade, `F` fill, `N` none.
    pub action: u8,
    /// `A` ask, `B` bid, `N` none.
    pub side: u8,
    /// UTC ns.
    pub ts_recv: u64,
    /// ns from the venue's send to `ts_recv`.
    pub ts_in_delta: i32,
    /// The venue's sequence, not the bus's.
    pub sequence: u32,
}

crate::record!(Mbo, "dbn.mbo", 3, {
    length, rtype, publisher_id: Key, instrument_id: Key, ts_event: UtcNs, order_id, price: Price,
    size, flags: Flags, channel_id, action: Letter, side: Key + Letter, ts_recv: Time, ts_in_delta,
    sequence,
});

pub const RTYPE_MBO: u8 = 0xa0;
/// Set on the last record of a venue event.
pub const FLAG_LAST: u8 = 0x80;

impl Mbo {
    /// Creates an order event. Its other members are zero.
    pub fn new(action: u8, side: u8, order_id: u64, price: i64, size: u32) -> Mbo {
        let length = (size_of::<Mbo>() / 4) as u8;
        Mbo { length, rtype: RTYPE_MBO, action, side, order_id, price, size, ..Mbo::default() }
    }
}

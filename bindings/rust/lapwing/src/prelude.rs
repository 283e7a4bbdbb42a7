//! What most programs use: `use lapwing::prelude::*;`. It has no `Result` and no `Error`, which would
//! hide those of the program.

pub use crate::{
    Batch, ChannelOptions, Chunk, Code, Consumer, Cursor, Duplex, Event, EventKind, History, Item,
    Listener, OnGap, Producer, Publisher, PublisherOptions, Record, Row, Schema, Start, Subscriber,
    SubscriberOptions, Symbols, Wait, FOREVER, NOW,
};

//! The names that most programs use: `use lapwing::prelude::*;`. `Result` and `Error` are not
//! included, because they would shadow the program's own names.

pub use crate::{
    Batch, ChannelOptions, Chunk, Code, Consumer, Cursor, Duplex, Event, EventKind, History, Item,
    Listener, OnGap, Producer, Publisher, PublisherOptions, Record, Row, Schema, Start, Subscriber,
    SubscriberOptions, Symbols, Wait, WaitSet, FOREVER, NOW,
};

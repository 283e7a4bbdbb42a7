//! The names that most programs use: `use lapwing::prelude::*;`. `Result` and `Error` are not among
//! them, since they would shadow those of the program.

pub use crate::{
    Batch, ChannelOptions, Chunk, Code, Consumer, Cursor, Duplex, Event, EventKind, History, Item,
    Listener, OnGap, Producer, Publisher, PublisherOptions, Record, Row, Schema, Start, Subscriber,
    SubscriberOptions, Symbols, Wait, WaitSet, FOREVER, NOW,
};

//! Lapwing's memory-order protocols, each written once and run with `loom`, which explores every
//! execution that the C11 memory model allows. The right form of each must pass, and every wrong
//! variant must be caught.
//!
//! The names are those of `include/lapwing/detail/slot_words.h` and the other files of atomics.
//! README.md next to this crate has the table.
#![cfg(test)]

mod frame_memory;
mod judge;
mod kernel;

mod archive;
mod closed;
mod doorbell;
mod frames;
mod gate;
mod gone;
mod idle;
mod lap;
mod parking;
mod slot;
mod splice;

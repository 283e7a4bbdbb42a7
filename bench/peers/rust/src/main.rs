//! Peers that are crates. The program's name selects the peer. `README.md` in the parent folder
//! describes the arguments and the output.

mod measure;
mod scenarios;
mod witness;

#[cfg(feature = "bcast")]
mod bcast_peer;
#[cfg(feature = "iceoryx2")]
mod iceoryx2_peer;
#[cfg(feature = "ringfire")]
mod ringfire_peer;
#[cfg(feature = "tachyon")]
mod tachyon_peer;

use std::io::{stdin, BufRead};
use std::path::Path;

use measure::{fail, Histogram, Options};

/// A record is a type of these interfaces, so its size must be known at compile time.
macro_rules! run {
    ($options:expr, $peer:ident $(, $extra:expr)*) => {
        match $options.bytes {
            56 => scenarios::run::<7, $peer<7 $(, $extra)*>>($options),
            32 => scenarios::run::<4, $peer<4 $(, $extra)*>>($options),
            bytes => fail(&format!("records have 32 or 56 bytes, not {bytes}")),
        }
    };
}

fn print_histogram_of_input() {
    let mut ns = Histogram::new();
    for line in stdin().lock().lines() {
        let line = measure::or_fail(line, "standard input");
        ns.add(measure::or_fail(line.trim().parse(), "a duration"));
    }
    println!("{}", ns.to_json());
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() == 2 && arguments[1] == "histogram" {
        return print_histogram_of_input();
    }
    let name = Path::new(&arguments[0]).file_name().unwrap_or_default().to_string_lossy();
    let options = &Options::parse(&arguments[1..]);
    match name.as_ref() {
        #[cfg(feature = "ringfire")]
        "ringfire" => {
            use ringfire_peer::Ringfire;
            run!(options, Ringfire)
        }
        #[cfg(feature = "bcast")]
        "bcast" => {
            use bcast_peer::Bcast;
            run!(options, Bcast)
        }
        #[cfg(feature = "iceoryx2")]
        "iceoryx2" => {
            use iceoryx2_peer::Iceoryx2;
            run!(options, Iceoryx2, true)
        }
        #[cfg(feature = "iceoryx2")]
        "iceoryx2-no-overflow" => {
            use iceoryx2_peer::Iceoryx2;
            run!(options, Iceoryx2, false)
        }
        #[cfg(feature = "tachyon")]
        "tachyon" => {
            use tachyon_peer::Tachyon;
            run!(options, Tachyon)
        }
        _ => fail(&format!("{name} is not a peer of this program")),
    }
}

//! Sends several calls at once to a server of squares, in any language. square_server.rs describes
//! the protocol.
//!
//!     square_client PATH N…

use std::collections::HashMap;
use std::time::Duration;

use lapwing::{ChannelOptions, Duplex, Outcome};

const SQUARE: u32 = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else { return Err("usage: square_client PATH N...".into()) };

    let second = Duration::from_secs(1);
    let options = ChannelOptions::new().retry(10 * second);
    let mut server = Duplex::connect(path, &options, 10 * second)?;
    let mut asked = HashMap::new();
    for argument in arguments {
        let number: u64 = argument.parse()?;
        asked.insert(server.start(SQUARE, &number.to_le_bytes(), second)?, number);
    }
    while !asked.is_empty() {
        let finished = server.finish_any(second)?;
        let number = asked.remove(&finished.call).ok_or("an answer to no call")?;
        let reply = finished.reply?;
        match reply.outcome {
            Outcome::Reply { .. } => {
                println!("{number}: {}", u64::from_le_bytes(reply.payload.try_into()?));
            }
            Outcome::Error { code } => {
                println!("{number}: error {code}, {}", String::from_utf8_lossy(reply.payload));
            }
        }
    }
    Ok(server.close()?)
}

//! Answers calls of type 1, which contain a number n as 8 bytes, little-endian. The reply has type
//! 2 and contains n * n, modulo 2^64. The examples of every language use this protocol. Serves one
//! client, and ends when it disconnects.
//!
//!     square_server PATH

use lapwing::{Code, Duplex, Listener, FOREVER};

const SQUARE: u32 = 1;
const RESULT: u32 = 2;
const NO_SQUARE: u32 = 1; // the code of an error, chosen by the server

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = std::env::args().nth(1) else {
        return Err("usage: square_server PATH".into());
    };

    let mut listener = Listener::open(path, &Default::default())?;
    let mut client: Duplex = listener.accept(&Default::default(), FOREVER)?;
    loop {
        let request = match client.receive(FOREVER) {
            Err(error) if error.code() == Code::Closed => return Ok(()),
            request => request?,
        };
        match (request.message_type(), request.payload().try_into().map(u64::from_le_bytes)) {
            (SQUARE, Ok(n)) => request.reply(RESULT, &n.wrapping_mul(n).to_le_bytes(), FOREVER)?,
            _ => request.reply_error(NO_SQUARE, "a request has type 1 and 8 bytes", FOREVER)?,
        }
    }
}

//! Answers calls: type 1 with n as 8 bytes, little-endian, by type 2 with n * n. Examples of every
//! language speak this protocol. Serves one client, and ends with it.
//!
//!     square_server PATH

use lapwing::{Code, Duplex, Listener, FOREVER};

const SQUARE: u32 = 1;
const RESULT: u32 = 2;
const NO_SQUARE: u32 = 1; // the code of an error, the server's to choose

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = std::env::args().nth(1) else {
        return Err("usage: square_server PATH".into());
    };

    let mut listener = Listener::open(path, &Default::default())?;
    let mut client: Duplex = listener.accept(&Default::default(), FOREVER)?;
    loop {
        let request = match client.receive(FOREVER) {
            Err(error) if error.code() == Code::CLOSED => return Ok(()),
            request => request?,
        };
        let number = request.payload().try_into().map(u64::from_le_bytes);
        match (request.message_type(), number.ok().and_then(|n| n.checked_mul(n))) {
            (SQUARE, Some(square)) => request.reply(RESULT, &square.to_le_bytes(), FOREVER)?,
            _ => request.reply_error(NO_SQUARE, "there is no such square", FOREVER)?,
        }
    }
}

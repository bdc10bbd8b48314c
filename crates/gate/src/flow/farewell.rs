//! Last words to a client that is refused. Closing right after them would reset the connection if the
//! client had sent anything unread, and the words would be lost on the way.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::limits;
use crate::relay::reset;

/// Sends the words and waits a little until the client has closed.
pub(super) async fn farewell(mut stream: TcpStream, words: &[u8]) {
    let said = async {
        stream.write_all(words).await?;
        stream.shutdown().await?;
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        std::io::Result::Ok(())
    };
    let heard = matches!(timeout(limits::LAST_WORDS, said).await, Ok(Ok(())));
    if !heard {
        reset(stream);
    }
}

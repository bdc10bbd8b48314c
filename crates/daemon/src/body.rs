//! Bodies of answers: bytes that are there already, or a producer that is asked for more when the
//! client has taken what it got. Nothing is buffered for a slow client, and a producer whose client
//! is gone is dropped. One that ends before the length that was announced cuts the connection off, so
//! that no client takes a part for the whole.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use hyper::body::Bytes;

/// The body of an answer.
pub(crate) enum Body {
    /// All of it; none when it is sent.
    Whole(Option<Bytes>),
    /// As it comes.
    Produced {
        chunks: Pin<Box<dyn Chunks>>,
        /// How many bytes are left; none where nobody knows.
        left: Option<u64>,
    },
}

/// Something that has more to say later.
pub(crate) trait Producer: Send + 'static {
    /// The next bytes; none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

impl Body {
    /// A body that is known.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }

    /// A body that a producer makes.
    pub(crate) fn produced(producer: impl Producer) -> Self {
        let chunks = Box::pin(Unfolded { next: Box::pin(one_more(producer)) });
        Self::Produced { chunks, left: None }
    }

    /// A body of so many bytes that a producer makes.
    pub(crate) fn measured(producer: impl Producer, bytes: u64) -> Self {
        let chunks = Box::pin(Unfolded { next: Box::pin(one_more(producer)) });
        Self::Produced { chunks, left: Some(bytes) }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Produced { chunks, left } => {
                let next = chunks.as_mut().poll_chunk(context);
                if let (Poll::Ready(Some(bytes)), Some(left)) = (&next, left) {
                    *left = left.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                }
                next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Produced { left: Some(left), .. } => SizeHint::with_exact(*left),
            Self::Produced { left: None, .. } => SizeHint::default(),
        }
    }
}

/// A producer whose type does not matter any more.
pub(crate) trait Chunks: Send {
    fn poll_chunk(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// The producer moves into the future that asks it, and comes back with the answer.
type Asked<P> = Pin<Box<dyn Future<Output = (Option<Bytes>, P)> + Send>>;

struct Unfolded<P> {
    next: Asked<P>,
}

async fn one_more<P: Producer>(mut producer: P) -> (Option<Bytes>, P) {
    let bytes = producer.next().await;
    (bytes, producer)
}

impl<P: Producer> Chunks for Unfolded<P> {
    fn poll_chunk(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.next.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            // After the end, hyper does not ask again.
            Poll::Ready((bytes, producer)) => {
                self.next = Box::pin(one_more(producer));
                Poll::Ready(bytes)
            }
        }
    }
}

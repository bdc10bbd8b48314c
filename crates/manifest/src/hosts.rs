//! Comes with the next commit.

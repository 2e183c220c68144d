//! What can go wrong while something is drawn.

/// An error of rendering a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output could not be written, as when the reader closed the pipe.
    #[error("{0}")]
    Write(#[from] std::io::Error),
    /// What is written while it is read could not be read.
    #[error(transparent)]
    Recording(#[from] bandscope_recording::Error),
    /// There is no period to fold at.
    #[error(
        "--view fold: nothing periodic was found to fold at; name a period, as in fold:1ms or fold:250Hz"
    )]
    NoPeriod,
    /// Metrics of a recording that holds only moments.
    #[error(
        "--format prometheus: found moments that were caught, expected a recording of everything (record without --catch)"
    )]
    Moments,
    /// Metrics of the tasks of a job, whose nodes have CPUs of the same number.
    #[error("--format prometheus: found recordings of several tasks, expected one, such as {0}")]
    SeveralTasks(String),
    /// The report could not be turned into JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The picture could not be encoded.
    #[error("cannot encode the picture: {0}")]
    Png(::png::EncodingError),
    /// The picture would need more memory than a picture should.
    #[error(
        "found a picture of {width} x {height} pixels, expected at most {limit} in all; \
         use a smaller --width or --height, or --format svg"
    )]
    TooLarge {
        /// Pixels across.
        width: u64,
        /// Pixels down.
        height: u64,
        /// The most that is drawn.
        limit: u64,
    },
}

impl From<::png::EncodingError> for Error {
    /// Keeps errors of the output apart, so that a closed pipe is recognised whatever the format.
    fn from(error: ::png::EncodingError) -> Error {
        match error {
            ::png::EncodingError::IoError(error) => Error::Write(error),
            other => Error::Png(other),
        }
    }
}

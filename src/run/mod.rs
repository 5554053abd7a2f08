//! Supervisor, workers, journal. The supervisor refuses to touch a board.

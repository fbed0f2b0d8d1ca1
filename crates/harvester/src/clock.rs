//! The real and the simulated clock.

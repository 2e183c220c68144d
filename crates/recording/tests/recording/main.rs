//! Recordings and files, written and read back.

mod common;
mod damage;
mod dat;
mod disk_full;
mod events;
mod foreign;
mod roundtrip;

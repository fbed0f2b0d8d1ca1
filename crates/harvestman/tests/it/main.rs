//! What the program promises, asked of the real binary against a simulated web on loopback.
//!
//! The judge is the servers' own log wherever it can be: what was asked, when, and how often. One file per
//! promise; [`world`] is the stage they all play on.

// Tests may unwrap: a panic is how they speak.
#![allow(clippy::unwrap_used)]

mod access;
mod advice;
mod aliases;
mod all_types;
mod archive;
mod ask;
mod audit;
mod bad_input;
mod batch;
mod block;
mod both_ways;
mod changes;
mod check;
mod coming_back;
mod commands;
mod compression;
mod config;
mod control;
mod counts;
mod courtesy;
mod directory;
mod endless;
mod fair;
mod families;
mod forget;
mod full_disk;
mod guards;
mod hazards;
mod history;
mod honest;
mod http2;
mod json;
mod json_of_verbs;
mod kept_connections;
mod kill;
mod laboratory;
mod limits;
mod links;
mod log;
mod login;
mod lost_content;
mod lost_files;
mod notices;
mod pages;
mod politeness;
mod proxy;
mod raw;
mod reach;
mod reading;
mod rebuild;
mod redirects;
mod regather;
mod replay;
mod replicas;
mod requisites;
mod revisits;
mod rules;
mod scope;
mod seeding;
mod settled_alike;
mod simulated;
mod site;
mod sites;
mod spiders;
mod stopping;
mod terminal;
mod thin;
mod tls;
mod traps;
mod verdicts;
mod views;
mod watchdog;
mod webhooks;
mod wildcards;
mod wishes;
mod words;
mod world;

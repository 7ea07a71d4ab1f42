//! The whole program as a person meets it: the real binary, real processes, real signals, a place of its own for every
//! test. What an agent does is written in a script, see `testing/fake_agent.rs`.

mod harness;

mod agents;
mod background;
mod config;
mod control;
mod corpus;
mod crash;
mod demo;
mod detect;
mod disk;
mod gates;
mod gates_audit;
mod gates_command;
mod hats;
mod hostile;
mod leftovers;
mod locking;
mod mistakes;
mod money;
mod net;
mod output;
mod protocol;
mod pty;
mod ralph_md;
mod resume;
mod run;
mod sandbox;
mod schema;
mod show;
mod signals;
mod standing;
mod stop;
mod stuck;
mod terminal;
mod trust;
mod workspace;

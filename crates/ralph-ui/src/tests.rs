mod bytes;
mod closings;
mod commands;
mod idle;
mod screens;
mod script;
mod stuck;
mod threads;

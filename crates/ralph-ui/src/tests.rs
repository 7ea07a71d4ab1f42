mod bytes;
mod closings;
mod commands;
mod hats;
mod idle;
mod screens;
mod script;
mod threads;

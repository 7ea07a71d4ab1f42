mod bytes;
mod closings;
mod commands;
mod screens;
mod script;
mod threads;

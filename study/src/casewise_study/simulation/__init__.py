"""Simulation: people drawn by assumption, whom screening flags, and what a study costs."""

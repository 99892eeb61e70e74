"""Simulated conversations: settings, roles, the conversation loop, the plan and the engine that carries it out."""

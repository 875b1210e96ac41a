package io.kvasir.access;

/** How urgent a request is, the most urgent first. */
public enum ServiceClass { SYSTEM, INTERACTIVE, DEFAULT, BULK }

package io.kvasir.responses;

/**
 * Where a response is, and whose it is.
 *
 * @param worker the id of the worker that has it
 * @param model by which it was requested
 * @param tenant empty for that of the anonymous caller
 */
public record ResponseLocation(String worker, String model, String tenant) {}

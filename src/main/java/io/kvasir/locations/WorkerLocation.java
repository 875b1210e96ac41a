package io.kvasir.locations;

/**
 * Where something is that requests come back to, and whose it is.
 *
 * @param worker the id of the worker that has it; of a session whose requests have several steps, those of all of them,
 *     with commas between
 * @param model by which it was requested
 * @param tenant empty for that of the anonymous caller, and where the name has the tenant already
 */
public record WorkerLocation(String worker, String model, String tenant) {}

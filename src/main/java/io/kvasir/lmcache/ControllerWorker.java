package io.kvasir.lmcache;

/**
 * A row of the controller's list of workers: one rank of an engine with tensor parallelism.
 *
 * @param instance the engine's id
 * @param rank which rank
 * @param ip where it is
 * @param registered when it registered, in seconds of the controller's clock
 * @param lastBeat its last heartbeat, in the same
 * @param keys chunks that it holds
 */
record ControllerWorker(String instance, long rank, String ip, double registered, double lastBeat, long keys) {}

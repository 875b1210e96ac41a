package io.kvasir.lmcache;

/**
 * A row of the controller's list of workers: one rank of an engine with tensor parallelism.
 *
 * @param instance the engine's id
 * @param rank of the engine
 * @param ip address of the rank
 * @param registered time of the registration, in seconds of the controller's clock
 * @param lastHeartbeat time of the last heartbeat, in seconds of the same clock
 * @param keys chunks that the rank holds
 */
record ControllerWorker(
    String instance, long rank, String ip, double registered, double lastHeartbeat, long keys) {}

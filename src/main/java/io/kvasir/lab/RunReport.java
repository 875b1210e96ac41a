package io.kvasir.lab;

/**
 * The results of one run.
 *
 * @param trace name of the trace
 * @param engine name of the engine model
 * @param workers the number of engines by role
 * @param scale load, as a multiple of the trace's own
 * @param seed seed of everything random
 * @param index the index mode, as written
 * @param profile name of the profile
 * @param requests requests of the trace
 * @param goodput share of them that met the objective; rejected ones did not
 * @param hitRate share of the prompt tokens of answered requests found in a cache
 * @param ceiling the hit rate of a single unlimited cache
 * @param ttft milliseconds to the first token
 * @param tpot milliseconds per further token
 * @param e2e milliseconds to the last token
 * @param imbalance prompt tokens computed by the busiest engine, in multiples of the mean
 * @param rejected requests for which no worker was found
 * @param outputTokensPerSecond tokens of answers per second, from the first arrival to the last token
 */
public record RunReport(
    String trace,
    String engine,
    Pools workers,
    double scale,
    long seed,
    String index,
    String profile,
    int requests,
    double goodput,
    double hitRate,
    double ceiling,
    Latency ttft,
    Latency tpot,
    Latency e2e,
    double imbalance,
    int rejected,
    double outputTokensPerSecond) {}

package io.kvasir.lab;

/**
 * What came of one run.
 *
 * @param trace name of the trace
 * @param engine name of the engine model
 * @param workers how many engines, by what they do
 * @param scale load, in multiples of the trace's own
 * @param seed what decided all chance
 * @param index how the router's index learned of the caches, as written
 * @param profile name of the profile
 * @param requests requests of the trace
 * @param goodput share of them that kept to the objective; what was rejected did not
 * @param hitRate share of the prompt tokens of answered requests found in a cache
 * @param ceiling the same for one cache without limit
 * @param ttft milliseconds to the first token
 * @param tpot milliseconds per further token
 * @param e2e milliseconds to the last token
 * @param imbalance prompt tokens computed by the busiest engine, in multiples of the mean
 * @param rejected requests that found no worker
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

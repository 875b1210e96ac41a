package io.kvasir.routing.cost;

/**
 * A deployment: a model on an engine, for which costs are learnt.
 *
 * @param engine name of the initial latency coefficients, such as {@code h100-Qwen2.5-7B-tp1}
 * @param model the base model as requests name it
 */
public record Deployment(String engine, String model) {}

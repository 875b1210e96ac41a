package io.kvasir.routing.cost;

/**
 * A model on an engine: what coefficients are learnt for.
 *
 * @param engine name of the latency coefficients to begin with, such as {@code h100-Qwen2.5-7B-tp1}
 * @param model the base model as requests name it
 */
public record Deployment(String engine, String model) {}

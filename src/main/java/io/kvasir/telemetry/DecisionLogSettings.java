package io.kvasir.telemetry;

import org.jspecify.annotations.Nullable;

/**
 * The settings of the decision log.
 *
 * @param file null for none: the last decisions are kept in memory all the same
 * @param sample share of requests whose decisions are recorded, 0 to 1
 * @param recent decisions kept in memory, at least 1
 */
public record DecisionLogSettings(@Nullable LogFileSettings file, double sample, int recent) {}

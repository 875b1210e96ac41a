package io.kvasir.telemetry;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the decision log.
 *
 * @param path the file, null for none: the last decisions are kept in memory all the same
 * @param sample share of requests whose decisions are recorded, 0 to 1
 * @param maxBytes when the file is longer than this it becomes {@code path.1}, that {@code path.2} and so on; above 0
 * @param keep how many of those are kept, at least 0
 * @param recent decisions kept in memory, at least 1
 */
public record DecisionLogSettings(@Nullable Path path, double sample, long maxBytes, int keep, int recent) {}

package io.kvasir.telemetry;

import java.nio.file.Path;

/**
 * The file of a log.
 *
 * @param path where it is; its directory is made when it is missing
 * @param maxBytes when the file is longer than this it becomes {@code path.1}, that {@code path.2} and so on; above 0
 * @param keep how many of those are kept, at least 0
 */
public record LogFileSettings(Path path, long maxBytes, int keep) {}

package io.kvasir.doctor.exam;

import org.jspecify.annotations.Nullable;

/**
 * The events of one rank that come otherwise than by a ZMQ socket of the engine's.
 *
 * @param kind as configurations name it, {@code nats}, {@code redis} or {@code grpc}; {@code zmq} where the engine
 *     dials
 * @param rank data-parallel rank, from 0
 * @param place what is read, and where
 * @param failure the step that does not work, null when all do
 * @param kept how many messages were there before, -1 when that is not known
 * @param seen what came
 */
public record FeedExam(
    String kind, int rank, String place, @Nullable String failure, long kept, EventsSeen seen) {}

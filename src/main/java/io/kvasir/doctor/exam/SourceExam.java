package io.kvasir.doctor.exam;

import org.jspecify.annotations.Nullable;

/**
 * The ZMQ events of one rank.
 *
 * @param rank data-parallel rank, from 0
 * @param endpoint where its PUB socket is expected
 * @param topic the prefix of the topic that the router subscribes to
 * @param socket what listens there
 * @param seen what came
 * @param replay null when none is configured
 * @param snapshot null when none is to be asked for
 */
public record SourceExam(
    int rank, String endpoint, String topic, PeerSocket socket, EventsSeen seen, @Nullable ReplayExam replay,
    @Nullable SnapshotExam snapshot) {}

package io.kvasir.doctor.exam;

/**
 * What an engine answered when a rank was asked for a snapshot.
 *
 * @param endpoint where it was asked
 * @param answered whether anything came
 * @param known whether that was the beginning of a snapshot
 */
public record SnapshotExam(String endpoint, boolean answered, boolean known) {}

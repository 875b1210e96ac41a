package io.kvasir.cell.view;

import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.worker.Member;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The counters of single workers and pods. Fleets that grow and shrink have ever new ones, so those of what is gone for
 * long are {@linkplain #removeStale dropped}. One per node; thread-safe.
 */
public final class WorkerCounters {
  private static final String COMPLETED = "completed";

  private final Counter outcomes;
  private final Counter hitPredictions;
  private final Counter expectedTokens;
  private final Counter hintedChunks;
  private final Counter pulledTokens;
  private final Counter resyncs;
  private final Counter healthChanges;
  private final Counter reports;
  private final Counter streamFailures;
  private final List<Counter> ofWorkers;

  /** Workers and pods that were missing when that was looked at last. */
  private Set<String> missingBefore = Set.of();

  /** Registers the counters. */
  WorkerCounters(Metrics metrics) {
    outcomes =
        metrics.counter(
            "kvasir_worker_requests_total",
            "Requests that ended on a worker, by how: unknown_model when it answered that it does not serve a model"
                + " that it was said to have.",
            "worker", "outcome");
    hitPredictions =
        metrics.counter(
            "kvasir_worker_promises_total",
            "Answers that reported how much was cached of a prompt with a predicted hit: kept,"
                + " broken when too much of it was not, or overtaken when the engine evicted it while the prompt"
                + " waited.",
            "worker", "result");
    expectedTokens =
        metrics.counter(
            "kvasir_worker_promised_tokens_total",
            "Tokens that were predicted to be cached, in answers that reported it: found there, or missing.",
            "worker", "result");
    hintedChunks =
        metrics.counter(
            "kvasir_worker_hinted_chunks_total",
            "Chunks that a cache beside the engine had reported as stored (LMCache, which reports no removals), in"
                + " answers that showed what became of them: found, or missing.",
            "worker", "result");
    pulledTokens =
        metrics.counter(
            "kvasir_worker_pulled_tokens_total",
            "Tokens that a worker was to take from another one's memory, in answers that reported what was cached:"
                + " found there, or missing and computed.",
            "worker", "result");
    resyncs =
        metrics.counter(
            "kvasir_worker_resyncs_total",
            "Times a worker's index was dropped and read again, because its answers proved it wrong.",
            "worker");
    healthChanges =
        metrics.counter(
            "kvasir_worker_health_changes_total",
            "Times a worker became healthy, unhealthy (not reached, or its circuit open) or wedged.",
            "worker", "health");
    reports =
        metrics.counter(
            "kvasir_engine_reports_total",
            "Polls of pods for their engines' own load reports: read, or none because there was none.",
            "pod", "result");
    streamFailures =
        metrics.counter(
            "kvasir_worker_stream_failures_total",
            "Times a worker's event stream failed and was opened again.",
            "worker");
    ofWorkers =
        List.of(
            outcomes,
            hitPredictions,
            expectedTokens,
            hintedChunks,
            pulledTokens,
            resyncs,
            healthChanges,
            streamFailures);
  }

  /**
   * Drops what was counted of workers and pods that are gone, and were at the last call: between the two the last
   * requests of such a worker end and what they count is scraped. To be called every few minutes.
   *
   * @param workers the ids of those there are
   * @param pods the names of those there are
   */
  public synchronized void removeStale(Set<String> workers, Set<String> pods) {
    Set<String> missing = new HashSet<>();
    ofWorkers.forEach(counter -> removeStale(counter, workers, missing));
    removeStale(reports, pods, missing);
    missingBefore = missing;
  }

  private void removeStale(Counter counter, Set<String> known, Set<String> missing) {
    counter.removeIf(labels -> {
      String name = labels.getFirst();
      if (known.contains(name)) {
        return false;
      }
      missing.add(name);
      return missingBefore.contains(name);
    });
  }

  /** Answers of a worker that came whole, since the process started. */
  long answers(Member member) {
    return outcomes.labelValues(member.worker().id(), COMPLETED).getLongValue();
  }

  /** A request on a worker is over. */
  public void requestEnded(Member member, Outcome outcome) {
    String kind =
        switch (outcome) {
          case Outcome.Completed ignored -> COMPLETED;
          case Outcome.Cancelled ignored -> "cancelled";
          case Outcome.Preempted ignored -> "preempted";
          case Outcome.Refused ignored -> "refused";
          case Outcome.Failed failed -> failed.transport() ? "lost_contact" : "failed";
          case Outcome.UnknownModel ignored -> "unknown_model";
        };
    outcomes.labelValues(member.worker().id(), kind).inc();
  }

  /** An answer reported how many tokens of its prompt were cached, where {@code expected} had been predicted. */
  public void cacheHitsReported(Member member, int expected, int found, HitOutcome outcome) {
    String worker = member.worker().id();
    hitPredictions.labelValues(worker, outcome.name().toLowerCase(Locale.ROOT)).inc();
    expectedTokens.labelValues(worker, "found").inc(Math.min(expected, found));
    expectedTokens.labelValues(worker, "missing").inc(Math.max(0, expected - found));
  }

  /** An answer showed what a worker found of the tokens that it was to take from another one's memory. */
  public void pulled(Member member, int expected, int found) {
    pulledTokens.labelValues(member.worker().id(), "found").inc(found);
    pulledTokens.labelValues(member.worker().id(), "missing").inc(expected - found);
  }

  /** An answer showed what a cache beside the engine held of a prompt, of which it reports no removals. */
  public void hintsReported(Member member, ChunkHints.Findings findings) {
    hintedChunks.labelValues(member.worker().id(), "found").inc(findings.found());
    hintedChunks.labelValues(member.worker().id(), "missing").inc(findings.missing());
  }

  /** A worker's health has changed. */
  public void healthChanged(Member member, WorkerStatus.Health health) {
    healthChanges.labelValues(member.worker().id(), health.name().toLowerCase(Locale.ROOT)).inc();
  }

  /** A pod was polled for its engine's load report; {@code read} if there was one. */
  public void reported(String pod, boolean read) {
    reports.labelValues(pod, read ? "read" : "none").inc();
  }

  /** A worker's event stream failed. */
  public void streamFailed(Member member) {
    streamFailures.labelValues(member.worker().id()).inc();
  }

  /** What was known of a worker is dropped and its events are read again. */
  public void resynchronised(Member member) {
    resyncs.labelValues(member.worker().id()).inc();
  }
}

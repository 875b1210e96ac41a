package io.kvasir.cell.home;

import io.kvasir.cell.EngineReport;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.Reachability;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.events.EventFeed;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Monitors the health of a cell's members: probes pods, polls engines' own load reports, and logs and counts changes.
 * Owned by the cell's actor: answers come back on its turns.
 */
final class HealthMonitor {
  private final Members members;
  private final CellServices services;
  private final Executor actor;
  private final Logger log;
  private final ReportSchedule reports;
  private final Map<String, Long> probeDueNanos = new HashMap<>();
  private final Set<String> probing = new HashSet<>();

  /**
   * A monitor that does nothing until {@link #check}.
   *
   * @param turns runs what it is given on a turn of the cell's actor
   */
  HealthMonitor(Members members, CellServices services, Executor turns, Logger log) {
    this.members = members;
    this.services = services;
    this.actor = turns;
    this.log = log;
    this.reports = new ReportSchedule(services.settings().health().reports());
    members.onConnectionLost(() -> turns.execute(this::probe));
  }

  /** Checks all members, and probes those whose time has come. */
  void check(long now) {
    List<Member> all = members.all();
    for (Member member : all) {
      member.health().stallDetector().check(now, member.load().inFlight(), member.load().queueMs());
      WorkerHealth.State change = member.health().pollChange(now);
      if (change != null) {
        report(member, change);
      }
    }
    probe();
    reports.expire(all, now);
    for (Member member : reports.due(all, now)) {
      String pod = member.pod().name();
      services
          .probe()
          .reports(member.worker().url())
          .whenComplete((figures, _) -> actor.execute(() -> onReports(pod, figures)));
    }
  }

  /** A member has left the cell. */
  void memberRemoved(Member member) {
    probeDueNanos.remove(member.pod().name());
  }

  /**
   * Handles the loss of a worker's event stream. A direct stream that breaks may mean that its engine died, so it takes
   * the worker out until the probe that is sent at once answers, unless no other worker could serve meanwhile. The loss
   * of a stream through a broker proves nothing about the engine.
   */
  void onStreamLost(Member member) {
    boolean direct = member.pod().events().stream().allMatch(EventFeed::direct);
    if (direct && members.all().stream().anyMatch(other -> other.serves(member) && other.isRoutable())) {
      member.health().reachability().onStreamLost(services.clock().nanos());
    }
    probeDueNanos.remove(member.pod().name());
    probe();
  }

  private void report(Member member, WorkerHealth.State state) {
    services.metrics().healthChanged(member, state.health());
    if (state.health() == WorkerStatus.Health.HEALTHY) {
      log.info("worker {} is healthy and gets requests", member.worker().id());
    } else {
      log.warn(
          "worker {} gets no new requests: {} ({} in flight)",
          member.worker().id(), state.reason(), member.load().inFlight());
    }
  }

  /** Probes those pods whose time has come, or of which a probe was requested. */
  private void probe() {
    long now = services.clock().nanos();
    Set<String> visited = new HashSet<>();
    for (Member member : members.all()) {
      String pod = member.pod().name();
      if (!visited.add(pod) || probing.contains(pod)) {
        continue;
      }
      Reachability contact = member.health().reachability();
      Long due = probeDueNanos.get(pod);
      boolean requested = contact.pollProbeRequest();
      long soonest = now + services.settings().health().probeIntervalDown().toNanos();
      if (requested || due == null || now - due >= 0 || (!contact.isReachable() && due - soonest > 0)) {
        probing.add(pod);
        services
            .probe()
            .probe(member.worker().url())
            .whenComplete(
                (answer, failure) -> actor.execute(() -> onProbe(member, answer != null && answer, failure, now)));
      }
    }
  }

  /**
   * Handles the result of a probe.
   *
   * @param well whether the pod answered with success
   * @param failure why it could not be probed, null when it could
   * @param sentNanos when the probe was sent
   */
  private void onProbe(Member member, boolean well, @Nullable Throwable failure, long sentNanos) {
    String pod = member.pod().name();
    probing.remove(pod);
    Reachability contact = member.health().reachability();
    if (failure == null) {
      contact.onProbe(well, sentNanos);
    } else {
      contact.onConnectionLost(sentNanos, "a probe could not reach it: " + failure.getMessage());
    }
    Duration interval =
        contact.isReachable()
            ? services.settings().health().probeInterval()
            : services.settings().health().probeIntervalDown();
    probeDueNanos.put(pod, services.clock().nanos() + interval.toNanos());
  }

  private void onReports(String pod, @Nullable Map<Integer, EngineReport> figures) {
    boolean read = reports.onReports(pod, figures, members.all(), services.clock().nanos());
    services.metrics().reported(pod, read);
  }
}

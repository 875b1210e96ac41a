package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HealthChange;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.Reachability;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.events.EventFeed;
import java.net.ConnectException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Monitors the health of a cell's members: probes pods, polls engines' own load reports, sends {@link Canaries} to
 * those that stand still, and logs and counts changes. Owned by the cell's actor: answers come back on its turns.
 */
final class HealthMonitor {
  /** A cell that has had no answer for so long, nor has any request, is quiet. */
  private static final long QUIET_NANOS = 5_000_000_000L;

  private final Members members;
  private final CellServices services;
  private final Executor actor;
  private final Consumer<Member> onProcessGone;
  private final Logger log;
  private final ReportSchedule reports;
  private final Canaries canaries;
  private final Map<String, Long> probeDueNanos = new HashMap<>();
  private final Set<String> probing = new HashSet<>();
  /** Pods whose processes are gone, as the latest probes say. */
  private final Set<String> gone = new HashSet<>();

  private List<Member> listed = List.of();

  /** The first of each pod's members among those listed. */
  private List<Member> firstOfEachPod = List.of();

  /**
   * A monitor that does nothing until {@link #check}.
   *
   * @param turns runs what it is given on a turn of the cell's actor
   * @param processGone runs once for each member whose process is gone, on a turn of the actor
   */
  HealthMonitor(
      Members members, CellServices services, Executor turns, Consumer<Member> processGone, Logger log) {
    this.members = members;
    this.services = services;
    this.actor = turns;
    this.onProcessGone = processGone;
    this.log = log;
    this.reports = new ReportSchedule(services.settings().health().reports());
    this.canaries = new Canaries(services, turns, log);
    members.onConnectionLost(() -> turns.execute(this::probe));
  }

  /** Checks all members, and probes those whose time has come. */
  void check(long now) {
    List<Member> all = members.all();
    boolean quiet = true;
    for (Member member : all) {
      quiet &= member.load().inFlight() == 0 && member.health().stallDetector().silence(now) >= QUIET_NANOS;
      member.health().stallDetector().check(now, member.load().inFlight(), member.load().queueMs());
      canaries.check(member, now);
      WorkerHealth.State change = member.health().pollChange(now);
      if (change != null) {
        report(member, change);
      }
    }
    probe();
    reports.expire(all, now, quiet);
    reports.due(pods(), now, quiet).forEach(this::poll);
  }

  /** One member of each pod. */
  @SuppressWarnings("ReferenceEquality") // The list is replaced, never changed.
  private List<Member> pods() {
    List<Member> all = members.all();
    if (all != listed) {
      Map<String, Member> byPod = new LinkedHashMap<>();
      all.forEach(member -> byPod.putIfAbsent(member.pod().name(), member));
      listed = all;
      firstOfEachPod = List.copyOf(byPod.values());
    }
    return firstOfEachPod;
  }

  /** A member has left the cell. */
  void memberRemoved(Member member) {
    probeDueNanos.remove(member.pod().name());
    gone.remove(member.pod().name());
    canaries.memberRemoved(member);
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

  /** A member's pod is described anew: part of its history, as what was known of it may be dropped with that. */
  void described(Member member, PodSpec now) {
    String changes = member.pod().changesTo(now);
    if (!changes.isEmpty()) {
      services.views().healthLog().add(
          new HealthChange(
              System.currentTimeMillis(), member.worker().id(), member.worker().pod(), member.healthState().health(),
              "is another: " + changes));
    }
  }

  private void report(Member member, WorkerHealth.State state) {
    services.metrics().workers().healthChanged(member, state.health());
    services.views().healthLog().add(
        new HealthChange(
            System.currentTimeMillis(), member.worker().id(), member.worker().pod(), state.health(), state.reason()));
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
    for (Member member : pods()) {
      String pod = member.pod().name();
      if (probing.contains(pod)) {
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
   * Handles the result of a probe; that of a pod which has left meanwhile says nothing of a next one of its name.
   *
   * @param well whether the pod answered with success
   * @param failure why it could not be probed, null when it could
   * @param sentNanos when the probe was sent
   */
  private void onProbe(Member member, boolean well, @Nullable Throwable failure, long sentNanos) {
    String pod = member.pod().name();
    probing.remove(pod);
    if (!members.all().contains(member)) {
      return;
    }
    Reachability contact = member.health().reachability();
    boolean wasReachable = contact.isReachable();
    if (failure == null) {
      gone.remove(pod);
      contact.onProbe(well, sentNanos);
    } else {
      if (isRefused(failure) && gone.add(pod)) {
        for (Member ofPod : members.all().stream().filter(each -> each.pod().name().equals(pod)).toList()) {
          ofPod.health().onProcessEnded(services.clock().nanos());
          onProcessGone.accept(ofPod);
        }
      }
      contact.onConnectionLost(sentNanos, "a probe could not reach it: " + failure.getMessage());
    }
    probeDueNanos.put(pod, services.clock().nanos() + pauseNanos(wasReachable, contact.isReachable()));
  }

  private static boolean isRefused(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof ConnectException) {
        return true;
      }
    }
    return false;
  }

  /** Pods that came together, as at the start, are probed at random times from then on, lest they load it in bursts. */
  private long pauseNanos(boolean wasReachable, boolean isReachable) {
    HealthSettings settings = services.settings().health();
    if (!isReachable) {
      return settings.probeIntervalDown().toNanos();
    }
    long interval = settings.probeInterval().toNanos();
    return wasReachable ? interval : (long) (interval * ThreadLocalRandom.current().nextDouble());
  }

  private void poll(Member member) {
    String pod = member.pod().name();
    services
        .probe()
        .reports(member.worker().url())
        .whenComplete((figures, _) -> actor.execute(() -> onReports(pod, figures)));
  }

  private void onReports(String pod, @Nullable Map<Integer, EngineReport> figures) {
    boolean read = reports.onReports(pod, figures, members.all(), services.clock().nanos());
    services.metrics().workers().reported(pod, read);
    Member next = reports.next();
    if (next != null) {
      poll(next);
    }
  }
}

package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings.ReportSettings;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.worker.Member;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The schedule for polling pods for their engines' own load reports: each about once an interval, spread over it so
 * that a large fleet's answers do not come together, and a few at a time. A pod without any is polled less and less
 * often. Owned by the cell's actor; time comes in, in nanoseconds.
 */
final class ReportSchedule {
  /** Most polls at the same time: an answer may be some 100 KB. */
  private static final int MAX_IN_FLIGHT = 16;

  /** Longest pause in intervals; a pod's pause doubles with each failure. */
  private static final int MAX_PAUSE = 64;

  private final ReportSettings settings;
  private final Map<String, PodSchedule> pods = new HashMap<>();
  private int inFlight;

  private static final class PodSchedule {
    private long dueNanos;
    private boolean inFlight;
    private int pause = 1;
    private long reportedNanos;
    private boolean reported;
  }

  ReportSchedule(ReportSettings settings) {
    this.settings = settings;
  }

  /** One member of each pod that is to be polled now, the longest overdue first; their polls count as in flight. */
  List<Member> due(List<Member> members, long now) {
    if (!settings.on()) {
      return List.of();
    }
    Map<String, Member> byPod = new HashMap<>();
    members.forEach(member -> byPod.putIfAbsent(member.pod().name(), member));
    pods.keySet().retainAll(byPod.keySet());
    List<Member> due = new ArrayList<>();
    byPod.forEach((name, member) -> {
      PodSchedule pod = pods.computeIfAbsent(name, _ -> first(now));
      if (!pod.inFlight && now - pod.dueNanos >= 0) {
        due.add(member);
      }
    });
    due.sort(Comparator.comparingLong(member -> state(member).dueNanos - now));
    List<Member> polled = due.subList(0, Math.clamp(MAX_IN_FLIGHT - inFlight, 0, due.size()));
    polled.forEach(member -> state(member).inFlight = true);
    inFlight += polled.size();
    return polled;
  }

  /**
   * Handles a pod's load reports.
   *
   * @param answer by rank, null when it did not answer
   * @return whether there was a report in it
   */
  boolean onReports(String name, @Nullable Map<Integer, EngineReport> answer, List<Member> members, long now) {
    inFlight--;
    Map<Integer, EngineReport> reports = answer == null ? Map.of() : answer;
    boolean good = !reports.isEmpty();
    PodSchedule pod = pods.get(name);
    if (pod == null) {
      return good;
    }
    pod.inFlight = false;
    pod.pause = good ? 1 : Math.min(MAX_PAUSE, 2 * pod.pause);
    pod.dueNanos = now + pod.pause * jittered();
    if (good) {
      pod.reported = true;
      pod.reportedNanos = now;
      for (Member member : members) {
        if (member.worker().pod().equals(name)) {
          member.report(of(member, reports));
        }
      }
    }
    return good;
  }

  /** Forgets reports that are too old to be used. */
  void expire(List<Member> members, long now) {
    Set<String> stale = new HashSet<>();
    pods.forEach((name, pod) -> {
      if (pod.reported && now - pod.reportedNanos >= settings.stale().toNanos()) {
        pod.reported = false;
        stale.add(name);
      }
    });
    if (!stale.isEmpty()) {
      members.stream()
          .filter(member -> stale.contains(member.worker().pod()))
          .forEach(member -> member.report(EngineReport.NONE));
    }
  }

  /** The only rank's report is the whole pod's, whatever number the engine gives it. */
  private static EngineReport of(Member member, Map<Integer, EngineReport> reports) {
    return member.worker().ranks() == 1
        ? reports.values().stream().reduce(EngineReport.NONE, EngineReport::and)
        : reports.getOrDefault(member.worker().rank(), EngineReport.NONE);
  }

  private PodSchedule state(Member member) {
    PodSchedule pod = pods.get(member.pod().name());
    if (pod == null) {
      throw new IllegalStateException("pod " + member.pod().name() + " is not scheduled");
    }
    return pod;
  }

  /** A pod's schedule that begins at a random time within the first interval. */
  private PodSchedule first(long now) {
    PodSchedule pod = new PodSchedule();
    pod.dueNanos = now + ThreadLocalRandom.current().nextLong(settings.interval().toNanos());
    return pod;
  }

  private long jittered() {
    return (long) (settings.interval().toNanos() * ThreadLocalRandom.current().nextDouble(0.9, 1.1));
  }
}

package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings.ReportSettings;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.worker.Member;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The schedule for polling pods for their engines' own load reports: each about once an interval, spread over it so
 * that a large fleet's answers do not come together, and a few at a time. A pod without any is polled less and less
 * often. While the cell has no requests nothing reads the reports: they are polled seldom, and count until the next
 * poll. Those older than an interval are polled as soon as there are requests again. Owned by the cell's actor; time
 * comes in, in nanoseconds.
 */
final class ReportSchedule {
  /** Most polls at the same time: an answer may be some 100 KB. */
  private static final int MAX_IN_FLIGHT = 16;

  /** Longest pause in intervals; a pod's pause doubles with each failure. */
  private static final int MAX_PAUSE = 64;

  /** The pause of a quiet cell, in times after which reports of another one are stale. */
  private static final int QUIET_PAUSE = 3;

  /** Pauses are up to a tenth longer or shorter, lest pods stay together. */
  private static final double JITTER = 0.1;

  private final ReportSettings settings;
  private final double quietIntervals;
  private final long longestQuietNanos;
  private final Map<String, PodSchedule> pods = new HashMap<>();

  /** Pods that are to be polled when an answer of another one has come, the longest overdue first. */
  private final ArrayDeque<Member> waiting = new ArrayDeque<>();

  private int inFlight;

  private static final class PodSchedule {
    private long polledNanos;
    private double pauseNanos;
    private boolean inFlight;
    private int pause = 1;
    private long reportedNanos;
    /** From when on the report ages. */
    private long freshNanos;
    private boolean reported;

    /** Nanoseconds since it was to be polled; negative before. */
    double overdue(long now, double intervals) {
      return now - polledNanos - intervals * pauseNanos;
    }
  }

  ReportSchedule(ReportSettings settings) {
    this.settings = settings;
    this.quietIntervals = (double) QUIET_PAUSE * settings.stale().toNanos() / settings.interval().toNanos();
    this.longestQuietNanos = (long) (QUIET_PAUSE * (1 + JITTER) * settings.stale().toNanos());
  }

  /**
   * Those members whose pods are to be polled now, the longest overdue first; their polls count as in flight.
   *
   * @param members one of each pod
   * @param quiet whether the cell has no requests
   */
  List<Member> due(List<Member> members, long now, boolean quiet) {
    if (!settings.on()) {
      return List.of();
    }
    List<Member> due = new ArrayList<>();
    for (Member member : members) {
      PodSchedule pod = pods.get(member.pod().name());
      if (pod == null) {
        pod = first(now);
        pods.put(member.pod().name(), pod);
      }
      if (!pod.inFlight && pod.overdue(now, intervals(pod, quiet)) >= 0) {
        due.add(member);
      }
    }
    if (pods.size() > members.size()) {
      pods.keySet().retainAll(members.stream().map(member -> member.pod().name()).collect(Collectors.toSet()));
    }
    due.sort(Comparator.comparingDouble(member -> -state(member).overdue(now, intervals(state(member), quiet))));
    waiting.clear();
    waiting.addAll(due);
    List<Member> polled = new ArrayList<>();
    for (Member next = next(); next != null; next = next()) {
      polled.add(next);
    }
    return polled;
  }

  /** A member of another pod to be polled now that an answer has come; null when there is none, or too many are. */
  @Nullable Member next() {
    while (inFlight < MAX_IN_FLIGHT && !waiting.isEmpty()) {
      Member member = waiting.remove();
      PodSchedule pod = pods.get(member.pod().name());
      if (pod != null && !pod.inFlight) {
        pod.inFlight = true;
        inFlight++;
        return member;
      }
    }
    return null;
  }

  private double intervals(PodSchedule pod, boolean quiet) {
    return quiet && pod.reported ? quietIntervals : pod.pause;
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
    pod.polledNanos = now;
    pod.pauseNanos = settings.interval().toNanos() * ThreadLocalRandom.current().nextDouble(1 - JITTER, 1 + JITTER);
    if (good) {
      pod.reported = true;
      pod.reportedNanos = now;
      pod.freshNanos = now;
      for (Member member : members) {
        if (member.worker().pod().equals(name)) {
          member.report(of(member, reports));
        }
      }
    }
    return good;
  }

  /**
   * Forgets reports that are too old to be used. Until the next poll of a quiet cell they do not age.
   *
   * @param quiet whether the cell has no requests
   */
  void expire(List<Member> members, long now, boolean quiet) {
    Set<String> stale = new HashSet<>();
    pods.forEach((name, pod) -> {
      if (!pod.reported) {
        return;
      }
      if (quiet) {
        pod.freshNanos = pod.reportedNanos + Math.min(now - pod.reportedNanos, longestQuietNanos);
      }
      if (now - pod.freshNanos >= settings.stale().toNanos()) {
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
    pod.polledNanos = now;
    pod.pauseNanos = ThreadLocalRandom.current().nextDouble() * settings.interval().toNanos();
    return pod;
  }
}

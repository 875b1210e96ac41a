package io.kvasir.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How a run served its tenants and its programs: conversations, agents' sessions.
 *
 * @param tenants each tenant's goodput, in the order of their first requests; none where the trace names none
 * @param byTenant how even those are
 * @param byProgram how even the programs' are; requests that belong to none are left out
 */
public record Fairness(List<GroupGoodput> tenants, GoodputSpread byTenant, GoodputSpread byProgram) {
  /** Copies the list. */
  public Fairness {
    tenants = List.copyOf(tenants);
  }

  /** Collects the outcomes of a run's requests by the groups they belong to. */
  static final class Collector {
    private final Map<String, Group> tenants = new LinkedHashMap<>();
    private final Map<String, Group> programs = new LinkedHashMap<>();

    /**
     * Adds a request.
     *
     * @param good whether it met the objective
     * @param ttftMs its time to first token, NaN when it was not answered
     */
    void add(LabRequest request, boolean good, double ttftMs) {
      if (!request.tenant().isEmpty()) {
        tenants.computeIfAbsent(request.tenant(), _ -> new Group()).add(good, ttftMs);
      }
      if (!request.session().isEmpty()) {
        programs.computeIfAbsent(request.session(), _ -> new Group()).add(good, ttftMs);
      }
    }

    Fairness fairness() {
      List<GroupGoodput> each = goodputs(tenants);
      return new Fairness(each, GoodputSpread.of(each), GoodputSpread.of(goodputs(programs)));
    }

    private static List<GroupGoodput> goodputs(Map<String, Group> groups) {
      List<GroupGoodput> goodputs = new ArrayList<>();
      groups.forEach((name, group) -> goodputs.add(group.goodput(name)));
      return goodputs;
    }
  }

  private static final class Group {
    private double[] ttftMs = new double[4];
    private int answered;
    private int requests;
    private int good;

    void add(boolean met, double ttft) {
      requests++;
      good += met ? 1 : 0;
      if (!Double.isNaN(ttft)) {
        ttftMs = answered == ttftMs.length ? Arrays.copyOf(ttftMs, 2 * answered) : ttftMs;
        ttftMs[answered++] = ttft;
      }
    }

    GroupGoodput goodput(String name) {
      return new GroupGoodput(name, requests, (double) good / requests, Latency.of(ttftMs, answered).p90());
    }
  }
}

package io.kvasir.gateway.admin.tenants;

import io.kvasir.gateway.traffic.TenantTraffic;
import io.kvasir.gateway.traffic.TenantTraffic.Figures;
import io.kvasir.limits.LimitStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The traffic of a tenant, or of all those that are not told apart, through one node or several. Immutable.
 *
 * @param figures its name among them
 * @param limits how much of its limits is used, as far as the nodes know; empty for tenants that are not told apart
 */
public record TenantReport(Figures figures, List<LimitUse> limits) {
  /** Tenants that a node tells the others of, one by one: some 30 kB. */
  static final int MOST_OF_NODE = 200;

  private static final Figures NONE = new Figures(null, 0, 0, TenantTraffic.Totals.NONE);

  private static final Comparator<TenantReport> MOST_FIRST =
      Comparator.comparingDouble((TenantReport each) -> each.figures.requestsPerSecond())
          .thenComparingLong(each -> each.figures.totals().promptTokens())
          .reversed();

  /**
   * How much of a limit is used.
   *
   * @param limit what it counts, as {@link io.kvasir.limits.Dimension#label} says it
   * @param windowMillis the time that it holds for, 0 for requests at a time
   * @param used by all nodes together, as far as one of them knows
   * @param of how much there is
   */
  public record LimitUse(String limit, long windowMillis, long used, long of) {
    /** Copies it. */
    @SuppressWarnings("NullAway") // a node of another version may have left it out
    public LimitUse {
      limit = limit == null ? "" : limit;
    }

    private static LimitUse of(LimitStatus.QuotaStatus status) {
      return new LimitUse(
          status.quota().dimension().label(),
          status.quota().windowMillis(),
          status.used(),
          status.quota().amount());
    }

    private boolean isOfSameLimit(LimitUse other) {
      return limit.equals(other.limit) && windowMillis == other.windowMillis;
    }
  }

  /** Copies them. */
  @SuppressWarnings("NullAway") // a node of another version may have left them out
  public TenantReport {
    figures = figures == null ? NONE : figures;
    limits = limits == null ? List.of() : List.copyOf(limits);
  }

  /**
   * What a node tells of its tenants.
   *
   * @param traffic of each of them
   * @param limits what it knows of limits
   */
  public static List<TenantReport> ofNode(Collection<Figures> traffic, Collection<LimitStatus> limits) {
    Map<String, LimitStatus> byName =
        limits.stream().collect(Collectors.toMap(LimitStatus::limit, Function.identity(), (one, _) -> one));
    return most(
        traffic.stream().map(each -> new TenantReport(each, uses(byName.get("tenant:" + each.tenant())))).toList(),
        MOST_OF_NODE);
  }

  /** The traffic through several nodes, of this many tenants one by one and of the others together. */
  static List<TenantReport> sums(Collection<List<TenantReport>> nodes, int most) {
    SequencedMap<@Nullable String, TenantReport> sums = new LinkedHashMap<>();
    nodes.stream().flatMap(List::stream)
        .forEach(report -> sums.merge(report.figures.tenant(), report, TenantReport::plus));
    return most(sums.values(), most);
  }

  /** Those with most traffic, the busiest first, and the sum of the others as the last. */
  private static List<TenantReport> most(Collection<TenantReport> all, int most) {
    List<TenantReport> named =
        all.stream().filter(each -> each.figures.tenant() != null).sorted(MOST_FIRST).toList();
    List<TenantReport> told = new ArrayList<>(named.subList(0, Math.min(most, named.size())));
    List<Figures> others =
        Stream.concat(named.stream().skip(most), all.stream().filter(each -> each.figures.tenant() == null))
            .map(TenantReport::figures)
            .toList();
    if (!others.isEmpty()) {
      told.add(new TenantReport(others.stream().reduce(NONE, Figures::plus), List.of()));
    }
    return told;
  }

  private static List<LimitUse> uses(@Nullable LimitStatus status) {
    return status == null ? List.of() : status.quotas().stream().map(LimitUse::of).toList();
  }

  /** The sum with the same tenant's traffic through other nodes. */
  private TenantReport plus(TenantReport other) {
    List<LimitUse> all = new ArrayList<>(limits);
    other.limits.forEach(theirs -> add(all, theirs));
    return new TenantReport(figures.plus(other.figures), all);
  }

  /** Nodes know what is used of one and the same limit: the one that knows of most has heard of it last, or waits. */
  private static void add(List<LimitUse> limits, LimitUse added) {
    for (int i = 0; i < limits.size(); i++) {
      if (limits.get(i).isOfSameLimit(added)) {
        limits.set(i, limits.get(i).used() >= added.used() ? limits.get(i) : added);
        return;
      }
    }
    limits.add(added);
  }
}

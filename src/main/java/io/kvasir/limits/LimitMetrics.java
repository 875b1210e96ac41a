package io.kvasir.limits;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.InstantSource;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What operators see of limits. Thread-safe. */
final class LimitMetrics {
  private static final Logger LOG = LoggerFactory.getLogger(LimitMetrics.class);
  private static final String OTHER = "other";

  private final PrometheusRegistry registry;
  private final int mostTenants;
  private final Set<String> tenants = ConcurrentHashMap.newKeySet();
  private final Counter refusals;
  private final Counter renewals;
  private final Counter unanswered;
  private final Gauge ownShares;

  /**
   * Registers the metrics.
   *
   * @param mostTenants how many tenants are told apart: the first that are refused
   */
  LimitMetrics(Metrics metrics, int mostTenants) {
    this.registry = metrics.registry();
    this.mostTenants = mostTenants;
    this.refusals = Counter.builder()
        .name("kvasir_limit_refusals_total")
        .help("Requests beyond a limit: limit is whose (key or tenant), shadow is true where they were answered all"
            + " the same")
        .labelNames("limit", "dimension", "tenant", "shadow")
        .register(registry);
    this.renewals = Counter.builder()
        .name("kvasir_limit_renewals_total")
        .help("Renewals of leases that this node has asked owners of limits for")
        .register(registry);
    this.unanswered = Counter.builder()
        .name("kvasir_limit_renewals_unanswered_total")
        .help("Renewals that an owner did not answer in time: the node's own share decided")
        .register(registry);
    this.ownShares = Gauge.builder()
        .name("kvasir_limit_own_shares")
        .help("Keys and tenants whose limits are kept by this node's own share now")
        .register(registry);
  }

  /** Shows what accounts hold and owe from now on. */
  void watch(Accounts accounts, InstantSource clock) {
    gauge("kvasir_limit_leased", "What this node has leased and not used, by dimension", accounts, Lease::available);
    gauge("kvasir_limit_debt", "What requests of all nodes used beyond what there was, by dimension", accounts,
        lease -> -lease.remaining(clock.millis()));
  }

  private void gauge(String name, String help, Accounts accounts, ToLongFunction<Lease> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("dimension")
        .callback(gauge -> {
          for (Dimension dimension : Dimension.values()) {
            long sum = accounts.all()
                .flatMap(account -> Stream.of(account.leases()))
                .filter(lease -> lease.quota().dimension() == dimension)
                .mapToLong(lease -> Math.max(0, value.applyAsLong(lease)))
                .sum();
            gauge.call((double) sum, dimension.label());
          }
        })
        .register(registry);
  }

  /** Counts and logs a refusal; returns whether it is to be carried out. */
  boolean refused(Account account, Refusal refusal, boolean shadow) {
    String tenant = account.tenant();
    if (!tenants.contains(tenant)) {
      tenant = tenants.size() < mostTenants && tenants.add(tenant) ? tenant : OTHER;
    }
    Quota quota = refusal.quota();
    refusals
        .labelValues(account.holder().label(), quota.dimension().label(), tenant, Boolean.toString(shadow))
        .inc();
    if (shadow) {
      LOG.info("a request would be refused: the {} limit of {} is {}, {} are used and {} requested",
          quota.dimension().label(), refusal.limit(), quota.amount(), refusal.used(), refusal.requested());
    }
    return !shadow;
  }

  void renewalStarted() {
    renewals.inc();
  }

  void renewalUnanswered() {
    unanswered.inc();
  }

  void ownShare(boolean begins) {
    if (begins) {
      ownShares.inc();
    } else {
      ownShares.dec();
    }
  }
}

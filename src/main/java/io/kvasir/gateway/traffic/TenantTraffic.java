package io.kvasir.gateway.traffic;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.Report;
import io.kvasir.time.NanoClock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The traffic of each tenant through this gateway. Beyond {@value #MOST} tenants the others are one, so that tokens
 * that name tenants make no memory. Thread-safe.
 */
public final class TenantTraffic {
  /** Tenants that are told apart. */
  static final int MOST = 1000;

  /** Tenants that metrics tell apart, the first that come. */
  static final int LABELLED = 100;

  /** The name of all tenants that are not told apart. */
  public static final String REST = "(all others)";

  private static final String ANONYMOUS = "(anonymous)";
  private static final int WINDOW_SECONDS = 10;

  private final Map<String, Account> accounts = new ConcurrentHashMap<>();
  private final AtomicInteger labelled = new AtomicInteger();
  private final NanoClock clock;
  private final Account others;

  /**
   * A tenant's traffic since the gateway started.
   *
   * @param tenant its name, empty for callers without a key; null for all tenants beyond those that are told apart
   * @param requestsPerSecond begun in the last seconds
   * @param inFlight being served now
   * @param totals since the gateway started
   */
  public record Figures(@Nullable String tenant, double requestsPerSecond, int inFlight, Totals totals) {
    /** Copies them. */
    @SuppressWarnings("NullAway") // a node of another version may have left them out
    public Figures {
      totals = totals == null ? Totals.NONE : totals;
    }

    /** The sum of these and others: the tenant's where both are, else that of tenants that are not told apart. */
    public Figures plus(Figures other) {
      return new Figures(
          Objects.equals(tenant, other.tenant) ? tenant : null,
          requestsPerSecond + other.requestsPerSecond,
          inFlight + other.inFlight,
          totals.plus(other.totals));
    }
  }

  /**
   * What a tenant has done since the gateway started.
   *
   * @param requests begun
   * @param refused answered with 429 or 503 by the router itself
   * @param promptTokens as engines counted them, as the others
   * @param cachedTokens of the prompts, those that engines had cached
   * @param outputTokens generated
   * @param streams that have had their first token
   * @param firstTokenSeconds how long they waited for it, together
   */
  public record Totals(
      long requests,
      long refused,
      long promptTokens,
      long cachedTokens,
      long outputTokens,
      long streams,
      double firstTokenSeconds) {
    /** Nothing done. */
    public static final Totals NONE = new Totals(0, 0, 0, 0, 0, 0, 0);

    private Totals plus(Totals other) {
      return new Totals(
          requests + other.requests,
          refused + other.refused,
          promptTokens + other.promptTokens,
          cachedTokens + other.cachedTokens,
          outputTokens + other.outputTokens,
          streams + other.streams,
          firstTokenSeconds + other.firstTokenSeconds);
    }
  }

  /** No traffic yet. */
  public TenantTraffic(NanoClock clock) {
    this.clock = clock;
    this.others = new Account(null, clock, false);
  }

  /** The account of a tenant; not for longer than a request. */
  public Account of(String tenant) {
    Account known = accounts.get(tenant);
    return known != null ? known
        : accounts.size() >= MOST ? others
        : accounts.computeIfAbsent(tenant, name -> new Account(name, clock, labelled.getAndIncrement() < LABELLED));
  }

  /** The figures of tenants by the name that metrics have for them, the same for all beyond those with one. */
  Map<String, Figures> byLabel() {
    Map<String, Figures> byLabel = new HashMap<>();
    Stream.concat(accounts.values().stream(), Stream.of(others))
        .filter(Account::isUsed)
        .forEach(account ->
            byLabel.merge(account.labelled ? nameOf(account.tenant) : REST, account.figures(), Figures::plus));
    return byLabel;
  }

  /** A tenant's name for people: it has one also without any. */
  public static String nameOf(@Nullable String tenant) {
    return tenant == null ? REST : tenant.isEmpty() ? ANONYMOUS : tenant;
  }

  /** The figures of every tenant that has sent anything, in no order. */
  public List<Figures> figures() {
    return Stream.concat(accounts.values().stream(), Stream.of(others))
        .filter(Account::isUsed)
        .map(Account::figures)
        .toList();
  }

  /** One tenant's counts. Thread-safe. */
  public static final class Account {
    private final @Nullable String tenant;
    private final NanoClock clock;
    private final boolean labelled;
    private final long[] begun = new long[WINDOW_SECONDS + 1];
    private final long[] second = new long[WINDOW_SECONDS + 1];
    private boolean used;
    private int inFlight;
    private long requests;
    private long streams;
    private long firstTokenNanos;
    private long refused;
    private long promptTokens;
    private long cachedTokens;
    private long outputTokens;

    private Account(@Nullable String tenant, NanoClock clock, boolean labelled) {
      this.tenant = tenant;
      this.labelled = labelled;
      this.clock = clock;
    }

    /** A request begins. */
    public synchronized void begin() {
      used = true;
      inFlight++;
      requests++;
      long now = TimeUnit.NANOSECONDS.toSeconds(clock.nanos());
      int at = Math.floorMod(now, begun.length);
      if (second[at] != now) {
        second[at] = now;
        begun[at] = 0;
      }
      begun[at]++;
    }

    /** A stream has its first token. */
    public synchronized void firstToken(long nanos) {
      streams++;
      firstTokenNanos += nanos;
    }

    /** A request ends that the router refused; {@code room} is whether for want of it. */
    public synchronized void endRefused(boolean room) {
      inFlight--;
      refused += room ? 1 : 0;
    }

    /** A request ends. */
    public synchronized void end(Report.TokenUsage usage) {
      inFlight--;
      promptTokens += usage.promptTokens() == Outcome.UNKNOWN ? 0 : usage.promptTokens();
      cachedTokens += usage.cachedTokens() == Outcome.UNKNOWN ? 0 : usage.cachedTokens();
      outputTokens += usage.outputTokens() == Outcome.UNKNOWN ? 0 : usage.outputTokens();
    }

    private synchronized boolean isUsed() {
      return used;
    }

    private synchronized Figures figures() {
      long now = TimeUnit.NANOSECONDS.toSeconds(clock.nanos());
      long recent = 0;
      for (int i = 0; i < begun.length; i++) {
        recent += second[i] < now && now - second[i] <= WINDOW_SECONDS ? begun[i] : 0;
      }
      return new Figures(
          tenant,
          (double) recent / WINDOW_SECONDS,
          inFlight,
          new Totals(
              requests, refused, promptTokens, cachedTokens, outputTokens, streams, firstTokenNanos / 1e9));
    }
  }
}

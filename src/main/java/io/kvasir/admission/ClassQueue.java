package io.kvasir.admission;

import java.util.EnumMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The requests of one class that wait: fair over tenants, within a tenant over programs, and within a program in the
 * order of arrival. Tenants and programs without requests are remembered as long as they have debts: up to {@value
 * #MAX_REMEMBERED} tenants, as many programs of one, and {@value #MAX_PROGRAMS} programs of all. Not thread-safe.
 *
 * @param <T> what waits
 */
final class ClassQueue<T> {
  static final int MAX_REMEMBERED = 4096;
  static final int MAX_PROGRAMS = 16_384;

  private final CreditRounds tenantRounds;
  private final int quantum;
  private final Map<String, Tenant<T>> tenants = new LinkedHashMap<>();
  private int programs;
  private int length;
  private int alone;
  private long bytes;
  private long tokens;
  private final Map<HoldReason, Integer> reasons = new EnumMap<>(HoldReason.class);

  private static final class Tenant<T> extends CreditRounds.Party {
    final CreditRounds programRounds;
    final Map<String, Program<T>> programs = new LinkedHashMap<>();
    int length;
    int alone;
    long tokens;

    /** When its latest request arrived; meaningless before the first. */
    long arrivalNanos;

    boolean hasCome;

    Tenant(CreditRounds rounds, int weight, int quantum) {
      super(rounds, weight);
      this.programRounds = new CreditRounds(quantum);
    }
  }

  private static final class Program<T> extends CreditRounds.Party {
    final NavigableSet<Waiting<T>> queue = new TreeSet<>();

    /** The round of attempts in which its first request is held. */
    long held = -1;

    int alone;

    Program(CreditRounds rounds) {
      super(rounds, 1);
    }
  }

  ClassQueue(int quantum) {
    this.quantum = quantum;
    this.tenantRounds = new CreditRounds(quantum);
  }

  int length() {
    return length;
  }

  /** Requests that wait for reasons of their own. */
  int alone() {
    return alone;
  }

  long bytes() {
    return bytes;
  }

  int lengthOf(String tenant) {
    Tenant<T> known = tenants.get(tenant);
    return known == null ? 0 : known.length;
  }

  /** Tenants that it remembers, waiting or not. */
  int remembered() {
    return tenants.size();
  }

  /** Programs that it remembers, waiting or not. */
  int rememberedPrograms() {
    return programs;
  }

  void add(Waiting<T> waiting) {
    Tenant<T> tenant = tenant(waiting.claim());
    program(tenant, waiting.claim()).queue.add(waiting);
    tenant.arrivalNanos =
        tenant.hasCome ? Math.max(tenant.arrivalNanos, waiting.arrivalNanos()) : waiting.arrivalNanos();
    tenant.hasCome = true;
    count(tenant, waiting, 1);
  }

  void remove(Waiting<T> waiting) {
    Tenant<T> tenant = tenant(waiting.claim());
    Program<T> program = program(tenant, waiting.claim());
    program.queue.remove(waiting);
    countAlone(tenant, program, waiting.isAlone() ? -1 : 0);
    count(tenant, waiting, -1);
  }

  private void count(Tenant<T> tenant, Waiting<T> waiting, int sign) {
    tenant.length += sign;
    tenant.tokens += sign * waiting.tokens();
    length += sign;
    bytes += sign * waiting.claim().bytes();
    tokens += sign * waiting.tokens();
    reasons.merge(waiting.reason(), sign, Integer::sum);
  }

  private void countAlone(Tenant<T> tenant, Program<T> program, int added) {
    alone += added;
    tenant.alone += added;
    program.alone += added;
  }

  /** Notes what a request waits for; returns whether that is something else than before. */
  boolean heldFor(Waiting<T> waiting, HoldReason reason) {
    HoldReason before = waiting.reason();
    if (before == reason) {
      return false;
    }
    reasons.merge(before, -1, Integer::sum);
    reasons.merge(reason, 1, Integer::sum);
    waiting.heldFor(reason);
    return true;
  }

  /** How many wait for what, by the reasons' names; those for which nobody waits are left out. */
  Map<String, Integer> reasons() {
    Map<String, Integer> all = new TreeMap<>();
    reasons.forEach((reason, count) -> {
      if (count > 0) {
        all.put(reason.label(), count);
      }
    });
    return all;
  }

  /** Charges a request's tenant and program. */
  void charge(Claim claim, double charged) {
    Tenant<T> tenant = tenant(claim);
    tenantRounds.charge(tenant, charged);
    tenant.programRounds.charge(program(tenant, claim), charged);
  }

  /** Passes over a request alone until a time, and counts its tokens no more: others do not wait for it. */
  void rest(Waiting<T> waiting, long untilNanos, long attempts) {
    Tenant<T> tenant = tenant(waiting.claim());
    countAlone(tenant, program(tenant, waiting.claim()), waiting.isAlone() ? 0 : 1);
    tenant.tokens -= waiting.tokens();
    tokens -= waiting.tokens();
    waiting.rest(untilNanos, attempts);
  }

  /** Passes over the program of a request for the rest of a round of attempts. */
  void hold(Waiting<T> waiting, long attempts) {
    Tenant<T> tenant = tenant(waiting.claim());
    Program<T> program = program(tenant, waiting.claim());
    countAlone(tenant, program, waiting.isAlone() ? -1 : 0);
    waiting.queueUp();
    program.held = attempts;
  }

  /** The request whose turn it is, but for those that are passed over; null when there is none. */
  @Nullable Waiting<T> next(long attempts, long nowNanos) {
    return tenantRounds.next(
        tenants.values(),
        tenant -> tenant.length > 0,
        tenant -> tenant.length > tenant.alone,
        tenant ->
            tenant.programRounds.next(
                tenant.programs.values(),
                program -> !program.queue.isEmpty(),
                program -> program.queue.size() > program.alone,
                program -> head(program, attempts, nowNanos)));
  }

  /**
   * The tenants that have come after a time and have not used up their shares, when a request's tenant has; otherwise
   * 0.
   */
  int rivals(Claim claim, long sinceNanos) {
    Tenant<T> own = tenants.get(claim.tenant());
    int rivals = 0;
    if (own != null && tenants.size() > 1 && tenantRounds.isSpent(own)) {
      for (Tenant<T> tenant : tenants.values()) {
        boolean present = tenant.hasCome && tenant.arrivalNanos - sinceNanos > 0;
        rivals += present && !tenantRounds.isSpent(tenant) ? 1 : 0;
      }
    }
    return rivals;
  }

  /** The request that has waited longest, but for those that are passed over. */
  @Nullable Waiting<T> oldest(long attempts, long nowNanos) {
    return oldest(program -> head(program, attempts, nowNanos));
  }

  /** The request that has waited longest. */
  @Nullable Waiting<T> oldest() {
    return oldest(program -> program.queue.isEmpty() ? null : program.queue.first());
  }

  private @Nullable Waiting<T> oldest(Function<Program<T>, @Nullable Waiting<T>> first) {
    Waiting<T> oldest = null;
    for (Tenant<T> tenant : tenants.values()) {
      if (tenant.length > 0) {
        for (Program<T> program : tenant.programs.values()) {
          Waiting<T> head = first.apply(program);
          oldest = head != null && (oldest == null || head.compareTo(oldest) < 0) ? head : oldest;
        }
      }
    }
    return oldest;
  }

  private static <T> @Nullable Waiting<T> head(Program<T> program, long attempts, long nowNanos) {
    if (program.held != attempts) {
      for (Waiting<T> waiting : program.queue) {
        if (!waiting.isResting(nowNanos, attempts)) {
          return waiting;
        }
      }
    }
    return null;
  }

  /** Has a look at each that waits. */
  void forEach(Consumer<Waiting<T>> look) {
    for (Tenant<T> tenant : tenants.values()) {
      if (tenant.length > 0) {
        tenant.programs.values().forEach(program -> program.queue.forEach(look));
      }
    }
  }

  /** Tokens of all that wait. */
  long tokens() {
    return tokens;
  }

  /**
   * Tokens that go before another request of a tenant: those of the tenant, and those of the others for their shares
   * meanwhile.
   */
  double tokensBefore(Claim claim) {
    Tenant<T> own = tenants.get(claim.tenant());
    double weights = own == null || own.length == 0 ? claim.weight() : 0;
    for (Tenant<T> tenant : tenants.values()) {
      weights += tenant.length > 0 ? tenant.weight() : 0;
    }
    double ofOwn = own == null ? 0 : own.tokens;
    double average = length == 0 ? 0 : (double) tokens / length;
    // Every other tenant has a turn before it, even if nothing of its own is before it.
    return Math.min((double) tokens, Math.max(ofOwn, average) * weights / claim.weight());
  }

  private Tenant<T> tenant(Claim claim) {
    Tenant<T> tenant = tenants.get(claim.tenant());
    if (tenant == null) {
      if (tenants.size() >= MAX_REMEMBERED) {
        forget(tenants, each -> each.length == 0, each -> isFresh(each));
        programs = countPrograms();
      }
      tenant = new Tenant<>(tenantRounds, claim.weight(), quantum);
      tenants.put(claim.tenant(), tenant);
    }
    tenant.weigh(claim.weight());
    return tenant;
  }

  private Program<T> program(Tenant<T> tenant, Claim claim) {
    String name = claim.program() == null ? "" : claim.program();
    Program<T> program = tenant.programs.get(name);
    if (program == null) {
      if (tenant.programs.size() >= MAX_REMEMBERED) {
        forget(tenant.programs, each -> each.queue.isEmpty(), each -> tenant.programRounds.isFull(each));
        programs = countPrograms();
      }
      if (programs >= MAX_PROGRAMS) {
        forgetPrograms();
      }
      programs++;
      program = new Program<>(tenant.programRounds);
      tenant.programs.put(name, program);
    }
    return program;
  }

  private int countPrograms() {
    return tenants.values().stream().mapToInt(each -> each.programs.size()).sum();
  }

  /** Makes room for an eighth of all, so that it is not looked for again soon: of those with debts, the eldest's. */
  private void forgetPrograms() {
    for (Tenant<T> tenant : tenants.values()) {
      tenant.programs.values().removeIf(each -> each.queue.isEmpty() && tenant.programRounds.isFull(each));
    }
    programs = countPrograms();
    for (Tenant<T> tenant : tenants.values()) {
      if (programs <= MAX_PROGRAMS / 8 * 7) {
        return;
      }
      programs -= tenant.programs.size();
      tenant.programs.values().removeIf(each -> each.queue.isEmpty());
      programs += tenant.programs.size();
    }
  }

  private boolean isFresh(Tenant<T> tenant) {
    return tenantRounds.isFull(tenant)
        && tenant.programs.values().stream().allMatch(tenant.programRounds::isFull);
  }

  /** Makes room for an eighth of all, as {@link #forgetPrograms}: those without debts go first, then the eldest. */
  private static <P> void forget(
      Map<String, P> all, Predicate<P> idle, Predicate<P> fresh) {
    all.values().removeIf(each -> idle.test(each) && fresh.test(each));
    Iterator<P> eldest = all.values().iterator();
    int tooMany = all.size() - MAX_REMEMBERED / 8 * 7;
    while (tooMany > 0 && eldest.hasNext()) {
      if (idle.test(eldest.next())) {
        eldest.remove();
        tooMany--;
      }
    }
  }
}

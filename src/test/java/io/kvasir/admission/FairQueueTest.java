package io.kvasir.admission;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionSettings.ClassSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The order of turns: against a plain implementation of the rules, and what follows from them. */
final class FairQueueTest {
  private static final int QUANTUM = AdmissionFixture.QUANTUM;

  private final FairQueue<String> queue = new FairQueue<>(AdmissionFixture.settings(UnaryOperator.identity()));

  /** The rules word by word: every account is refilled in every round, every request is looked at for every turn. */
  private static final class PlainQueue {
    private final List<Waiting<String>> all = new ArrayList<>();
    private final Map<List<String>, Double> credits = new HashMap<>();
    private final Map<List<String>, Integer> weights = new HashMap<>();
    private final Set<List<String>> held = new HashSet<>();
    private final Map<Waiting<String>, Long> resting = new HashMap<>();
    private long now;

    private static List<String> tenant(Claim claim) {
      return List.of(claim.serviceClass().label(), claim.tenant());
    }

    private static List<String> program(Claim claim) {
      return List.of(claim.serviceClass().label(), claim.tenant(), String.valueOf(claim.program()));
    }

    void add(Waiting<String> waiting) {
      know(waiting.claim());
      all.add(waiting);
    }

    private double credit(List<String> account) {
      return requireNonNull(credits.get(account));
    }

    private void know(Claim claim) {
      weights.put(tenant(claim), claim.weight());
      credits.putIfAbsent(tenant(claim), (double) QUANTUM * claim.weight());
      credits.putIfAbsent(program(claim), (double) QUANTUM);
    }

    void charge(Claim claim, double tokens) {
      know(claim);
      credits.merge(tenant(claim), -tokens, Double::sum);
      credits.merge(program(claim), -tokens, Double::sum);
    }

    void hold(Waiting<String> waiting) {
      held.add(program(waiting.claim()));
      resting.remove(waiting);
    }

    void rest(Waiting<String> waiting) {
      resting.put(waiting, now + FairQueue.REST_NANOS);
    }

    private boolean isReady(Waiting<String> one) {
      return !held.contains(program(one.claim())) && resting.getOrDefault(one, now) <= now;
    }

    @Nullable Waiting<String> next() {
      for (ServiceClass each : ServiceClass.values()) {
        List<Waiting<String>> ready =
            all.stream()
                .filter(one -> one.claim().serviceClass() == each && isReady(one))
                .toList();
        if (!ready.isEmpty()) {
          return next(ready);
        }
      }
      return null;
    }

    private Waiting<String> next(List<Waiting<String>> ready) {
      String serviceClass = ready.getFirst().claim().serviceClass().label();
      Map<List<String>, Waiting<String>> firsts = new HashMap<>();
      Set<List<String>> waiting = new HashSet<>();
      for (Waiting<String> one : all) {
        if (one.claim().serviceClass().label().equals(serviceClass) && !resting.containsKey(one)) {
          waiting.add(tenant(one.claim()));
        }
      }
      for (Waiting<String> one : ready) {
        firsts.computeIfAbsent(tenant(one.claim()), tenant -> firstOf(tenant, ready));
      }
      return turn(firsts, firsts.keySet().containsAll(waiting), () -> refill(serviceClass, null));
    }

    private Waiting<String> firstOf(List<String> tenant, List<Waiting<String>> ready) {
      Map<List<String>, Waiting<String>> firsts = new HashMap<>();
      Set<List<String>> waiting = new HashSet<>();
      for (Waiting<String> one : all) {
        if (tenant(one.claim()).equals(tenant) && !resting.containsKey(one)) {
          waiting.add(program(one.claim()));
        }
      }
      for (Waiting<String> one : ready) {
        if (tenant(one.claim()).equals(tenant)) {
          firsts.merge(program(one.claim()), one, (a, b) -> a.compareTo(b) < 0 ? a : b);
        }
      }
      return turn(firsts, firsts.keySet().containsAll(waiting), () -> refill(tenant.get(0), tenant.get(1)));
    }

    /** The turn of who has most credit; unless some are held, all get more when none has any. */
    private Waiting<String> turn(Map<List<String>, Waiting<String>> firsts, boolean all, Runnable refill) {
      while (all && firsts.keySet().stream().noneMatch(account -> credit(account) > 0)) {
        refill.run();
      }
      return firsts.entrySet().stream()
          .min(
              Comparator.<Map.Entry<List<String>, Waiting<String>>>comparingDouble(
                      entry -> -credit(entry.getKey()) / weights.getOrDefault(entry.getKey(), 1))
                  .thenComparing(Map.Entry::getValue))
          .orElseThrow()
          .getValue();
    }

    /** One round: of a class's tenants, or of a tenant's programs. */
    private void refill(String serviceClass, @Nullable String tenant) {
      credits.replaceAll(
          (account, credit) -> {
            boolean meant =
                account.get(0).equals(serviceClass)
                    && (tenant == null ? account.size() == 2 : account.size() == 3 && account.get(1).equals(tenant));
            double most = (double) QUANTUM * (account.size() == 2 ? requireNonNull(weights.get(account)) : 1);
            return meant ? Math.min(most, credit + most) : credit;
          });
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void order_isThatOfTheRules(long seed) {
    Random random = new Random(seed);
    PlainQueue plain = new PlainQueue();
    List<Waiting<String>> waiting = new ArrayList<>();
    for (int step = 0; step < 3_000; step++) {
      if (waiting.isEmpty() || random.nextInt(100) < 45) {
        Waiting<String> one = queue.add(anyClaim(random), random.nextInt(1_000), 1, "");
        plain.add(one);
        waiting.add(one);
      } else if (random.nextInt(10) == 0) {
        Waiting<String> left = waiting.remove(random.nextInt(waiting.size()));
        assertThat(queue.remove(left)).isTrue();
        assertThat(queue.remove(left)).isFalse();
        plain.all.remove(left);
      } else {
        queue.beginAttempts();
        plain.held.clear();
        plain.now += random.nextLong(FairQueue.REST_NANOS / 2);
        FairQueue.Turn<String> turn = queue.next(plain.now);
        assertThat(turn == null ? null : turn.waiting()).isSameAs(plain.next());
        for (int held = random.nextInt(3); turn != null && held > 0; held--) {
          if (random.nextBoolean()) {
            queue.rest(turn.waiting(), plain.now);
            plain.rest(turn.waiting());
          } else {
            queue.hold(turn.waiting());
            plain.hold(turn.waiting());
          }
          turn = queue.next(plain.now);
          assertThat(turn == null ? null : turn.waiting()).isSameAs(plain.next());
        }
        if (turn != null) {
          int tokens = 1 + random.nextInt(5 * QUANTUM);
          queue.remove(turn.waiting());
          queue.went(turn.waiting().claim(), tokens, 0);
          plain.all.remove(turn.waiting());
          plain.charge(turn.waiting().claim(), tokens);
          waiting.remove(turn.waiting());
          if (random.nextBoolean()) {
            queue.charge(turn.waiting().claim(), 300);
            plain.charge(turn.waiting().claim(), 300);
          }
        }
      }
      assertThat(queue.length()).isEqualTo(waiting.size());
    }
  }

  private static Claim anyClaim(Random random) {
    ServiceClass[] classes = ServiceClass.values();
    int tenant = random.nextInt(5);
    return new Claim(
        classes[1 + random.nextInt(2)], "tenant" + tenant, 1 + tenant % 3,
        random.nextInt(3) == 0 ? null : "program" + random.nextInt(4), 10, 0);
  }

  @Test
  void tenants_thatAllWait_getTheirSharesOfTokens() {
    Random random = new Random(11);
    Claim light = new Claim(ServiceClass.DEFAULT, "light", 1, null, 0, 0);
    Claim heavy = new Claim(ServiceClass.DEFAULT, "heavy", 3, null, 0, 0);
    for (int i = 0; i < 4_000; i++) {
      queue.add(heavy, i, 1, "");
      queue.add(light, 1_000_000 + i, 1, "");
    }
    Map<String, Long> used = new HashMap<>(Map.of("light", 0L, "heavy", 0L));
    int largest = 4 * QUANTUM;
    for (int i = 0; i < 3_000; i++) {
      Claim next = go(1 + random.nextInt(largest), used);
      assertThat(next).isNotNull();
      // DLPM's bound: nobody is further ahead than by its quantum and one request.
      double ahead = requireNonNull(used.get("light")) - requireNonNull(used.get("heavy")) / 3.0;
      assertThat(ahead).isBetween(-2.0 * (QUANTUM + largest), 2.0 * (QUANTUM + largest));
    }
  }

  @Test
  void programs_ofATenant_shareItsTurns() {
    for (int i = 0; i < 400; i++) {
      queue.add(AdmissionFixture.claim(ServiceClass.DEFAULT, "one", "many"), i, 1, "");
    }
    for (int i = 0; i < 20; i++) {
      queue.add(AdmissionFixture.claim(ServiceClass.DEFAULT, "one", "few"), 1_000, 1, "");
    }
    Map<String, Integer> went = new HashMap<>();
    for (int i = 0; i < 42; i++) {
      Waiting<String> next = take(500);
      went.merge(String.valueOf(next.claim().program()), 1, Integer::sum);
    }
    assertThat(went.get("few")).isBetween(18, 20);
  }

  @Test
  void tenant_thatComesBack_hasSavedNothing_butOwes() {
    Claim steady = AdmissionFixture.claim("steady");
    Claim guest = AdmissionFixture.claim("guest");
    for (int i = 0; i < 200; i++) {
      queue.add(steady, i, 1, "");
    }
    queue.charge(guest, 5 * QUANTUM);
    queue.add(guest, 0, 1, "");
    int before = 0;
    while (!take(QUANTUM).claim().equals(guest)) {
      before++;
    }
    assertThat(before).isEqualTo(5);
    for (int i = 0; i < 50; i++) {
      take(QUANTUM);
    }
    for (int i = 0; i < 10; i++) {
      queue.add(guest, 300 + i, 1, "");
    }
    Set<String> nextFour = new HashSet<>();
    for (int i = 0; i < 4; i++) {
      nextFour.add(take(QUANTUM).claim().tenant());
    }
    assertThat(nextFour).containsExactlyInAnyOrder("guest", "steady");
  }

  @Test
  void urgentClasses_goFirst_butNoneStarves() {
    FairQueue<String> strict =
        new FairQueue<>(
            AdmissionFixture.settings(
                wide ->
                    new ClassSettings(
                        wide.engineQueue(), wide.longestWait(), Duration.ofSeconds(10), wide.maxLength(),
                        wide.maxTenantLength(), wide.maxBytes(), 0)));
    Waiting<String> bulk = strict.add(AdmissionFixture.claim(ServiceClass.BULK, "a", null), 0, 1, "");
    Waiting<String> laterBulk = strict.add(AdmissionFixture.claim(ServiceClass.BULK, "a", null), 1, 1, "");
    Waiting<String> interactive =
        strict.add(AdmissionFixture.claim(ServiceClass.INTERACTIVE, "b", null), seconds(9), 1, "");
    assertThat(strict.next(seconds(9))).isEqualTo(new FairQueue.Turn<>(interactive, new Standing(false, 0)));
    assertThat(strict.next(seconds(10))).isEqualTo(new FairQueue.Turn<>(bulk, new Standing(true, 0)));
    strict.remove(bulk);
    strict.went(bulk.claim(), 1, seconds(10));
    assertThat(strict.next(seconds(11))).isEqualTo(new FairQueue.Turn<>(interactive, new Standing(false, 0)));
    assertThat(strict.next(seconds(20))).isEqualTo(new FairQueue.Turn<>(laterBulk, new Standing(true, 0)));
  }

  @Test
  void strangers_areForgotten() {
    ClassQueue<String> one = new ClassQueue<>(QUANTUM);
    for (int i = 0; i < 3 * ClassQueue.MAX_REMEMBERED; i++) {
      one.charge(AdmissionFixture.claim("tenant" + i), 10 * QUANTUM);
    }
    Waiting<String> waiting = new Waiting<>(AdmissionFixture.claim("tenant0"), 0, 0, 5, "");
    one.add(waiting);
    for (int i = 0; i < 2 * ClassQueue.MAX_REMEMBERED; i++) {
      one.charge(AdmissionFixture.claim("other" + i), 10 * QUANTUM);
    }
    assertThat(one.next(0, 0)).as("who waits is never forgotten").isSameAs(waiting);
    assertThat(one.remembered()).isLessThanOrEqualTo(ClassQueue.MAX_REMEMBERED);
  }

  @Test
  void programs_areBoundedOverAllTenants() {
    ClassQueue<String> one = new ClassQueue<>(QUANTUM);
    Claim claim = AdmissionFixture.claim(ServiceClass.DEFAULT, "first", "its");
    Waiting<String> waiting = new Waiting<>(claim, 0, 0, 1, "first");
    one.add(waiting);
    for (int i = 0; i < 2 * ClassQueue.MAX_PROGRAMS; i++) {
      one.charge(AdmissionFixture.claim(ServiceClass.DEFAULT, "t" + i % 100, "p" + i), 10 * QUANTUM);
      assertThat(one.rememberedPrograms()).isLessThanOrEqualTo(ClassQueue.MAX_PROGRAMS);
    }
    assertThat(one.rememberedPrograms()).isGreaterThan(ClassQueue.MAX_PROGRAMS / 2);
    assertThat(one.next(0, 0)).as("who waits is never forgotten").isSameAs(waiting);
    one.remove(waiting);
    assertThat(one.length()).isZero();
  }

  private static long seconds(int seconds) {
    return Duration.ofSeconds(seconds).toNanos();
  }

  private Waiting<String> take(int tokens) {
    queue.beginAttempts();
    FairQueue.Turn<String> turn = queue.next(0);
    queue.remove(requireNonNull(turn).waiting());
    queue.went(turn.waiting().claim(), tokens, 0);
    return turn.waiting();
  }

  private Claim go(int tokens, Map<String, Long> used) {
    Claim claim = take(tokens).claim();
    used.merge(claim.tenant(), (long) tokens, Long::sum);
    return claim;
  }
}

package io.kvasir.admission;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A room before workers with so many places, in simulated time: who finds one free, and how many are left empty. */
final class KeptPlacesTest {
  private final ManualClock clock = new ManualClock();
  private final AdmissionSettings settings = AdmissionFixture.settings(UnaryOperator.identity());
  private WaitingRoom room = room(settings);
  private final Gate gate = new KeptPlacesGate(settings);

  /** Those that run, the one that began first in front. */
  private final Deque<Request> running = new ArrayDeque<>();

  private final Map<String, Integer> waiting = new HashMap<>();
  private int places = 100;

  private final class Request implements Waiter {
    final Claim claim;
    final int tokens;
    boolean went;

    Request(String tenant, int tokens) {
      this.claim = AdmissionFixture.claim(tenant);
      this.tokens = tokens;
    }

    @Override
    public Attempt attempt(Standing standing) {
      int free = places - running.size() - 1;
      if (free < 0 || !(gate.check(claim, standing, new Prospect(1, 1, 0, true, places, free)) instanceof Verdict.Go)) {
        return new Attempt.Held(free < 0 ? HoldReason.FULL : HoldReason.KEPT);
      }
      running.add(this);
      waiting.merge(claim.tenant(), -1, Integer::sum);
      went = true;
      return new Attempt.Went(tokens, tokens);
    }

    @Override
    public void refused(AdmissionRefusal refusal) {
      throw new AssertionError("refused: " + refusal);
    }

    @Override
    public void dismissed() {
      throw new AssertionError("dismissed");
    }
  }

  private WaitingRoom room(AdmissionSettings its) {
    return new WaitingRoom(its, clock, () -> 0.5, new AdmissionMetrics(new Metrics(new PrometheusRegistry())));
  }

  private Request send(String tenant, int tokens) {
    Request request = new Request(tenant, tokens);
    waiting.merge(tenant, 1, Integer::sum);
    assertThat(room.add(request.claim, "m", tokens, tokens, request)).isNotNull();
    return request;
  }

  private void endOne() {
    clock.advance(Duration.ofMillis(10));
    running.poll();
    room.admit();
  }

  private void sendMany(String tenant) {
    for (int i = 0; i < 1_000; i++) {
      send(tenant, 100);
    }
    room.admit();
  }

  private void endSome(int answers) {
    for (int i = 0; i < answers; i++) {
      endOne();
    }
  }

  @Test
  void tenantThatUsesLittle_beginsAtOnce_besideOneThatWantsAll() {
    sendMany("heavy");
    send("light", 100);
    endSome(50);
    for (int i = 0; i < 50; i++) {
      Request light = send("light", 100);
      room.admit();
      assertThat(light.went).as("%d", i).isTrue();
      endSome(5);
    }
  }

  @Test
  void tenantAlone_hasAllPlaces() {
    sendMany("only");
    for (int i = 0; i < 200; i++) {
      endOne();
      assertThat(running).hasSize(places);
    }
  }

  @Test
  void tenantsThatAllWantMore_haveAllPlaces() {
    sendMany("one");
    sendMany("two");
    endSome(200);
    for (int i = 0; i < 200; i++) {
      endOne();
      assertThat(running).hasSize(places);
    }
  }

  @Test
  void placeIsKept_asLongAsTheTenantMightComeBack() {
    room =
        room(
            AdmissionFixture.settings(
                wide ->
                    new AdmissionSettings.ClassSettings(
                        wide.engineQueue(), Duration.ofSeconds(20), Duration.ofSeconds(20), 10_000, 10_000, 1 << 30,
                        0)));
    sendMany("heavy");
    send("light", 100);
    for (int second = 0; second < 30; second++) {
      for (int i = 0; i < 100; i++) {
        send("heavy", 100);
      }
      endSome(100);
      assertThat(running).as("after %d s", second + 1).hasSize(second < 19 ? places - 1 : places);
    }
  }

  /** What is kept is bounded by the share of places, and by the tenants that it is kept for. */
  @ParameterizedTest
  @CsvSource({"49,10,0", "50,10,1", "100,10,2", "100,1,1", "1000,3,3"})
  void kept_isBounded(int all, int light, int kept) {
    places = all;
    for (int i = 0; i < 20; i++) {
      sendMany("heavy");
    }
    for (int i = 0; i < light; i++) {
      send("light-" + i, 1);
    }
    endSome(3_000);
    assertThat(waiting.get("heavy")).isPositive();
    assertThat(running).hasSize(all - kept);
  }

  /** Nobody starves, and no more places are empty than the share, whoever sends how much. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void anyLoad_allGo_andTheBoundHolds(long seed) {
    Random random = new Random(seed);
    places = 1 + random.nextInt(200);
    List<Request> sent = new ArrayList<>();
    for (int step = 0; step < 3_000; step++) {
      String tenant = "tenant-" + (int) Math.abs(random.nextGaussian() * 3);
      if (random.nextInt(10) < 6) {
        sent.add(send(tenant, 1 + random.nextInt(3 * AdmissionFixture.QUANTUM)));
      }
      if (random.nextInt(10) < 4) {
        running.poll();
      }
      clock.advance(Duration.ofMillis(random.nextInt(300)));
      room.admit();
      boolean waits = waiting.values().stream().anyMatch(each -> each > 0);
      assertThat(waits ? places - running.size() : 0).isBetween(0, (int) (settings.keptPlaces() * places));
    }
    for (int i = sent.size(); i > 0; i--) {
      endOne();
    }
    assertThat(sent).allMatch(each -> each.went);
  }
}

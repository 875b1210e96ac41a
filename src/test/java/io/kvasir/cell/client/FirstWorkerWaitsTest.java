package io.kvasir.cell.client;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Decision.NoWorker;
import io.kvasir.cell.Decision.NoWorkerReason;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.time.ManualClock;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Requests for models without any worker. */
final class FirstWorkerWaitsTest {
  private static final NoWorker UNKNOWN = new NoWorker(NoWorkerReason.UNKNOWN_MODEL, "nobody serves it");
  private static final NoWorker UNHEALTHY = new NoWorker(NoWorkerReason.NONE_HEALTHY, "nobody who serves it is well");

  private final ManualClock clock = new ManualClock();
  private final FirstWorkerWaits waits =
      new FirstWorkerWaits(
          new FromZeroSettings(Set.of("m"), Duration.ofMinutes(1), 1), _ -> List.of(), clock);

  private static DecisionRequest request(String model) {
    return new DecisionRequest(
        "r", model, null, RequestShape.TEXT, new DecisionRequest.Prompt(new Chain(new long[] {1}, 16), 20),
        PreparedSlots.EMPTY, false, DecisionRequest.Constraints.NONE);
  }

  @Test
  void otherModels_areRefusedAtOnce() {
    assertThat(waits.decide(request("other"), () -> UNKNOWN, Cancellation.NONE)).isSameAs(UNKNOWN);
    NoWorker full = new NoWorker(NoWorkerReason.ALL_FULL, "it has workers");
    assertThat(waits.decide(request("m"), () -> full, Cancellation.NONE)).isSameAs(full);
  }

  @Test
  void waiting_isBounded_andEndsWithItsClient() throws Exception {
    AtomicInteger attempts = new AtomicInteger();
    CancellationSource client = new CancellationSource();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      CompletableFuture<Decision> first =
          CompletableFuture.supplyAsync(
              () -> waits.decide(
                  request("m"),
                  () -> {
                    attempts.incrementAndGet();
                    return UNKNOWN;
                  },
                  client),
              threads);
      await("it waits", () -> waits.backlog().size() == 1);
      assertThat(waits.backlog().getFirst()).satisfies(backlog -> {
        assertThat(backlog.model()).isEqualTo("m");
        assertThat(backlog.requests()).isEqualTo(1);
        assertThat(backlog.tokens()).isEqualTo(20);
      });
      assertThat(waits.decide(request("m"), () -> UNKNOWN, Cancellation.NONE))
          .isInstanceOfSatisfying(
              NoWorker.class, none -> assertThat(none.reason()).isEqualTo(NoWorkerReason.NOT_ADMITTED));
      client.cancel();
      assertThat(first.get(60, TimeUnit.SECONDS))
          .isInstanceOfSatisfying(
              NoWorker.class, none -> assertThat(none.reason()).isEqualTo(NoWorkerReason.STOPPING));
    }
    assertThat(attempts).as("nothing is tried while there is no worker").hasValue(1);
    assertThat(waits.backlog()).isEmpty();
  }

  /** It may wait for its turn at the cell from then on, which counts it. */
  @Test
  void requestThatIsDecided_doesNotCountAsOneThatWaits() {
    FirstWorkerWaits served = among(List.of(healthy(Role.BOTH)));
    List<Integer> waitingAtAttempts = new ArrayList<>();
    NoWorker full = new NoWorker(NoWorkerReason.ALL_FULL, "it has workers");
    Decision decision =
        served.decide(
            request("m"),
            () -> {
              waitingAtAttempts.add(served.backlog().size());
              return waitingAtAttempts.size() < 3 ? UNKNOWN : full;
            },
            Cancellation.NONE);
    assertThat(decision).isSameAs(full);
    assertThat(waitingAtAttempts).containsExactly(0, 0, 0);
  }

  @Test
  void prefillWorkerAlone_isNotEnough() {
    List<WorkerSummary> workers = new CopyOnWriteArrayList<>(List.of(healthy(Role.PREFILL)));
    AtomicInteger attempts = new AtomicInteger();
    NoWorker full = new NoWorker(NoWorkerReason.ALL_FULL, "it has workers");
    Decision decision =
        among(workers).decide(
            request("m"),
            () -> {
              if (attempts.incrementAndGet() == 3) {
                workers.add(healthy(Role.DECODE));
              }
              return attempts.get() < 4 ? UNHEALTHY : full;
            },
            Cancellation.NONE);
    assertThat(decision).isSameAs(full);
    assertThat(among(workers).decide(request("m"), () -> UNHEALTHY, Cancellation.NONE))
        .as("both are there, so the lack is the request's own")
        .isSameAs(UNHEALTHY);
  }

  /** A worker is known to this node before its cell's home has admitted it. */
  @Test
  void workerThatIsNotAdmittedYet_endsNoWait() {
    List<WorkerSummary> workers = new CopyOnWriteArrayList<>();
    AtomicInteger attempts = new AtomicInteger();
    NoWorker full = new NoWorker(NoWorkerReason.ALL_FULL, "it has workers");
    Decision decision =
        among(workers).decide(
            request("m"),
            () -> {
              workers.add(healthy(Role.BOTH));
              return attempts.incrementAndGet() == 1 ? UNKNOWN : attempts.get() < 4 ? UNHEALTHY : full;
            },
            Cancellation.NONE);
    assertThat(decision).isSameAs(full);
    assertThat(attempts).hasValue(4);
  }

  @Test
  void close_refusesThoseThatWait() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      CompletableFuture<Decision> first =
          CompletableFuture.supplyAsync(
              () -> waits.decide(request("m"), () -> UNKNOWN, Cancellation.NONE), threads);
      await("it waits", () -> waits.backlog().size() == 1);
      waits.close();
      assertThat(first.get(60, TimeUnit.SECONDS))
          .isInstanceOfSatisfying(
              NoWorker.class, none -> assertThat(none.reason()).isEqualTo(NoWorkerReason.STOPPING));
    }
    assertThat(waits.decide(request("m"), () -> UNKNOWN, Cancellation.NONE)).isSameAs(UNKNOWN);
  }

  private FirstWorkerWaits among(List<WorkerSummary> workers) {
    return new FirstWorkerWaits(
        new FromZeroSettings(Set.of("m"), Duration.ofMinutes(1), 1), _ -> workers, clock);
  }

  private static WorkerSummary healthy(Role role) {
    return new WorkerSummary(
        "w", "w", URI.create("http://w.test"), Set.of("m"), role, Map.of(), false, WorkerStatus.Health.HEALTHY, 0);
  }

  @Test
  void waitInVain_ends() {
    Decision decision =
        waits.decide(
            request("m"),
            () -> {
              clock.advance(Duration.ofSeconds(59));
              return UNKNOWN;
            },
            advancing());
    assertThat(decision)
        .isInstanceOfSatisfying(
            NoWorker.class, none -> {
              assertThat(none.reason()).isEqualTo(NoWorkerReason.NONE_HEALTHY);
              assertThat(none.detail()).contains("'m'", "60 s");
            });
  }

  /** Time passes whenever the wait looks for its client. */
  private Cancellation advancing() {
    return new Cancellation() {
      @Override
      public boolean isCancelled() {
        clock.advance(Duration.ofSeconds(59));
        return false;
      }

      @Override
      public Registration onCancelled(Runnable action) {
        return () -> {};
      }
    };
  }
}

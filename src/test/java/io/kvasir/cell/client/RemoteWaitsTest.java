package io.kvasir.cell.client;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.view.DecisionServer.TurnReply;
import io.kvasir.http.Cancellation;
import io.kvasir.time.NanoClock;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

final class RemoteWaitsTest {
  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void homeThatCannotBeAsked_isAskedAgain() {
    AtomicInteger asked = new AtomicInteger();
    RemoteWaits waits =
        new RemoteWaits(
            home(
                ids -> {
                  if (asked.getAndIncrement() == 0) {
                    throw new IllegalStateException("cannot be asked now");
                  }
                  return CompletableFuture.completedFuture(List.of(new TurnReply(ids.getFirst(), null)));
                },
                new ArrayList<>()),
            Duration.ofHours(1),
            NanoClock.SYSTEM);

    RemoteWaits.Result result = waits.await(7, Cancellation.NONE);

    assertThat(requireNonNull(result).reply()).as("it is to be sent again").isNull();
    assertThat(asked).hasValue(2);
  }

  /** The home takes a result out when it sends it; if that is lost, it does not know the request the next time. */
  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void whatWasBookedForALostResult_isGivenBack() {
    AtomicInteger asked = new AtomicInteger();
    List<Long> abandoned = new ArrayList<>();
    RemoteWaits waits =
        new RemoteWaits(
            home(
                ids ->
                    asked.getAndIncrement() == 0
                        ? CompletableFuture.failedFuture(new TimeoutException("the reply was lost"))
                        : CompletableFuture.completedFuture(List.of(new TurnReply(ids.getFirst(), null))),
                abandoned),
            Duration.ofHours(1),
            NanoClock.SYSTEM);

    RemoteWaits.Result result = waits.await(7, Cancellation.NONE);

    assertThat(requireNonNull(result).reply()).isNull();
    assertThat(abandoned).containsExactly(7L);
  }

  @Test
  @Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void whatWasBookedAtASilentHome_isGivenBack() {
    List<Long> abandoned = new ArrayList<>();
    RemoteWaits waits =
        new RemoteWaits(
            home(_ -> CompletableFuture.failedFuture(new TimeoutException("it is silent")), abandoned),
            Duration.ZERO,
            NanoClock.SYSTEM);

    RemoteWaits.Result result = waits.await(7, Cancellation.NONE);

    assertThat(requireNonNull(result).reply()).isNull();
    assertThat(abandoned).containsExactly(7L);
  }

  private interface Turns {
    CompletableFuture<List<TurnReply>> of(List<Long> ids);
  }

  @SuppressWarnings("unchecked")
  private static CellHome home(Turns turns, List<Long> abandoned) {
    return (CellHome)
        Proxy.newProxyInstance(
            CellHome.class.getClassLoader(),
            new Class<?>[] {CellHome.class},
            (_, method, arguments) ->
                switch (method.getName()) {
                  case "turns" -> turns.of((List<Long>) arguments[0]);
                  case "cell" -> "c";
                  case "abandon" -> {
                    abandoned.add((Long) arguments[0]);
                    yield null;
                  }
                  default -> throw new AssertionError(method + " is not called");
                });
  }
}

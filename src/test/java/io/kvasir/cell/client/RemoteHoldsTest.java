package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.view.DecisionServer.HoldReply;
import io.kvasir.time.NanoClock;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RemoteHoldsTest {
  private static final long ID = 7;
  private static final CompletableFuture<List<HoldReply>> HELD = CompletableFuture.completedFuture(List.of());
  private static final CompletableFuture<List<HoldReply>> LOST =
      CompletableFuture.failedFuture(new TimeoutException("it is lost"));

  private final Queue<CompletableFuture<List<HoldReply>>> replies = new ArrayDeque<>();

  private static CompletableFuture<List<HoldReply>> over(PrefixHold hold) {
    return CompletableFuture.completedFuture(List.of(new HoldReply(ID, hold)));
  }

  @Test
  void request_isHeldUntilItsHomeSaysThatItIsNot() {
    replies.addAll(List.of(HELD, HELD, over(PrefixHold.NONE)));
    assertThat(holds(Duration.ofHours(1)).await(ID, () -> false)).isEqualTo(PrefixHold.COMPUTED);
    assertThat(replies).isEmpty();
  }

  @Test
  void replyThatIsLost_isFetchedAgain() {
    replies.addAll(List.of(HELD, LOST, over(PrefixHold.OVERDUE)));
    assertThat(holds(Duration.ofHours(1)).await(ID, () -> false)).isEqualTo(PrefixHold.OVERDUE);
  }

  @Test
  void homeThatHasJustBecomeThat_holdsNobody() {
    replies.add(over(PrefixHold.UNKNOWN));
    assertThat(holds(Duration.ofHours(1)).await(ID, () -> false)).isEqualTo(PrefixHold.UNKNOWN);
  }

  @Test
  void homeThatIsSilent_holdsNobody() {
    replies.add(LOST);
    assertThat(holds(Duration.ZERO).await(ID, () -> false)).isEqualTo(PrefixHold.UNKNOWN);
  }

  @Test
  void requestThatIsNotToBeSentAnyMore_isNotHeld() throws InterruptedException {
    RemoteHolds holds = holds(Duration.ofHours(1));
    AtomicBoolean cancelled = new AtomicBoolean();
    CompletableFuture<PrefixHold> held = new CompletableFuture<>();
    Thread waiting = Thread.ofVirtual().start(() -> held.complete(holds.await(ID, cancelled::get)));
    assertThat(waiting.join(Duration.ofMillis(30))).as("it is not held any more").isFalse();
    cancelled.set(true);
    assertThat(held.join()).isEqualTo(PrefixHold.CANCELLED);
  }

  /** A client of a home that gives these replies in turn, and the last one again and again. */
  private RemoteHolds holds(Duration silence) {
    CellHome home =
        (CellHome)
            Proxy.newProxyInstance(
                CellHome.class.getClassLoader(),
                new Class<?>[] {CellHome.class},
                (_, method, _) ->
                    switch (method.getName()) {
                      case "holds" -> replies.isEmpty() ? HELD : replies.remove();
                      case "cell" -> "c";
                      default -> throw new AssertionError(method + " is not called");
                    });
    return new RemoteHolds(home, silence, NanoClock.SYSTEM);
  }
}

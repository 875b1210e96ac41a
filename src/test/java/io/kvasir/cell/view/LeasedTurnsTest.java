package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.Claim;
import io.kvasir.admission.HoldReason;
import io.kvasir.admission.RefusalReason;
import io.kvasir.admission.ServiceClass;
import io.kvasir.admission.Standing;
import io.kvasir.cell.Decision;
import io.kvasir.time.ManualClock;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class LeasedTurnsTest {
  private final ManualClock clock = new ManualClock();
  private final LeasedTurns turns = new LeasedTurns(clock);

  @Test
  void waitBehindManyResults_isKeptWhileItsNodeFetches() {
    List<Long> ids = LongStream.rangeClosed(1, 100).boxed().toList();
    for (long id : ids) {
      PendingDecision pending = pending();
      turns.add("node", id, pending);
      if (id < 100) {
        pending.refused(new AdmissionRefusal(RefusalReason.TIMEOUT, "knob", 2, 1, "ms", 1));
      }
    }
    int results = 0;
    for (List<LeasedTurns.Fetched> some = turns.fetch("node", ids); !some.isEmpty();
        some = turns.fetch("node", ids.subList(results, 100))) {
      assertThat(some).allMatch(fetched -> fetched.decision() instanceof Decision.NoWorker);
      results += some.size();
      clock.advance(Duration.ofSeconds(4));
      turns.expire();
    }
    assertThat(results).isEqualTo(99);
    assertThat(turns.fetch("node", List.of(100L))).as("it waits on").isEmpty();
    clock.advance(Duration.ofSeconds(5));
    turns.expire();
    assertThat(turns.fetch("node", List.of(100L)).getFirst().decision()).as("nobody fetched it").isNull();
  }

  private PendingDecision pending() {
    return new PendingDecision(
        new Claim(ServiceClass.DEFAULT, "", 1, null, 1, 0),
        HoldReason.TURN,
        new PendingDecision.Tries() {
          @Override
          public GateCheck check(Claim claim, Standing standing) {
            throw new AssertionError("not tried here");
          }

          @Override
          public @Nullable Decision decide(GateCheck check) {
            throw new AssertionError("not tried here");
          }
        },
        clock);
  }
}

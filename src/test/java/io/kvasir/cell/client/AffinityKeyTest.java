package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class AffinityKeyTest {
  private static final long[] PROMPT = LongStream.range(1000, 2000).toArray();

  @Test
  void session_winsOverPrompt() {
    assertThat(AffinityKey.of(request("s", 100))).isEqualTo(AffinityKey.of(request("s", 3)));
    assertThat(AffinityKey.of(request("s", 100))).isNotEqualTo(AffinityKey.of(request("t", 100)));
  }

  @Test
  void promptsOfMoreThanAThousandTokens_keepTheirKeyHoweverLongTheyGrow() {
    Set<Long> keys = new HashSet<>();
    for (int blocks = 64; blocks <= 1000; blocks++) {
      keys.add(AffinityKey.of(request("", blocks)));
    }
    assertThat(keys).containsExactly(PROMPT[63]);
  }

  @Test
  void shorterOnes_changeItOnlyWhenTheyDouble() {
    Set<Long> keys = new HashSet<>();
    for (int blocks = 8; blocks < 64; blocks++) {
      keys.add(AffinityKey.of(request("", blocks)));
    }
    assertThat(keys).containsExactlyInAnyOrder(PROMPT[7], PROMPT[15], PROMPT[31]);
  }

  private static DecisionRequest request(String session, int blocks) {
    return new DecisionRequest(
        "r", "m", null, RequestShape.INDIVISIBLE,
        new DecisionRequest.Prompt(new Chain(Arrays.copyOf(PROMPT, blocks), 16), blocks * 16),
        new PreparedSlots(Map.of("session-key", session), null, null), true, DecisionRequest.Constraints.NONE);
  }
}

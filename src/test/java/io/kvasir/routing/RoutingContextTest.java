package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

final class RoutingContextTest {
  @Test
  void get_whatWasPut_boxedOrNot() {
    RoutingContext context = Routing.request("m", Role.BOTH, Set.of());

    context.put(Slots.PROMPT_TOKENS, 5);
    context.put(Slots.SESSION_KEY, "s");

    assertThat(context.number(Slots.PROMPT_TOKENS)).isEqualTo(5);
    assertThat(context.get(Slots.PROMPT_TOKENS)).isEqualTo(5);
    assertThat(context.get(Slots.SESSION_KEY)).isEqualTo("s");
    assertThat(context.put(Slots.PROMPT_TOKENS, Long.valueOf(6)).number(Slots.PROMPT_TOKENS)).isEqualTo(6);
  }

  @Test
  void get_slotMadeAfterTheContext() {
    RoutingContext context = Routing.request("m", Role.BOTH, Set.of());
    Slot<String> late = Slot.of("late", String.class);

    assertThat(context.has(late)).isFalse();
    assertThat(context.put(late, "x").get(late)).isEqualTo("x");
  }

  @Test
  void get_emptySlot_saysWhich() {
    assertThatThrownBy(() -> Routing.request("m", Role.BOTH, Set.of()).get(Slots.CHAIN))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("\"chain\"");
  }

  @Test
  void booking_ofNothing_cannotBeMade() {
    assertThatThrownBy(() -> new Booking(0, 0, 1)).hasMessageContaining("promptTokens");
    assertThatThrownBy(() -> new Booking(5, 0, 1)).hasMessageContaining("uncachedTokens");
    assertThatThrownBy(() -> new Booking(5, 6, 1)).hasMessageContaining("uncachedTokens");
    assertThatThrownBy(() -> new Booking(5, 5, 0)).hasMessageContaining("prefillMicros");
  }

  @Test
  void cached_isWholeBlocksAndNeverTheWholePrompt() {
    assertThat(new PromptSize(389, 16).cached(12)).isEqualTo(192);
    RandomGenerator random = new SplittableRandom(3);
    for (int i = 0; i < 10_000; i++) {
      int blockSize = random.nextInt(1, 65);
      int tokens = random.nextInt(1, 5000);
      int depth = random.nextInt(0, 400);

      int predicted = new PromptSize(tokens, blockSize).cached(depth);

      assertThat(predicted).isBetween(0, tokens - 1).isLessThanOrEqualTo(depth * blockSize);
      assertThat(predicted % blockSize).isZero();
      assertThat(predicted == depth * blockSize || predicted + blockSize >= tokens).isTrue();
    }
  }
}

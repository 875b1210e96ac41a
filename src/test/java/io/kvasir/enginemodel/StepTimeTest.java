package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class StepTimeTest {
  private static final StepTime SIMPLE = new StepTime(10, 100, 1000, 1_000_000, 2_000_000, 3000, 5, 1000);

  @Test
  void millis_ofColdPrompt8192_isTheMeasuredFirstToken() {
    assertThat(coldPrompt8192("h100-Llama-3.1-8B-tp1")).isCloseTo(190.0, within(1.0));
    assertThat(coldPrompt8192("a100-Qwen2.5-7B-tp1")).isCloseTo(496.0, within(1.0));
    assertThat(coldPrompt8192("h200-Qwen2.5-32B/Qwen3-32B-tp2")).isCloseTo(518.0, within(1.0));
  }

  @Test
  void millis_ofNothing_isNothing() {
    assertThat(SIMPLE.millis(new EngineStep<TestSequence>())).isZero();
  }

  @Test
  void millis_belowTheKnee_chargesNoTokens() {
    EngineStep<TestSequence> step = scheduler(8192, 10).plan();
    // weight + attention 10·(0 + 5) + one sequence + overhead
    assertThat(SIMPLE.millis(step)).isEqualTo(10 + 50 + 4 + 5);
  }

  @Test
  void millis_ofChunkAndDecode_chargesEachItsContext() {
    Scheduler<TestSequence> scheduler = scheduler(400, 300);
    EngineStep<TestSequence> first = scheduler.plan();
    scheduler.complete(first);
    scheduler.add(new TestSequence(prompt(500, 2), 5, 16));
    EngineStep<TestSequence> second = scheduler.plan();

    // one decode over 300 tokens of context beside a chunk of 399 tokens without context
    assertThat(second.tokens()).isEqualTo(400);
    assertThat(second.decodeContext()).isEqualTo(300);
    assertThat(second.attentionPairs()).isEqualTo(399 * 199.5);
    assertThat(SIMPLE.millis(second))
        .isCloseTo(10 + 300 + 399 * 199.5 + 2 * 300 + 2 * 4 + 5, within(1e-6));
  }

  @Test
  void named_unknown_namesTheKnownOnes() {
    assertThatThrownBy(() -> EngineModel.named("h900"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("h900")
        .hasMessageContaining("h100-Llama-3.1-8B-tp1");
    assertThat(EngineModel.names()).contains("h200-Qwen3-32B-tp2", "a100-Llama-3.1-8B-tp1").doesNotHaveDuplicates();
  }

  private static double coldPrompt8192(String engine) {
    return EngineModel.named(engine).stepTime().millis(scheduler(8192, 8192).plan());
  }

  private static Scheduler<TestSequence> scheduler(int budget, int promptLength) {
    Scheduler<TestSequence> scheduler = new Scheduler<>(new PagedCache(2000, 16, SchedulerTest.DEAF), budget, 256);
    scheduler.add(new TestSequence(prompt(promptLength, 1), 5, 16));
    return scheduler;
  }

  private static int[] prompt(int length, int id) {
    List<Integer> tokens = new ArrayList<>();
    for (int i = 0; i < length; i++) {
      tokens.add(id * 100_000 + i);
    }
    return tokens.stream().mapToInt(Integer::intValue).toArray();
  }
}

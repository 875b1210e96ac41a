package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.typesafe.config.ConfigFactory;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class MemoryPlanTest {
  private static final long MIB = 1 << 20;
  private static final long HEAP = Runtime.getRuntime().maxMemory();

  @Test
  void automaticLimits_fitIntoEveryHeap() {
    for (long heap : new long[] {160, 256, 512, 1024, 2048, 16_384}) {
      MemoryPlan plan = automatic(heap * MIB, 1, 0);
      assertThat(plan.fits()).as(plan.toString()).isTrue();
      assertThat(plan.index()).as(plan.toString()).isBetween(4 * MIB, 1024 * MIB);
    }
  }

  @Test
  void automaticIndex_isSharedByCells_andLeavesRoomForAnswers() {
    assertThat(automatic(1024 * MIB, 1, 0).index()).isEqualTo(473 * MIB + 629_146);
    assertThat(automatic(1024 * MIB, 1, 100 * MIB).index()).isEqualTo(373 * MIB + 629_146);
    assertThat(automatic(1024 * MIB, 2, 0).index()).isEqualTo((473 * MIB + 629_146) / 2);
    assertThat(automatic(8192 * MIB, 1, 0).index()).as("the most of one").isEqualTo(1024 * MIB);
  }

  @Test
  void limits_thatDoNotFit_areAFaultThatNamesEachAndTheRemedy() {
    MemoryPlan plan = new MemoryPlan(1024 * MIB, 256 * MIB, 128 * MIB, 0, 2, 512 * MIB);

    assertThat(plan.fits()).isFalse();
    assertThat(plan.shortage())
        .isEqualTo(
            "does not fit into the heap of 1024 MiB: requests 256 MiB (gateway.memory-share), indexes 2 x 512 MiB"
                + " (cell.index-budget), prompts 128 MiB (prompt.memo), all else 166 MiB; start with KVASIR_HEAP=2108m"
                + " or more, or lower what is largest");
  }

  /** Requests and prompts grow with the heap. */
  @Test
  void advisedHeap_isEnough() {
    for (long index : new long[] {512, 1024, 4096, 20_000}) {
      MemoryPlan plan = automatic(512 * MIB, 1, 100 * MIB).withIndex(index * MIB);
      Matcher advised = Pattern.compile("KVASIR_HEAP=(\\d+)m").matcher(plan.shortage());

      assertThat(advised.find()).isTrue();
      long reported = Long.parseLong(advised.group(1)) * MIB - 40 * MIB;
      MemoryPlan larger = automatic(reported, 1, 100 * MIB).withIndex(index * MIB);
      assertThat(larger.fits()).as(larger.toString()).isTrue();
    }
  }

  @Test
  void requestsThatMayTakeAll_areToBeLowered() {
    assertThat(new MemoryPlan(1024 * MIB, 900 * MIB, 128 * MIB, 0, 1, 4 * MIB).shortage())
        .endsWith("lower gateway.memory-share");
  }

  @Test
  void plan_isOneLineThatSaysWhatTheProcessTakes() {
    assertThat(new MemoryPlan(2048 * MIB, 512 * MIB, 256 * MIB, 64 * MIB, 1, 900 * MIB))
        .hasToString(
            "memory: a heap of up to 2048 MiB for requests 512 MiB (gateway.memory-share), index 900 MiB"
                + " (cell.index-budget), prompts 256 MiB (prompt.memo), answers 64 MiB (answers), all else 268 MiB;"
                + " with code, threads and buffers the process takes up to some 2348 MiB (KVASIR_HEAP=SIZE sets the"
                + " heap)");
  }

  @Test
  void config_ofDefaults_hasLimitsThatFit() throws Exception {
    MemoryPlan plan = MemoryPlan.of(config(""));

    assertThat(plan.heap()).isEqualTo(HEAP);
    assertThat(plan.requests()).isEqualTo(HEAP / 4);
    assertThat(plan.prompts()).isEqualTo(Math.min(256 * MIB, HEAP / 8));
    assertThat(plan.answers()).isZero();
    assertThat(plan.cells()).isEqualTo(1);
    assertThat(plan.fits()).as(plan.toString()).isTrue();
  }

  @Test
  void config_countsTheCellsOfPodsAndModels() throws Exception {
    assertThat(MemoryPlan.of(config("models = [{ name = a, mode = text }, { name = b, mode = text }]")).cells())
        .isEqualTo(2);
    assertThat(MemoryPlan.of(config("cell.most-workers = 4\n" + pods(9, "a") + pods(2, "b"))).cells()).isEqualTo(4);
  }

  @Test
  void config_withAResponseCache_leavesRoomForIt() throws Exception {
    MemoryPlan plan = MemoryPlan.of(config("answers { store = memory, memory.size = 64 MiB, recording = 40 MiB }"));

    assertThat(plan.answers()).isEqualTo(104 * MIB);
    assertThat(plan.fits()).as(plan.toString()).isTrue();
  }

  @Test
  void config_withAnIndexThatDoesNotFit_isRefused() {
    ConfigException refused =
        catchThrowableOfType(ConfigException.class, () -> config("cell.index-budget = %d".formatted(HEAP)));

    assertThat(refused.faults()).singleElement().satisfies(fault -> {
      assertThat(fault.path()).isEqualTo("kvasir.cell.index-budget");
      assertThat(fault.problem()).contains("does not fit into the heap of " + HEAP / MIB + " MiB", "KVASIR_HEAP=");
    });
  }

  private static MemoryPlan automatic(long heap, int cells, long answers) {
    MemoryPlan plan = new MemoryPlan(heap, heap / 4, MemoryPlan.prompts(heap), answers, cells, 0);
    return plan.withIndex(plan.automaticIndex());
  }

  private static String pods(int count, String model) {
    return IntStream.range(0, count)
        .mapToObj(i -> "{ name = \"%s%d\", url = \"http://10.0.0.1:%d\", models = [%s] }"
            .formatted(model, i, 1000 + i, model))
        .collect(Collectors.joining("\n", "pods = ${kvasir.pods} [\n", "\n]\n"));
  }

  private static KvasirConfig config(String own) throws ConfigException {
    return KvasirConfig.of(ConfigFactory.parseString("kvasir {\n" + own + "\n}"));
  }
}

package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.telemetry.Problem;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Engines whose blocks are not those of the prompts that are compared with them. */
final class BlockSizeMismatchesTest {
  private static final List<ModelConfig> MODELS = List.of(ModelConfig.demo("m", 16), ModelConfig.demo("n", 32));

  private static PodSpec pod(String name, int blockSize, String... models) {
    return TestPods.pod(name).blockSize(blockSize).models(models).build();
  }

  @Test
  void blocksIntoWhichThoseOfPromptsFit_orNoModelThatIsPrepared_areNoProblem() {
    List<PodSpec> pods = List.of(pod("a", 16, "m"), pod("b", 32, "n"), pod("c", 8, "other"), pod("d", 64, "m", "n"));
    assertThat(BlockSizeMismatches.problems(pods, MODELS)).isEmpty();
  }

  @Test
  void otherBlocks_areNamed_withTheSetting() {
    assertThat(BlockSizeMismatches.problems(List.of(pod("a", 16, "m"), pod("b", 24, "m")), MODELS))
        .singleElement().satisfies(problem -> {
          assertThat(problem.what()).contains("pod b keeps blocks of 24", "model m are cut into blocks of 16");
          assertThat(problem.remedy()).contains("block-size of the model to 24");
        });
  }

  @Test
  void manyPods_areOneProblemOfEachModelAndSize() {
    List<PodSpec> pods = List.of(pod("a", 40, "m", "n"), pod("b", 40, "m"), pod("c", 8, "m"), pod("d", 16, "m"));
    assertThat(BlockSizeMismatches.problems(pods, MODELS)).extracting(Problem::what).satisfiesExactly(
        what -> assertThat(what).contains("pod c keeps blocks of 8", "model m"),
        what -> assertThat(what).contains("2 pods, a among them, keep blocks of 40", "model m"),
        what -> assertThat(what).contains("pod a keeps blocks of 40", "model n"));
  }

  @Test
  void manySizes_areCountedBeyondTheFirstFew() {
    List<PodSpec> pods = IntStream.range(1, 8).mapToObj(i -> pod("p" + i, 16 * i + 1, "m")).toList();
    List<Problem> problems = BlockSizeMismatches.problems(pods, MODELS);
    assertThat(problems).hasSize(6);
    assertThat(problems.getLast().what()).contains("2 more");
  }
}

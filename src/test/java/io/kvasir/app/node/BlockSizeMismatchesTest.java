package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.telemetry.Problem;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Engines whose blocks are not those of the prompts that are compared with them. */
final class BlockSizeMismatchesTest {
  private static final List<ModelConfig> MODELS = List.of(ModelConfig.demo("m", 16), ModelConfig.demo("n", 32));

  private static PodSpec pod(String name, int blockSize, String... models) {
    return TestPods.pod(name).blockSize(blockSize).models(models).build();
  }

  @Test
  void sameBlocks_orNoModelThatIsPrepared_isNoProblem() {
    List<PodSpec> pods = List.of(pod("a", 16, "m"), pod("b", 32, "n"), pod("c", 8, "other"));
    assertThat(BlockSizeMismatches.problems(pods, MODELS)).isEmpty();
  }

  @Test
  void otherBlocks_areNamed_withTheSetting() {
    assertThat(BlockSizeMismatches.problems(List.of(pod("a", 16, "m"), pod("b", 64, "m")), MODELS))
        .singleElement().satisfies(problem -> {
          assertThat(problem.what()).contains("pod b keeps blocks of 64", "model m are cut into blocks of 16");
          assertThat(problem.remedy()).contains("block-size = 64");
        });
  }

  @Test
  void manyPods_areOneProblemOfEachModelAndSize() {
    List<PodSpec> pods = List.of(pod("a", 64, "m", "n"), pod("b", 64, "m"), pod("c", 8, "m"), pod("d", 16, "m"));
    assertThat(BlockSizeMismatches.problems(pods, MODELS)).extracting(Problem::what).satisfiesExactly(
        what -> assertThat(what).contains("pod c keeps blocks of 8", "model m"),
        what -> assertThat(what).contains("2 pods, a among them, keep blocks of 64", "model m"),
        what -> assertThat(what).contains("pod a keeps blocks of 64", "model n"));
  }
}

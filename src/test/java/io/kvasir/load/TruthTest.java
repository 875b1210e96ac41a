package io.kvasir.load;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** {@code load-tests/truth} before two simulated engines whose caches hold little. */
@Isolated("what is found of a promise depends on how soon an engine's events come")
final class TruthTest {
  /** What a busy machine leaves of 99.9: events may come after the next request. */
  private static final String GOAL = "80";

  @TempDir private Path directory = Path.of("");

  @Test
  void engines_whoseEventsTellAll_meetTheGoal() throws Exception {
    JsonNode result = run(0);

    assertThat(result.path("failed").asInt()).isZero();
    assertThat(result.path("lines")).hasSize(2);
  }

  @Test
  void engines_whoseEventsTellNoRemovals_missIt_andAreExplained() throws Exception {
    JsonNode result = run(1, "--condition", "stores-only");

    List<String> explained = new ArrayList<>();
    for (JsonNode line : result.path("lines")) {
      assertThat(line.path("counts").path("OVER").asInt()).isPositive();
      explained.add(line.path("examples").path("OVER").path(0).asText());
    }
    assertThat(explained)
        .hasSize(2)
        .allSatisfy(text ->
            assertThat(text).contains("request truth-evicting-", "they part at block", "decision: expected-cost"));
  }

  @Test
  void cacheGroups_thatEnginesCannotHave_areRefused() {
    assertThat(Truth.run("--with-sglang", "1", "--cache-groups", "window=256")).isEqualTo(2);
    assertThat(Truth.run("--with-vllm", "1", "--cache-groups", "window=256,state")).isEqualTo(2);
    assertThat(Truth.run("http://127.0.0.1:1", "--cache-groups", "state")).isEqualTo(2);
    assertThat(Truth.run("http://127.0.0.1:1", "--block-sizes", "64")).isEqualTo(2);
  }

  /** The result of the only traffic there is. */
  private JsonNode run(int status, String... more) throws Exception {
    Path json = directory.resolve("result.json");
    List<String> arguments = new ArrayList<>(List.of("--simulators", "2", "--pairs", "0", "--blocks", "512"));
    arguments.addAll(List.of("--traffic", "evicting", "--requests", "160", "--goal", GOAL, "--json", json.toString()));
    arguments.addAll(List.of(more));
    assertThat(Truth.run(arguments.toArray(String[]::new))).isEqualTo(status);
    return new ObjectMapper().readTree(Files.readAllBytes(json)).path("results").path(0);
  }
}

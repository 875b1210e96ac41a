package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.cell.HeldPrefixes;
import io.kvasir.execution.FakeCells;
import io.kvasir.gateway.traffic.SampledChains;
import io.kvasir.index.Chain;
import java.io.IOException;
import java.net.URI;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class PrefixesHandlerTest {
  private final AtomicLong millis = new AtomicLong();
  private final SampledChains chains = new SampledChains(() -> Instant.ofEpochMilli(millis.get()));
  private final FakeCells cells = new FakeCells();

  @BeforeEach
  void workers() {
    cells.worker("w", URI.create("http://h:1"), "m");
  }

  @Test
  void blocksThatTheSamePromptsShare_areOneRun() throws IOException {
    seen("a", 1, 2, 3, 4);
    seen("a", 1, 2, 5);
    seen("b", 1, 2, 5, 6, 7);
    seen("", 8);
    cells.fleet.held = new HeldPrefixes(List.of(List.of(5, 2), List.of(3), List.of()), List.of("c2"));

    JsonNode tree = call("/admin/prefixes", 200);

    assertThat(tree.path("model").asText()).isEqualTo("m");
    assertThat(tree.path("block_size").asInt()).isEqualTo(16);
    assertThat(tree.path("sampled_requests").asInt()).isEqualTo(4);
    assertThat(tree.path("missing_cells")).singleElement().extracting(JsonNode::asText).isEqualTo("c2");
    assertThat(cells.fleet.askedChains)
        .containsExactly(chain(1, 2, 5, 6, 7), chain(1, 2, 3, 4), chain(8));
    assertRun(tree.at("/roots/0"), "0000000000000002", 2, 3, 2, null);
    assertRun(tree.at("/roots/0/children/0"), "0000000000000005", 1, 2, 1, null);
    assertRun(tree.at("/roots/0/children/0/children/0"), "0000000000000007", 2, 1, 1, "b");
    assertRun(tree.at("/roots/0/children/1"), "0000000000000004", 2, 1, 0, "a");
    assertRun(tree.at("/roots/1"), "0000000000000008", 1, 1, 0, null);
    assertThat(tree.path("roots")).hasSize(2);
    assertThat(tree.at("/roots/0/last_used").asText()).isEqualTo("1970-01-01T00:00:03Z");
    assertThat(tree.at("/roots/0/children/1/last_used").asText()).isEqualTo("1970-01-01T00:00:01Z");
  }

  @Test
  void limit_leavesOutThoseOfFewestRequests() throws IOException {
    seen("a", 1, 2);
    seen("a", 1, 3);
    seen("a", 1, 3);
    seen("a", 4);

    JsonNode roots = call("/admin/prefixes?model=m&limit=2", 200).path("roots");

    assertThat(roots).singleElement().satisfies(root -> {
      assertThat(root.path("requests").asInt()).isEqualTo(3);
      assertThat(root.path("children")).singleElement().satisfies(
          child -> assertThat(child.path("hash").asText()).isEqualTo("0000000000000003"));
    });
  }

  @Test
  void chainsOfAnotherBlockSize_areNotCompared() throws IOException {
    millis.addAndGet(1000);
    chains.offer("m", "a", new Chain(new long[] {1}, 32));
    seen("a", 1);

    JsonNode tree = call("/admin/prefixes?model=m", 200);

    assertThat(tree.path("block_size").asInt()).isEqualTo(16);
    assertThat(tree.path("sampled_requests").asInt()).isEqualTo(1);
  }

  @Test
  void withoutSamples_thereAreNoRuns() throws IOException {
    JsonNode tree = call("/admin/prefixes", 200);
    assertThat(tree.path("block_size").isNull()).isTrue();
    assertThat(tree.path("roots")).isEmpty();
  }

  @Test
  void model_isOneThatIsServed() throws IOException {
    cells.worker("v", URI.create("http://h:2"), "n");

    assertThat(call("/admin/prefixes", 400).at("/error/message").asText()).contains("m, n");
    assertThat(call("/admin/prefixes?model=nobodys", 404).at("/error/message").asText()).contains("'nobodys'");
    assertThat(call("/admin/prefixes?model=m&limit=0", 400).at("/error/field").asText()).isEqualTo("limit");
  }

  private void seen(String tenant, long... hashes) {
    millis.addAndGet(1000);
    chains.offer("m", tenant, chain(hashes));
  }

  private static Chain chain(long... hashes) {
    return new Chain(hashes, 16);
  }

  private JsonNode call(String target, int status) throws IOException {
    return TestAdmin.call(new PrefixesHandler(chains, cells, cells.fleet), "GET", target, "", status);
  }

  private static void assertRun(
      JsonNode run, String hash, int blocks, int requests, int holders, @Nullable String tenant) {
    assertThat(run.path("hash").asText()).isEqualTo(hash);
    assertThat(run.path("blocks").asInt()).isEqualTo(blocks);
    assertThat(run.path("tokens").asInt()).isEqualTo(16 * blocks);
    assertThat(run.path("requests").asInt()).isEqualTo(requests);
    assertThat(run.path("holders").asInt()).isEqualTo(holders);
    assertThat(run.path("tenant").textValue()).isEqualTo(tenant);
  }
}

package io.kvasir.sim.operations;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.EngineMetrics.RankLoad;
import io.kvasir.sim.settings.EngineSettings;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * SGLang's {@code /v1/loads} ({@code entrypoints/v1_loads.py} and {@code managers/load_snapshot.py} of SGLang 0.5.23):
 * the load of each rank, the part "core" of it, in what a simulated engine knows.
 */
final class RankLoads {
  private RankLoads() {}

  static JsonNode json(List<? extends RankLoad> ranks, EngineSettings engine) {
    ObjectNode page = JsonNodeFactory.instance.objectNode().put("timestamp", Instant.now().toString());
    page.put("version", IdentityPages.SGLANG_VERSION).putNull("accelerator").put("num_accelerators", 1);
    page.putArray("loads").addAll(rows(ranks, engine));
    return page;
  }

  /** The same in Prometheus' format. */
  static String gauges(List<? extends RankLoad> ranks, EngineSettings engine) {
    List<ObjectNode> rows = rows(ranks, engine);
    StringBuilder page = new StringBuilder();
    rows.getFirst().fieldNames().forEachRemaining(name -> {
      if (!name.equals("dp_rank")) {
        page.append("# TYPE sglang_").append(name).append(" gauge\n");
        for (ObjectNode row : rows) {
          page.append("sglang_").append(name).append("{dp_rank=\"").append(row.get("dp_rank")).append("\"} ")
              .append(row.get(name)).append('\n');
        }
      }
    });
    return page.toString();
  }

  private static List<ObjectNode> rows(List<? extends RankLoad> ranks, EngineSettings engine) {
    List<ObjectNode> rows = new ArrayList<>();
    for (RankLoad rank : ranks) {
      long used = (long) rank.usedBlocks() * engine.blockSize();
      rows.add(
          JsonNodeFactory.instance.objectNode()
              .put("dp_rank", rank.rank())
              .put("num_running_reqs", rank.running())
              .put("num_waiting_reqs", rank.waiting())
              .put("num_used_tokens", used)
              .put("max_total_num_tokens", (long) engine.blocks() * engine.blockSize())
              .put("max_running_requests", engine.maxSequences())
              .put("token_usage", rank.usedBlocks() / (double) engine.blocks()));
    }
    return rows;
  }
}

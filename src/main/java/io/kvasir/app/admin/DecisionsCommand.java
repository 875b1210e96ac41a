package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Table;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvasir admin decisions}. */
@Command(
    name = "decisions",
    description = "Prints the last decisions that the node's cells recorded, newest first (decisions.sample of all).",
    mixinStandardHelpOptions = true)
final class DecisionsCommand extends AdminRequestCommand {
  @Option(names = "--model", paramLabel = "NAME", description = "Only of this model.")
  private @Nullable String model;

  @Option(names = "--worker", paramLabel = "ID", description = "Only with this worker in the plan.")
  private @Nullable String worker;

  @Option(
      names = "--session",
      paramLabel = "KEY",
      description = "Only of this session, where the profile prepares session keys: TENANT/KEY of one with a tenant.")
  private @Nullable String session;

  @Option(names = "--request", paramLabel = "ID", description = "Only of this request.")
  private @Nullable String request;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "20",
      description = "How many at most (${DEFAULT-VALUE}).")
  private int limit;

  @Override
  JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
    Map<String, @Nullable Object> query = new HashMap<>();
    query.put("model", model);
    query.put("worker", worker);
    query.put("session", session);
    query.put("request", request);
    query.put("limit", limit);
    return client.get("/admin/decisions", query);
  }

  @Override
  String format(JsonNode answer) {
    Table table = new Table("TIME", "REQUEST", "MODEL", "PROFILE", "WORKERS", "CACHED", "OUTCOME", "TTFT MS");
    for (JsonNode decision : answer.path("decisions")) {
      List<String> workers = new ArrayList<>();
      int cached = 0;
      for (JsonNode step : decision.path("plan")) {
        workers.add(step.path("worker").asText());
        cached = Math.max(cached, step.path("cached_tokens").asInt());
      }
      JsonNode outcomes = decision.path("outcomes");
      JsonNode last = outcomes.path(outcomes.size() - 1);
      table.row(
          decision.path("time").asText(),
          decision.path("request_id").asText(),
          decision.path("model").asText(),
          decision.path("profile").asText(),
          workers.isEmpty() ? "none: " + decision.path("refused").asText() : String.join(", ", workers),
          cached + "/" + decision.path("prompt_tokens").asText(),
          last.path("outcome").asText(workers.isEmpty() ? "refused" : "under way"),
          last.has("ttft_ms") ? "%.1f".formatted(last.path("ttft_ms").asDouble()) : "");
    }
    return table.toString();
  }
}

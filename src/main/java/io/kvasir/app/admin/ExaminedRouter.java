package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.doctor.exam.EngineTarget;
import io.kvasir.doctor.exam.RouterExam.Problem;
import io.kvasir.doctor.exam.RouterExam.Prompts;
import io.kvasir.doctor.exam.RouterExam.WorkerSource.State;
import io.kvasir.doctor.exam.RouterExam.WorkerSource;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.prompt.PromptMode;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A running router, examined by its admin API. */
final class ExaminedRouter {
  private static final int DECISIONS = 500;

  private final AdminClient client;

  ExaminedRouter(AdminClient client) {
    this.client = client;
  }

  /** What it says of itself and of the others. */
  RouterExam examine() throws AdminFailedException, InterruptedException {
    List<Problem> problems = new ArrayList<>();
    for (JsonNode problem : client.get("/admin/vitals").path("problems")) {
      problems.add(
          new Problem(
              problem.path("severity").asText().equals("error"), problem.path("what").asText(),
              problem.path("remedy").asText()));
    }
    ExaminedNodes nodes = new ExaminedNodes(client.get("/admin/cluster"), client.get("/admin/nodes"));
    return new RouterExam(
        client.toString(), problems, nodes.nodes(), prompts(), strayInstances(), sources(), nodes.links());
  }

  private List<WorkerSource> sources() throws AdminFailedException, InterruptedException {
    List<WorkerSource> sources = new ArrayList<>();
    for (JsonNode source : client.get("/admin/sources").path("sources")) {
      String kind = source.path("source").asText();
      if (!kind.equals("none")) {
        State state =
            !source.path("connected").asBoolean() ? State.DISCONNECTED
                : source.path("mode").asText().equals("suspect") ? State.SUSPECT
                : State.CONNECTED;
        sources.add(
            new WorkerSource(
                source.path("worker").asText(), kind, state, source.path("gaps").asLong(),
                source.path("last_fault").textValue()));
      }
    }
    return sources;
  }

  private List<String> strayInstances() throws AdminFailedException, InterruptedException {
    List<String> strays = new ArrayList<>();
    for (JsonNode instance : client.get("/admin/lmcache").path("instances")) {
      if (instance.path("worker").isNull()) {
        strays.add(instance.path("instance").asText());
      }
    }
    return strays;
  }

  private @Nullable Prompts prompts() throws AdminFailedException, InterruptedException {
    int decisions = 0;
    int shorter = 0;
    int byText = 0;
    int blockSize = 0;
    for (JsonNode decision : client.get("/admin/decisions", Map.of("limit", DECISIONS)).path("decisions")) {
      int tokens = decision.path("prompt_tokens").asInt();
      int size = decision.path("block_size").asInt();
      if (tokens < 1 || size < 1) {
        continue;
      }
      decisions++;
      byText += decision.path("tokens_from").asText().equals(PromptMode.TEXT.label()) ? 1 : 0;
      shorter += tokens < size ? 1 : 0;
      blockSize = blockSize == 0 || tokens < size ? size : blockSize;
    }
    return decisions == 0 ? null : new Prompts(decisions, shorter, blockSize, byText);
  }

  /** The engines of its workers. How it takes their events, and the keys it shows them, it does not tell. */
  List<EngineTarget> engines() throws AdminFailedException, InterruptedException {
    Map<String, EngineTarget> engines = new LinkedHashMap<>();
    for (JsonNode worker : client.get("/admin/workers").path("workers")) {
      Set<String> models = new LinkedHashSet<>();
      worker.path("models").forEach(model -> models.add(model.asText()));
      String pod = worker.path("pod").asText();
      URI url = URI.create(worker.path("url").asText());
      engines.putIfAbsent(
          pod,
          new EngineTarget(
              pod, url, null, models, null, Math.max(1, worker.path("ranks").asInt()), null,
              handingOver(worker, url, models)));
    }
    return List.copyOf(engines.values());
  }

  /** A worker that hands KV blocks over, or receives them; null for others, and for what only a newer router knows. */
  private static @Nullable Worker handingOver(JsonNode told, URI url, Set<String> models) {
    JsonNode transfer = told.path("kv_transfer");
    Role role = constant(Role.class, told.path("role").asText());
    Dialect dialect = constant(Dialect.class, transfer.path("dialect").asText());
    return role == null || dialect == null
        ? null
        : new Worker(
            told.path("id").asText(), told.path("pod").asText(), url, told.path("rank").asInt(),
            Math.max(1, told.path("ranks").asInt()), told.path("slot").asInt(), role, models, Map.of(),
            told.path("max_in_flight").asInt(), told.path("engine").asText(),
            new KvTransfer(
                dialect, transfer.path("group").asText(), transfer.path("host").asText(),
                transfer.path("bootstrap_port").asInt(), transfer.path("engine_id").asText(),
                Math.max(1, transfer.path("tensor_parallel").asInt()),
                Math.max(1, transfer.path("pipeline_parallel").asInt()), new KvTransfer.TransferCost(0, 0)));
  }

  /** The constant that JSON calls so; null when there is none. */
  private static <E extends Enum<E>> @Nullable E constant(Class<E> type, String label) {
    return Arrays.stream(type.getEnumConstants())
        .filter(each -> each.name().equals(label.toUpperCase(Locale.ROOT).replace('-', '_')))
        .findFirst()
        .orElse(null);
  }
}

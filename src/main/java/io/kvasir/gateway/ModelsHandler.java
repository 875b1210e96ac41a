package io.kvasir.gateway;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.Grants;
import io.kvasir.cell.Cells;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.gateway.error.GatewayPaths;
import io.kvasir.gateway.request.InboundRequest;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * {@code /v1/models}: every model that some pod of the fleet serves and the caller may use, LoRA adapters included,
 * as OpenAI's API lists them or, to a client that sends {@code anthropic-version}, as Anthropic's does. Of each there
 * is what its engines tell, under the names that vLLM and SGLang have for it: clients choose tokenizers by {@code root}
 * and cut prompts by {@code max_model_len}.
 */
final class ModelsHandler {
  private static final Headers JSON = Headers.of("Content-Type", "application/json");

  private final Cells cells;
  private final Instant created = Instant.now().truncatedTo(ChronoUnit.SECONDS);

  ModelsHandler(Cells cells) {
    this.cells = cells;
  }

  Response answer(InboundRequest inbound) throws ApiException {
    String path = inbound.exchange().path();
    ErrorFormat api = ErrorFormat.of(path, inbound.exchange().headers());
    Grants grants = inbound.caller().grants();
    if (path.equals(GatewayPaths.MODELS)) {
      return json(list(api, cells.models().stream().filter(grants::allowsModel).sorted().toList(), cells.workers()));
    }
    // Names of models have slashes, written out or encoded.
    String encoded = path.substring(GatewayPaths.MODELS.length() + 1).replace("+", "%2B");
    String model;
    try {
      model = URLDecoder.decode(encoded, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new ApiException(
          ApiError.of(400, "invalid_path", "The model's name in the path is not percent-encoded: " + encoded));
    }
    if (!cells.models().contains(model) || !grants.allowsModel(model)) {
      throw new ApiException(ApiError.unknownModel(model));
    }
    return json(model(api, model, details(cells.workers(model)).getOrDefault(model, ListedModel.NONE)));
  }

  /** All models, on one page. */
  private ObjectNode list(ErrorFormat api, List<String> models, List<WorkerSummary> workers) {
    Map<String, ListedModel> details = details(workers);
    ObjectNode list = JsonNodeFactory.instance.objectNode();
    ArrayNode data = list.putArray("data");
    models.forEach(model -> data.add(model(api, model, details.getOrDefault(model, ListedModel.NONE))));
    return switch (api) {
      case OPENAI -> list.put("object", "list");
      case ANTHROPIC -> list
          .put("has_more", false)
          .put("first_id", models.isEmpty() ? null : models.getFirst())
          .put("last_id", models.isEmpty() ? null : models.getLast());
    };
  }

  /** What workers' engines tell of the models that requests may call them by. */
  private Map<String, ListedModel> details(List<WorkerSummary> workers) {
    Map<String, ListedModel> details = new HashMap<>();
    for (WorkerSummary worker : workers) {
      cells.learntEngine(worker.pod()).models().forEach((name, model) -> {
        if (worker.models().contains(name)) {
          details.merge(name, ListedModel.of(model), ListedModel::and);
        }
      });
    }
    return details;
  }

  private ObjectNode model(ErrorFormat api, String id, ListedModel details) {
    ObjectNode model = JsonNodeFactory.instance.objectNode().put("id", id);
    String length = switch (api) {
      case OPENAI -> {
        model.put("object", "model").put("created", created.getEpochSecond()).put("owned_by", "kvasir");
        model.put("root", details.root().orElse(id)).put("parent", details.parent().orElse(null));
        yield "max_model_len";
      }
      case ANTHROPIC -> {
        model.put("type", "model").put("display_name", id).put("created_at", created.toString());
        yield "max_input_tokens";
      }
    };
    return details.contextLength() == 0 ? model : model.put(length, details.contextLength());
  }

  private static Response json(ObjectNode body) {
    return new Response.Buffered(200, JSON, body.toString().getBytes(StandardCharsets.UTF_8));
  }
}

package io.kvasir.gateway;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.Caller;
import io.kvasir.cell.Cells;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.TreeSet;

/**
 * {@code /v1/models}: every model that some pod of the fleet serves and the caller may use, LoRA adapters included.
 */
final class ModelsHandler {
  static final String PATH = "/v1/models";

  private static final Headers JSON = Headers.of("Content-Type", "application/json");

  private final Cells cells;
  private final long created = Instant.now().getEpochSecond();

  ModelsHandler(Cells cells) {
    this.cells = cells;
  }

  static boolean matches(String path) {
    return path.equals(PATH) || path.startsWith(PATH + "/");
  }

  Response answer(String path, Caller caller) throws ApiException {
    if (path.equals(PATH)) {
      ObjectNode list = JsonNodeFactory.instance.objectNode().put("object", "list");
      ArrayNode data = list.putArray("data");
      for (String model : new TreeSet<>(cells.models())) {
        if (caller.grants().allowsModel(model)) {
          data.add(model(model));
        }
      }
      return json(list);
    }
    // Names of models have slashes, written out or encoded.
    String encoded = path.substring(PATH.length() + 1).replace("+", "%2B");
    String model;
    try {
      model = URLDecoder.decode(encoded, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new ApiException(
          ApiError.of(400, "invalid_path", "The model's name in the path is not percent-encoded: " + encoded));
    }
    if (!cells.models().contains(model) || !caller.grants().allowsModel(model)) {
      throw new ApiException(ApiError.unknownModel(model));
    }
    return json(model(model));
  }

  private ObjectNode model(String id) {
    return JsonNodeFactory.instance.objectNode()
        .put("id", id)
        .put("object", "model")
        .put("created", created)
        .put("owned_by", "kvasir");
  }

  private static Response json(ObjectNode body) {
    return new Response.Buffered(200, JSON, body.toString().getBytes(StandardCharsets.UTF_8));
  }
}

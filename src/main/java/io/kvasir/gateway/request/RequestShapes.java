package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.MediaItems;
import io.kvasir.http.ApiPath;
import io.kvasir.routing.RequestShape;
import org.jspecify.annotations.Nullable;

/** How many workers a request may take, from its path and body. */
final class RequestShapes {
  private RequestShapes() {}

  /** What a request to an API asks for; {@code body} is null when it is no JSON object. */
  static RequestShape of(ApiPath api, @Nullable JsonNode body) {
    if (body == null) {
      return RequestShape.INDIVISIBLE;
    }
    RequestShape shape = unsalted(api, body);
    return has(body, "cache_salt") || has(body, "extra_key") ? shape.underSalt() : shape;
  }

  private static boolean has(JsonNode body, String salt) {
    return !body.path(salt).asText("").isEmpty();
  }

  private static RequestShape unsalted(ApiPath api, JsonNode body) {
    if (ClientRequest.isBatch(prompts(api, body))) {
      return RequestShape.BATCH;
    }
    if (!api.generates()) {
      return RequestShape.INDIVISIBLE;
    }
    int items = api == ApiPath.CHAT ? MediaItems.count(body.path("messages")) : 0;
    boolean oneAnswer = body.path("n").asInt(1) <= 1 && body.path("best_of").asInt(1) <= 1;
    boolean anyRank = api == ApiPath.RESPONSES;
    return oneAnswer && items == 0 && !anyRank
        ? RequestShape.TEXT
        : new RequestShape(oneAnswer, items, false, anyRank, false);
  }

  /** The member that may hold several prompts; missing where an API takes one. */
  private static JsonNode prompts(ApiPath api, JsonNode body) {
    return switch (api) {
      case COMPLETIONS -> body.path("prompt");
      case EMBEDDINGS -> body.path("input");
      default -> MissingNode.getInstance();
    };
  }
}

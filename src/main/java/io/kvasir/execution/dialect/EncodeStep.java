package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ApiPath;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * vLLM's encoder disaggregation: every image and sound goes to the encoder as a chat of its own, and the engines
 * after it find the embeddings by the item's {@code uuid}. That is the item's name in caches and block hashes, so it
 * comes from the item's content; a client's own is left as it is. A request with more items than engines take goes to
 * them unchanged.
 */
final class EncodeStep implements PreprocessingStep {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** vLLM takes 999 of a kind where nothing else is set ({@code --limit-mm-per-prompt}). */
  private static final int MAX_ITEMS = 1000;

  @Override
  public List<EngineRequest> requests(ClientRequest request, String id) {
    JsonNode turns = annotated(request).members().value("messages");
    List<EngineRequest> messages = new ArrayList<>();
    if (MediaItems.count(turns) > MAX_ITEMS) {
      return messages;
    }
    for (JsonNode turn : turns) {
      for (JsonNode part : turn.path("content")) {
        if (MediaItems.is(part)) {
          messages.add(message(request, part, id, messages.size()));
        }
      }
    }
    return messages;
  }

  private static EngineRequest message(ClientRequest request, JsonNode item, String id, int number) {
    ArrayNode turns = JSON.arrayNode();
    turns.addObject().put("role", "user").putArray("content").add(item);
    JsonMembers body = JsonMembers.empty()
        .withCopy("model", request.members(), "model")
        .with("messages", turns.toString())
        .with("stream", "false");
    // Unique within the attempt, and the same shape as the engine's own proxy gives it.
    return new EngineRequest(
        ApiPath.CHAT.path(), body.bytes(),
        Map.of("X-Request-Id", id + ":" + number + ":" + suffix(item.path("uuid").asText())));
  }

  /** The beginning of an item's id, which may be any text, as a header can have it. */
  private static String suffix(String uuid) {
    return uuid.substring(0, Math.min(6, uuid.length())).replaceAll("[^!-~]", "_");
  }

  @Override
  public ClientRequest annotated(ClientRequest request) {
    JsonMembers body = request.members();
    if (request.api() != ApiPath.CHAT || !body.has("messages")) {
      return request;
    }
    JsonNode turns = body.value("messages");
    if (MediaItems.count(turns) > MAX_ITEMS) {
      return request;
    }
    boolean changed = false;
    for (JsonNode turn : turns) {
      for (JsonNode part : turn.path("content")) {
        if (MediaItems.is(part) && !part.hasNonNull("uuid")) {
          ((ObjectNode) part).put("uuid", digest(part));
          changed = true;
        }
      }
    }
    return changed ? request.with(body.with("messages", turns.toString())) : request;
  }

  @Override
  public ClientRequest apply(ClientRequest request, List<byte[]> answers) {
    // The encoder keeps the embeddings, and the item's uuid finds them.
    return request;
  }

  /** Of the address where that is the content's, of the data where they are there. */
  private static String digest(JsonNode part) {
    JsonNode item = part.path(part.path("type").asText());
    String content = item.isTextual() ? item.textValue()
        : item.has("url") ? item.path("url").asText()
        : item.path("data").asText();
    try {
      byte[] hash = MessageDigest.getInstance("SHA-256").digest(content.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every platform has SHA-256", e);
    }
  }
}

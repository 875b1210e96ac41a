package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.kvasir.cell.Cells;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.http.ApiPath;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The LoRA adapter that a request names in one of SGLang's ways: behind the base model, {@code base:adapter}, or in a
 * member of its own beside it, {@code lora_path}. Elsewhere in the router, as in vLLM, it is a model by its own name.
 */
final class NamedAdapter {
  private static final String MODEL = "model";
  private static final String LORA_PATH = "lora_path";

  private final Cells cells;

  NamedAdapter(Cells cells) {
    this.cells = cells;
  }

  /** The adapter's own name, null where the request names none so. */
  @Nullable String of(ApiRequest request) {
    String model = request.model();
    if (model != null && model.indexOf(':') >= 0 && !cells.models().contains(model)) {
      return behindBase(model);
    }
    JsonNode beside = besideModel(request);
    return beside.isTextual() && isAdapter(model, beside.textValue()) ? beside.textValue() : null;
  }

  /** All names beside the model, whether or not there are such adapters: one, or a list for a batch. */
  static Stream<String> namedBeside(ApiRequest request) {
    JsonNode beside = besideModel(request);
    Stream<JsonNode> names = beside.isArray() ? beside.valueStream() : Stream.of(beside);
    return names.filter(JsonNode::isTextual).map(JsonNode::textValue).filter(name -> !name.isEmpty());
  }

  private static JsonNode besideModel(ApiRequest request) {
    JsonNode body = request.body();
    return body == null ? MissingNode.getInstance() : body.path(LORA_PATH);
  }

  /** Names may have colons of their own: looked for are those that there are, however many a client's name has. */
  private @Nullable String behindBase(String name) {
    for (String base : cells.models()) {
      if (name.startsWith(base) && name.startsWith(":", base.length())) {
        String adapter = name.substring(base.length() + 1).strip();
        if (isAdapter(base, adapter)) {
          return adapter;
        }
      }
    }
    return null;
  }

  private boolean isAdapter(@Nullable String base, String name) {
    return cells.models().contains(name) && cells.workers(name).stream()
        .anyMatch(worker -> {
          String first = worker.models().iterator().next();
          return !first.equals(name) && (base == null || first.equals(base));
        });
  }

  /** The body with the adapter as its model; one without a model, as SGLang's own API has none, as it is. */
  static byte[] asModel(ApiPath api, byte[] body, String adapter) {
    JsonMembers members = api == ApiPath.GENERATE ? null : JsonMembers.tryOf(body);
    return members == null ? body : members.without(LORA_PATH).withText(MODEL, adapter).bytes();
  }
}

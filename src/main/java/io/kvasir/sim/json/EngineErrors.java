package io.kvasir.sim.json;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/** The JSON of an engine's errors, as vLLM writes them. */
public final class EngineErrors {
  public static final String MESSAGE = "EngineCore encountered an issue. See stack trace (above) for the root cause.";

  private EngineErrors() {}

  /** An error as a document. */
  public static ObjectNode json(int status, String type, @Nullable String message) {
    ObjectNode answer = JsonNodeFactory.instance.objectNode();
    ObjectNode error = answer.putObject("error").put("message", message).put("type", type);
    error.putNull("param").put("code", status);
    return answer;
  }
}

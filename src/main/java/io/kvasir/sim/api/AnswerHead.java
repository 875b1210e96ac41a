package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import org.jspecify.annotations.Nullable;

/**
 * What chats and text completions have in common.
 *
 * @param id the answer's
 * @param model as the client named it
 * @param created seconds since 1970
 * @param options what the client requested to be told
 */
record AnswerHead(String id, String model, long created, Options options) {
  static final String DONE = "data: [DONE]\n\n";

  /**
   * What the client requested to be told.
   *
   * @param includeUsage the usage at a stream's end
   * @param tokenIds the ids of all tokens
   * @param logprobs of the answer's tokens, or null
   * @param promptLogprobs of the prompt's tokens, or null
   */
  record Options(
      boolean includeUsage, boolean tokenIds, @Nullable LogprobsJson logprobs,
      @Nullable LogprobsJson promptLogprobs) {
    /** Nothing beyond the answer. */
    static final Options NONE = new Options(false, false, null, null);
  }

  /** What every event of a stream begins with, up to its choices. */
  String event(String object) {
    StringBuilder start = new StringBuilder("data: {\"id\":");
    ResponseFormat.quote(start, id);
    start.append(",\"object\":\"").append(object).append("\",\"created\":").append(created).append(",\"model\":");
    ResponseFormat.quote(start, model);
    return start.append(",\"choices\":[").toString();
  }

  /** A whole answer, without choices. */
  ObjectNode body(String object) {
    return JsonNodeFactory.instance.objectNode()
        .put("id", id).put("object", object).put("created", created).put("model", model);
  }

  /** The end of a stream whose events begin with {@code event}. */
  void end(StringBuilder out, String event, Usage usage) {
    if (options.includeUsage()) {
      ObjectNode json = usage.json();
      if (usage.cached() == null) {
        json.remove("prompt_tokens_details");
      }
      out.append(event).append("],\"usage\":").append(json).append("}\n\n");
    }
    out.append(DONE);
  }

  /** The end of a choice in an event, from {@code finish_reason} on. */
  void endChoice(StringBuilder out, ResponseFormat.Delta delta, String finish) {
    out.append(",\"finish_reason\":");
    ResponseFormat.End end = delta.end();
    if (end == null) {
      out.append("null");
    } else {
      out.append('"').append(finish).append("\",\"stop_reason\":").append(end.stop());
    }
    out.append(",\"token_ids\":");
    appendIds(out, options.tokenIds() ? delta.tokens() : null);
  }

  static void endEvent(StringBuilder out, ResponseFormat.Delta delta) {
    out.append("}]");
    Usage usage = delta.usage();
    if (usage != null) {
      out.append(",\"usage\":").append(usage.json());
    }
    out.append("}\n\n");
  }

  static void putIds(ObjectNode json, String name, int @Nullable [] tokens) {
    if (tokens == null) {
      json.putNull(name);
      return;
    }
    ArrayNode array = json.putArray(name);
    for (int token : tokens) {
      array.add(token);
    }
  }

  static void appendIds(StringBuilder out, int @Nullable [] tokens) {
    if (tokens == null) {
      out.append("null");
      return;
    }
    out.append('[');
    for (int i = 0; i < tokens.length; i++) {
      out.append(i == 0 ? "" : ",").append(tokens[i]);
    }
    out.append(']');
  }
}

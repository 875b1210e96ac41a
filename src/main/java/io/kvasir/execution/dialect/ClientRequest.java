package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The client's request, as dialects see it.
 *
 * @param path the path, without a query
 * @param members the body
 */
public record ClientRequest(String path, JsonMembers members) {
  /** A request's path and body; null when the body is no JSON object in UTF-8. */
  public static @Nullable ClientRequest of(String target, byte[] body) {
    JsonMembers members = JsonMembers.tryOf(body);
    int query = target.indexOf('?');
    return members == null ? null : new ClientRequest(query < 0 ? target : target.substring(0, query), members);
  }

  /** The API at its path, null when there is none. */
  public @Nullable ApiPath api() {
    return ApiPath.at(path);
  }

  /** Whether the response is to be an event stream. */
  public boolean streams() {
    return members.value("stream").asBoolean(false);
  }

  /** The same with another body. */
  public ClientRequest with(JsonMembers body) {
    return new ClientRequest(path, body);
  }

  /**
   * Why no dialect should split this, in a few words; null when nothing forbids it. One transfer carries one
   * sequence: several answers or prompts would share it, and the log-probabilities of the prompt are known to
   * the prefill worker only.
   *
   * @param apis where the dialect's engines take its parameters
   * @param own the dialect's parameters: a request that has them already is passed unchanged
   */
  @Nullable String unsupportedReason(Set<ApiPath> apis, String... own) {
    ApiPath api = api();
    if (api == null || !apis.contains(api)) {
      return "not on this path";
    }
    for (String name : own) {
      if (members.hasValue(name)) {
        return "client's own " + name;
      }
    }
    JsonNode sampling = members.value("sampling_params");
    if (several(members.value("n")) || several(members.value("best_of")) || several(sampling.path("n"))) {
      return "n>1";
    }
    if (members.value("use_beam_search").asBoolean(false)) {
      return "beam search";
    }
    if (isBatch(members.value("prompt")) || isBatch(members.value("text")) || isBatch(members.value("input_ids"))) {
      return "several prompts";
    }
    boolean echoed = members.value("echo").asBoolean(false) && members.hasValue("logprobs");
    if (echoed || members.hasValue("prompt_logprobs") || sampling.hasNonNull("prompt_logprobs")) {
      return "log-probabilities of the prompt";
    }
    return api == ApiPath.RESPONSES ? unfitResponse() : null;
  }

  /** Why a request to {@code /v1/responses} cannot be served by a chat; null when it can. */
  public @Nullable String unfitResponse() {
    if (members.hasValue("previous_response_id") || members.hasValue("conversation")
        || members.value("background").asBoolean(false)) {
      return "stored response";
    }
    for (JsonNode tool : members.value("tools")) {
      if (!tool.path("type").asText().equals("function")) {
        return "engine's own tools";
      }
    }
    return null;
  }

  private static boolean several(JsonNode count) {
    return count.isNumber() && count.asDouble() > 1;
  }

  /** Several texts or lists of ids, as opposed to one text, or one list of ids, or a list of one. */
  public static boolean isBatch(JsonNode prompt) {
    return prompt.isArray() && prompt.size() > 1 && !prompt.get(0).isNumber();
  }
}

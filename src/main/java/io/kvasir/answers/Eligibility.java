package io.kvasir.answers;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The rules by which the cache may answer a request.
 *
 * <p>A generation samples at temperature 1 unless the request sets another, in every API; only temperature 0
 * (greedy) or a seed makes an answer one that may stand for the next. Embeddings and rankings draw nothing. An engine
 * remembers a response of the Responses API unless {@code store} is false, so that only those are the cache's. Calls of
 * tools are answers like any other, for it is the client who acts on them, unless the tool is marked as one that
 * changes something: by the annotations of the Model Context Protocol in its definition ({@code readOnlyHint} false or
 * {@code destructiveHint} true), or by its name in the configuration. Tools that the engine's side runs itself count as
 * marked.
 */
final class Eligibility {
  private static final Set<String> CLIENT_TOOLS = Set.of("function", "custom");

  /** Members that tie a request to an engine's state, or to a transfer of KV blocks that happens once. */
  private static final List<String> STATE = List.of(
      "previous_response_id", "conversation", "session_params", "container", "kv_transfer_params",
      "disaggregated_params", "bootstrap_host", "bootstrap_room");

  private static final List<String> TOOLS = List.of("tools", "functions");
  private static final List<String> HOSTED = List.of("mcp_servers", "web_search_options");

  private final Set<String> sampledProfiles;
  private final @Nullable Pattern sideEffectTools;

  Eligibility(AnswerSettings.EligibilitySettings settings) {
    this.sampledProfiles = settings.sampledProfiles();
    this.sideEffectTools = settings.sideEffectTools().isEmpty()
        ? null
        : Pattern.compile(settings.sideEffectTools().stream().map(Eligibility::regex).collect(Collectors.joining("|")));
  }

  /** Why the cache has nothing to do with a request of this API; null when it has. */
  @Nullable Bypass refusal(ApiPath api, JsonNode body, String profile) {
    if (isStateful(api, body)) {
      return Bypass.STATEFUL;
    }
    if (!api.generates()) {
      return null;
    }
    if (body.path("n").asLong(1) > 1 || body.path("best_of").asLong(1) > 1) {
      return Bypass.SEVERAL;
    }
    if (offersSideEffects(body)) {
      return Bypass.SIDE_EFFECTS;
    }
    boolean any = sampledProfiles.contains("*") || sampledProfiles.contains(profile);
    return any || isDeterministic(body) ? null : Bypass.SAMPLED;
  }

  private static boolean isDeterministic(JsonNode body) {
    JsonNode temperature = body.path("temperature");
    return (temperature.isNumber() && temperature.doubleValue() == 0) || body.path("seed").isIntegralNumber();
  }

  private static boolean isStateful(ApiPath api, JsonNode body) {
    for (String member : STATE) {
      if (body.hasNonNull(member)) {
        return true;
      }
    }
    JsonNode store = body.path("store");
    return body.path("background").asBoolean(false)
        || (api == ApiPath.RESPONSES ? !store.isBoolean() || store.booleanValue() : store.asBoolean(false));
  }

  private boolean offersSideEffects(JsonNode body) {
    for (String member : HOSTED) {
      if (body.hasNonNull(member)) {
        return true;
      }
    }
    for (String member : TOOLS) {
      for (JsonNode tool : body.path(member)) {
        if (isMarked(tool) || isMarked(tool.path("function"))
            || !CLIENT_TOOLS.contains(tool.path("type").asText("function"))) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean isMarked(JsonNode tool) {
    JsonNode annotations = tool.path("annotations");
    return !annotations.path("readOnlyHint").asBoolean(true)
        || annotations.path("destructiveHint").asBoolean(false)
        || (sideEffectTools != null && sideEffectTools.matcher(tool.path("name").asText()).matches());
  }

  private static String regex(String name) {
    return name.chars()
        .mapToObj(c -> c == '*' ? ".*" : Pattern.quote(Character.toString(c)))
        .collect(Collectors.joining());
  }
}

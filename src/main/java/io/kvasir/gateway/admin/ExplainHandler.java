package io.kvasir.gateway.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /admin/explain}: how a request would be routed now, stage by stage, and how by other profiles. It changes
 * nothing. Thread-safe.
 */
public final class ExplainHandler implements AdminResource {
  private static final Set<String> FIELDS = Set.of("path", "headers", "body", "profile", "compare");
  private static final String WANTED =
      "send {\"path\": \"/v1/chat/completions\", \"body\": {...}}, with headers, profile and compare where they matter";
  private static final int MOST_COMPARED = 8;

  private final JsonMapper json = new JsonMapper();
  private final DryRun dryRun;

  /** The gateway's dry run. */
  @FunctionalInterface
  public interface DryRun {
    /**
     * Answers as {@code /v1/route} does, whoever asks.
     *
     * @param request to the path of an API, not of the dry run
     * @param profile null for the one that the request would go by
     */
    Response answer(Exchange request, @Nullable String profile) throws InterruptedException;
  }

  /** Over a node's gateway. */
  public ExplainHandler(DryRun dryRun) {
    this.dryRun = dryRun;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.query("/admin/explain", this::explain));
  }

  private AdminResponse explain(AdminRequest request) throws AdminException {
    ObjectNode asked = request.body(WANTED);
    for (Map.Entry<String, JsonNode> field : asked.properties()) {
      if (!FIELDS.contains(field.getKey())) {
        throw AdminException.invalid(field.getKey(), "there is no field '" + field.getKey() + "' here; " + WANTED);
      }
    }
    Exchange explained = explained(request, asked);
    String profile = profile(asked);
    Set<String> others = compared(asked);
    ObjectNode answer = decided(explained, profile);
    if (!others.isEmpty()) {
      ObjectNode compared = answer.putObject("compared");
      for (String other : others) {
        compared.set(other, decided(explained, other));
      }
    }
    return AdminResponse.ok(answer);
  }

  private ObjectNode decided(Exchange explained, @Nullable String profile) throws AdminException {
    try {
      Response.Buffered answer = (Response.Buffered) dryRun.answer(explained, profile);
      JsonNode body = json.readTree(answer.body());
      if (answer.status() >= 400) {
        String why = body.at("/error/message").asText();
        throw AdminException.of(answer.status() == 404 ? 422 : answer.status(), why);
      }
      return (ObjectNode) body;
    } catch (IOException unreadable) {
      throw new IllegalStateException("the dry run's answer is no JSON", unreadable);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw AdminException.of(503, "the node is stopping");
    }
  }

  private Exchange explained(AdminRequest request, ObjectNode asked) throws AdminException {
    JsonNode path = asked.path("path");
    if (!path.isTextual() || !path.textValue().startsWith("/") || path.textValue().startsWith("/v1/route")) {
      throw AdminException.invalid("path", "path has to be that of an API, such as /v1/chat/completions");
    }
    if (!asked.path("body").isObject()) {
      throw AdminException.invalid("body", "body has to be the request's own, a JSON object");
    }
    try {
      return request.inner("POST", path.textValue(), headers(asked.path("headers")),
          json.writeValueAsString(asked.path("body")).getBytes(StandardCharsets.UTF_8));
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static Headers headers(JsonNode asked) throws AdminException {
    if (!asked.isMissingNode() && !asked.isObject()) {
      throw AdminException.invalid("headers", "headers has to be an object: {\"X-Session-ID\": \"...\"}");
    }
    Headers.Builder headers = Headers.builder().add("Content-Type", "application/json");
    for (Map.Entry<String, JsonNode> header : asked.properties()) {
      if (!header.getKey().matches("[!#$%&'*+.^_`|~0-9A-Za-z-]+") || !header.getValue().isTextual()
          || !header.getValue().textValue().matches("[\\t\\x20-\\x7e\\x80-\\xff]*")) {
        throw AdminException.invalid("headers", "'" + header.getKey() + "' is no header with a text of one line");
      }
      if (!header.getKey().equalsIgnoreCase("Content-Type")) {
        headers.add(header.getKey(), header.getValue().textValue());
      }
    }
    return headers.build();
  }

  private static @Nullable String profile(ObjectNode asked) throws AdminException {
    JsonNode profile = asked.path("profile");
    if (!profile.isMissingNode() && !profile.isNull() && !profile.isTextual()) {
      throw AdminException.invalid("profile", "profile has to be a profile's name");
    }
    return profile.textValue();
  }

  private static Set<String> compared(ObjectNode asked) throws AdminException {
    JsonNode compare = asked.path("compare");
    Set<String> profiles = new LinkedHashSet<>();
    for (JsonNode profile : compare) {
      profiles.add(profile.asText());
    }
    if (!(compare.isMissingNode() || compare.isArray()) || profiles.size() > MOST_COMPARED) {
      throw AdminException.invalid("compare", "compare has to be a list of up to %d profiles".formatted(MOST_COMPARED));
    }
    return profiles;
  }
}

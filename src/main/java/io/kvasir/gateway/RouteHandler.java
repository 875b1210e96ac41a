package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.GatewayPaths;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.request.InboundRequest;
import io.kvasir.gateway.request.ParsedRequest;
import io.kvasir.gateway.request.RequestParser;
import io.kvasir.gateway.request.RequestPreparer;
import io.kvasir.gateway.request.RequestStages;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;
import io.kvasir.prompt.Prompt;
import io.kvasir.prompt.PromptReason;
import io.kvasir.telemetry.DecisionJson;
import io.kvasir.telemetry.DecisionRecord;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/route}: a dry run. The request is read and decided on as it would be at its own path, which follows
 * ({@code /v1/route/v1/chat/completions}) or is inferred from the body ({@code messages}, {@code prompt} or {@code
 * input}); the answer is the decision. Nothing is reserved, no plugin remembers it, no worker gets it. Thread-safe.
 */
final class RouteHandler {
  private static final Headers JSON = Headers.of("Content-Type", "application/json");

  private final RequestParser parser;
  private final RequestPreparer preparer;
  private final Cells cells;
  private final ServedPaths paths;

  RouteHandler(RequestStages stages, Cells cells, ServedPaths paths) {
    this.parser = stages.parser();
    this.preparer = stages.preparer();
    this.cells = cells;
    this.paths = paths;
  }

  Response answer(InboundRequest inbound)
      throws ApiException, InterruptedException {
    if (!inbound.caller().grants().routingDetails()) {
      // It would show block by block what others have cached.
      throw new ApiException(
          ApiError.forbidden("Dry runs are for keys with routing-details = true: they show what is cached where."));
    }
    return answer(inbound, GatewayPaths.dryRunTarget(inbound.exchange().path()));
  }

  /**
   * The decision on a request that may see it.
   *
   * @param path of the API that it is for; empty to infer it
   */
  Response answer(InboundRequest inbound, String path) throws ApiException, InterruptedException {
    ParsedRequest parsed = read(inbound, path);
    RequestPreparer.PreparedRequest prepared = preparer.prepareDryRun(parsed, inbound);
    DecisionRecord decision = cells.explain(prepared.decision());
    if (Decision.NoWorkerReason.UNKNOWN_MODEL.label().equals(decision.refused())) {
      throw new ApiException(ApiError.unknownModel(parsed.model()));
    }
    ObjectNode body = DecisionJson.of(decision);
    tokensFrom(body, prepared.prompt());
    return new Response.Buffered(200, JSON, body.toPrettyString().concat("\n").getBytes(StandardCharsets.UTF_8));
  }

  private ParsedRequest read(InboundRequest inbound, String path)
      throws ApiException, InterruptedException {
    if (path.isEmpty()) {
      ParsedRequest parsed = parser.read(ApiPath.RESPONSES, ApiPath.RESPONSES.label(), inbound);
      ApiPath api = api(parsed.request().body(), inbound.exchange().headers());
      return parsed.withApi(api);
    }
    ApiPath api = paths.at(path);
    if (api == null || GatewayPaths.isDryRun(path)) {
      throw new ApiException(
          ApiError.of(
              404,
              "unknown_path",
              "There is nothing at %s to be routed. Put %s before the path of a request, as in %s/v1/chat/completions."
                  .formatted(path, GatewayPaths.DRY_RUN, GatewayPaths.DRY_RUN)));
    }
    return parser.read(api, path, inbound);
  }

  private static ApiPath api(@Nullable JsonNode body, Headers headers) throws ApiException {
    if (body != null && body.has("messages")) {
      return headers.has("anthropic-version") ? ApiPath.MESSAGES : ApiPath.CHAT;
    }
    if (body != null && body.has("prompt")) {
      return ApiPath.COMPLETIONS;
    }
    if (body != null && body.has("input")) {
      return ApiPath.RESPONSES;
    }
    throw new ApiException(
        ApiError.of(
            400,
            "unknown_api",
            ("The body has neither messages, prompt nor input, so its API is not known: put the path behind %s, as in"
                + " %s/v1/embeddings.").formatted(GatewayPaths.DRY_RUN, GatewayPaths.DRY_RUN)));
  }

  private static void tokensFrom(ObjectNode body, @Nullable Prompt prompt) {
    body.put("tokens_from", prompt == null ? "none" : prompt.mode().label());
    if (prompt != null && prompt.reason() != PromptReason.AS_CONFIGURED) {
      body.put("tokens_from_why", prompt.reason().label());
    }
  }
}

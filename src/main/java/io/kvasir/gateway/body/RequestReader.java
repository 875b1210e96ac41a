package io.kvasir.gateway.body;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.GateRefusal;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.JsonFault;
import io.kvasir.http.RequestMemory;
import java.io.IOException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Reads a request once. What is forwarded stays the client's own bytes; this only looks. A body whose
 * meaning is another's (unknown paths) may be anything; one that must name a model gets a clear error
 * when it does not. Thread-safe.
 */
public final class RequestReader {
  private final JsonTreeReader trees = new JsonTreeReader();

  /** Looks at a request; what it keeps of it is booked in {@code memory}. */
  public ApiRequest read(ApiPath api, Headers headers, byte[] body, RequestMemory memory) throws ApiException {
    if (api.requiresModel()) {
      JsonNode tree = object(body, memory);
      return request(api, tree, model(tree));
    }
    if (api.takesJson() && body.length > 0) {
      JsonNode tree = object(body, memory);
      return request(api, tree, text(tree, "model"));
    }
    // The form first: a request that is refused for it may be read once more as another API's.
    String formModel = formModel(api, headers, body);
    JsonNode tree = anything(headers, body, memory);
    return request(api, tree, tree == null ? formModel : text(tree, "model"));
  }

  private static ApiRequest request(
      ApiPath api, @Nullable JsonNode tree, @Nullable String model) {
    return new ApiRequest(
        model,
        tree != null && tree.path("stream").asBoolean(false),
        api == ApiPath.RESPONSES ? text(tree, "previous_response_id") : null,
        tree);
  }

  private JsonNode object(byte[] body, RequestMemory memory) throws ApiException {
    JsonNode tree;
    try {
      tree = tree(body, memory);
    } catch (JsonProcessingException e) {
      throw invalidJson(e);
    }
    if (!tree.isObject()) {
      throw new UnreadBodyException(
          tree.isMissingNode() ? UnreadBody.EMPTY : UnreadBody.UNFIT,
          ApiError.of(
              400,
              "invalid_json",
              "The request body is %s, not a JSON object. Send {\"model\": …, …}.".formatted(
                  tree.isMissingNode()
                      ? "empty"
                      : "a JSON " + tree.getNodeType().name().toLowerCase(Locale.ROOT))));
    }
    return tree;
  }

  /**
   * The body's tree.
   *
   * @throws JsonProcessingException when it is not JSON; with a location
   */
  private JsonNode tree(byte[] body, RequestMemory memory) throws ApiException, JsonProcessingException {
    try {
      return trees.read(body, memory);
    } catch (StreamConstraintsException e) {
      throw new UnreadBodyException(
          UnreadBody.EXCESSIVE,
          ApiError.of(
              400,
              "invalid_json",
              "The request body is more than the router reads: %s. Send it flatter or shorter.".formatted(
                  JsonFault.words(e))));
    } catch (JsonTreeReader.OutOfMemoryBudgetException e) {
      throw new UnreadBodyException(
          UnreadBody.MEMORY,
          e.fitsAlone()
              ? ApiError.of(503, "unavailable", "This router has no memory left to read the request body now.")
                  .retryAfter(1)
                  .refusedBy(GateRefusal.of(e.shortage()))
              : ApiError.of(
                      413,
                      "request_too_large",
                      "The request body has more values than this router has memory for. Send fewer objects and lists.")
                  .refusedBy(GateRefusal.of(e.shortage())));
    } catch (JsonProcessingException e) {
      throw e;
    } catch (IOException e) {
      throw new AssertionError("reading an array", e);
    }
  }

  private static String model(JsonNode tree) throws ApiException {
    JsonNode model = tree.get("model");
    String wrong = model == null ? "is missing"
        : !model.isTextual() ? "must be a string, not " + model.getNodeType().name().toLowerCase(Locale.ROOT)
        : model.textValue().isBlank() ? "is blank"
        : null;
    if (model == null || wrong != null) {
      throw new UnreadBodyException(
          UnreadBody.UNFIT,
          ApiError.badField(
              "model",
              "invalid_model",
              "Field 'model' %s. Name one of the models that GET /v1/models lists.".formatted(wrong)));
    }
    return model.textValue();
  }

  private @Nullable JsonNode anything(Headers headers, byte[] body, RequestMemory memory) throws ApiException {
    String type = headers.first("Content-Type");
    if (body.length == 0 || (type != null && !type.toLowerCase(Locale.ROOT).contains("json"))) {
      // It is not read, so what was booked for that is not needed.
      memory.free((long) RequestMemory.READING_PER_BYTE * body.length);
      return null;
    }
    try {
      JsonNode tree = tree(body, memory);
      return tree.isObject() ? tree : null;
    } catch (JsonProcessingException e) {
      if (type != null) {
        // An engine that reads more than JSON in it would see members that nobody here has seen.
        throw invalidJson(e);
      }
      return null;
    }
  }

  private static ApiException invalidJson(JsonProcessingException e) {
    return new UnreadBodyException(
        UnreadBody.MALFORMED,
        ApiError.of(
            400,
            "invalid_json",
            "The request body is not valid JSON: %s. Send one JSON object.".formatted(JsonFault.placed(e))));
  }

  private static @Nullable String formModel(ApiPath api, Headers headers, byte[] body) throws ApiException {
    String type = headers.first("Content-Type");
    if (!MultipartForm.matches(type)) {
      return null;
    }
    try {
      return MultipartForm.field(body, String.valueOf(type), "model");
    } catch (ApiException malformed) {
      if (api == ApiPath.OTHER) {
        // What an unknown API takes is its own business.
        return null;
      }
      throw malformed;
    }
  }

  private static @Nullable String text(@Nullable JsonNode tree, String field) {
    JsonNode value = tree == null ? null : tree.get(field);
    return value == null || !value.isTextual() || value.textValue().isBlank() ? null : value.textValue();
  }
}

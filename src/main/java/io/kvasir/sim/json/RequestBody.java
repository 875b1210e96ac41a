package io.kvasir.sim.json;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A request's JSON object, read field by field with the engine's complaints about what does not fit. */
public record RequestBody(ObjectNode json) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Reads a body, which must be an object. */
  public static RequestBody parse(byte[] bytes) throws EngineApiException {
    JsonNode json;
    try {
      json = JSON.readTree(bytes);
    } catch (IOException e) {
      throw EngineApiException.badRequest(
          "[{'type': 'json_invalid', 'loc': ('body', 0), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': '"
              + String.valueOf(e.getMessage()).lines().findFirst().orElse("") + "'}}]");
    }
    if (!(json instanceof ObjectNode object)) {
      throw EngineApiException.badRequest(
          "[{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid dictionary or object "
              + "to extract fields from', 'input': None}]");
    }
    return new RequestBody(object);
  }

  /** A field that is there and not null, or null. */
  public @Nullable JsonNode get(String field) {
    JsonNode value = json.get(field);
    return value == null || value.isNull() ? null : value;
  }

  /** A text, or null when the field is absent. */
  public @Nullable String text(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value != null && !value.isTextual()) {
      throw invalid("string_type", field, "Input should be a valid string");
    }
    return value == null ? null : value.textValue();
  }

  /** A whole number, or null when the field is absent. */
  public @Nullable Integer integer(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value != null && !(value.isNumber() && value.canConvertToExactIntegral() && value.canConvertToInt())) {
      throw invalid("int_type", field, "Input should be a valid integer");
    }
    return value == null ? null : value.intValue();
  }

  /** Whether a field is true; false when it is absent. */
  public boolean flag(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value != null && !value.isBoolean()) {
      throw invalid("bool_type", field, "Input should be a valid boolean");
    }
    return value != null && value.booleanValue();
  }

  /** An object's fields; empty when the field is absent. */
  public RequestBody object(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value == null) {
      return new RequestBody(JSON.createObjectNode());
    }
    if (!(value instanceof ObjectNode object)) {
      throw invalid("model_attributes_type", field, "Input should be a valid dictionary");
    }
    return new RequestBody(object);
  }

  /** As the engine complains of a field that does not fit. */
  public static EngineApiException invalid(String type, String field, String message) {
    return EngineApiException.badRequest(
        "[{'type': '" + type + "', 'loc': ('body', '" + field + "'), 'msg': '" + message + "'}]", field);
  }
}

package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A request's JSON object, read field by field with the engine's complaints about what does not fit. */
record RequestBody(ObjectNode json) {
  private static final ObjectMapper JSON = new ObjectMapper();

  static RequestBody parse(byte[] bytes) throws EngineApiException {
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
  @Nullable JsonNode get(String field) {
    JsonNode value = json.get(field);
    return value == null || value.isNull() ? null : value;
  }

  @Nullable String text(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value != null && !value.isTextual()) {
      throw invalid("string_type", field, "Input should be a valid string");
    }
    return value == null ? null : value.textValue();
  }

  @Nullable Integer integer(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value != null && !(value.isNumber() && value.canConvertToExactIntegral() && value.canConvertToInt())) {
      throw invalid("int_type", field, "Input should be a valid integer");
    }
    return value == null ? null : value.intValue();
  }

  boolean flag(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value != null && !value.isBoolean()) {
      throw invalid("bool_type", field, "Input should be a valid boolean");
    }
    return value != null && value.booleanValue();
  }

  /** An object's fields; empty when the field is absent. */
  RequestBody object(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value == null) {
      return new RequestBody(JSON.createObjectNode());
    }
    if (!(value instanceof ObjectNode object)) {
      throw invalid("model_attributes_type", field, "Input should be a valid dictionary");
    }
    return new RequestBody(object);
  }

  static EngineApiException invalid(String type, String field, String message) {
    return EngineApiException.badRequest(
        "[{'type': '" + type + "', 'loc': ('body', '" + field + "'), 'msg': '" + message + "'}]", field);
  }
}

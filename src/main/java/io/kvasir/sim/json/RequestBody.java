package io.kvasir.sim.json;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A request's JSON object, read field by field with vLLM's complaints about what does not fit. As there, a text that is
 * a number is one.
 *
 * @param json the object
 * @param path where it stands in the request's body, such as {@code body}
 */
public record RequestBody(ObjectNode json, String path) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern INTEGER = Pattern.compile("\\s*[+-]?\\d{1,18}(\\.0*)?\\s*");
  private static final Pattern NUMBER = Pattern.compile("\\s*[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?\\s*");
  private static final int LONGEST_INPUT = 200;

  /** A whole body. */
  public RequestBody(ObjectNode json) {
    this(json, "body");
  }

  /** Reads a body, which must be an object. */
  public static RequestBody parse(byte[] bytes) throws EngineApiException {
    if (bytes.length == 0) {
      throw EngineApiException.fields(
          "{'type': 'missing', 'loc': 'body', 'msg': 'Field required', 'input': 'None'}", "body");
    }
    JsonNode json;
    try {
      json = JSON.readTree(bytes);
    } catch (IOException e) {
      long offset = e instanceof JsonProcessingException at && at.getLocation() != null
          ? Math.max(0, at.getLocation().getByteOffset()) : 0;
      throw EngineApiException.fields(
          "{'type': 'json_invalid', 'loc': 'body." + offset + "', 'msg': 'JSON decode error', "
              + "'input': '<dict of 0 items>', 'ctx': {'error': 'Expecting value'}}",
          "body." + offset);
    }
    if (!(json instanceof ObjectNode object)) {
      throw EngineApiException.fields(
          "{'type': 'model_attributes_type', 'loc': 'body', 'msg': 'Input should be a valid dictionary or object to "
              + "extract fields from', 'input': '" + input(json) + "'}",
          "body");
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
    if (value == null) {
      return null;
    }
    if (value.isTextual()) {
      if (!INTEGER.matcher(value.textValue()).matches()) {
        throw invalid(
            "int_parsing", field, "Input should be a valid integer, unable to parse string as an integer");
      }
      return (int) Math.clamp(Double.parseDouble(value.textValue()), Integer.MIN_VALUE, Integer.MAX_VALUE);
    }
    if (!value.isNumber()) {
      throw invalid("int_type", field, "Input should be a valid integer");
    }
    if (!value.canConvertToExactIntegral()) {
      throw invalid("int_from_float", field, "Input should be a valid integer, got a number with a fractional part");
    }
    return (int) Math.clamp(value.doubleValue(), Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  /** A number, or null when the field is absent. */
  public @Nullable Double number(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value == null) {
      return null;
    }
    if (value.isTextual()) {
      if (!NUMBER.matcher(value.textValue()).matches()) {
        throw invalid("float_parsing", field, "Input should be a valid number, unable to parse string as a number");
      }
      return Double.valueOf(value.textValue().strip());
    }
    if (!value.isNumber()) {
      throw invalid("float_type", field, "Input should be a valid number");
    }
    return value.doubleValue();
  }

  /** Whether a field is true; false when it is absent. */
  public boolean flag(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value == null || value.isBoolean()) {
      return value != null && value.booleanValue();
    }
    return switch (value.asText().toLowerCase(Locale.ROOT)) {
      case "1", "true", "on", "yes", "y", "t" -> true;
      case "0", "false", "off", "no", "n", "f" -> false;
      default -> throw value.isTextual()
          ? invalid("bool_parsing", field, "Input should be a valid boolean, unable to interpret input")
          : invalid("bool_type", field, "Input should be a valid boolean");
    };
  }

  /** An object's fields; empty when the field is absent. */
  public RequestBody object(String field) throws EngineApiException {
    JsonNode value = get(field);
    if (value == null) {
      return new RequestBody(JSON.createObjectNode(), path + "." + field);
    }
    if (!(value instanceof ObjectNode object)) {
      throw invalid(
          "model_attributes_type", field, "Input should be a valid dictionary or object to extract fields from");
    }
    return new RequestBody(object, path + "." + field);
  }

  /** As the engine complains of a field that does not fit. */
  public EngineApiException invalid(String type, String field, String message) {
    JsonNode value = json.get(field);
    return EngineApiException.fields(
        "{'type': '" + type + "', 'loc': '" + path + "." + field + "', 'msg': " + quoted(message)
            + (value == null ? "" : ", 'input': '" + input(value) + "'") + "}",
        path + "." + field);
  }

  /** Without what the field has, for one within a list. */
  public static EngineApiException invalid(String type, String where, String message, JsonNode value) {
    return EngineApiException.fields(
        "{'type': '" + type + "', 'loc': 'body." + where + "', 'msg': " + quoted(message) + ", 'input': '"
            + input(value) + "'}",
        "body." + where);
  }

  /** As the engine complains of a text that is none of those that are allowed. */
  public static EngineApiException literal(String where, String allowed, JsonNode value) {
    return EngineApiException.fields(
        "{'type': 'literal_error', 'loc': 'body." + where + "', 'msg': " + quoted("Input should be " + allowed)
            + ", 'input': '" + input(value) + "', 'ctx': {'expected': " + quoted(allowed) + "}}",
        "body." + where);
  }

  /** As the engine complains of a value that is of the right type and still wrong. */
  public EngineApiException value(String field, String message) {
    JsonNode value = json.get(field);
    return EngineApiException.fields(
        "{'type': 'value_error', 'loc': '" + path + "." + field + "', 'msg': " + quoted("Value error, " + message)
            + ", 'input': '" + (value == null ? "None" : input(value)) + "', 'ctx': {'error': ValueError("
            + quoted(message) + ")}}",
        path + "." + field);
  }

  /** As the engine complains of a field that is not there. */
  public EngineApiException missing(String field) {
    return missing(field, json);
  }

  /** As the engine complains of a field that is not in an object within the body. */
  public static EngineApiException missing(String where, JsonNode in) {
    return EngineApiException.fields(
        "{'type': 'missing', 'loc': 'body." + where + "', 'msg': 'Field required', 'input': '" + input(in) + "'}",
        "body." + where);
  }

  /** As Python writes a text. */
  private static String quoted(String text) {
    return text.contains("'") ? "\"" + text + "\"" : "'" + text + "'";
  }

  /** As vLLM repeats what it was sent: containers by their size, long texts cut. */
  private static String input(JsonNode value) {
    if (value.isContainerNode()) {
      return "<" + (value.isArray() ? "list" : "dict") + " of " + value.size() + " items>";
    }
    if (value.isNull()) {
      return "None";
    }
    String text = value.isBoolean() ? value.booleanValue() ? "True" : "False" : value.asText();
    return text.length() > LONGEST_INPUT ? text.substring(0, LONGEST_INPUT) + "...[truncated]" : text;
  }
}

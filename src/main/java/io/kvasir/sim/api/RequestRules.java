package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What vLLM 0.32 refuses of a request before it looks at the model or the prompt, in its words. */
final class RequestRules {
  private static final String TOOL_CHOICE = "tool_choice";
  private static final String STRUCTURED_OUTPUTS = "structured_outputs";
  private static final String LOGPROBS = "logprobs";
  private static final String TOP_LOGPROBS = "top_logprobs";
  private static final String EFFORTS = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'";
  private static final int LONGEST_SALT = 128;

  private RequestRules() {}

  /** Of {@code /v1/chat/completions}. */
  static void checkChat(RequestBody body) throws EngineApiException {
    if (isTrue(body, "continue_final_message") && isTrue(body, "add_generation_prompt")) {
      throw EngineApiException.badRequest(
          "Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
    }
    ToolRules.checkChat(body);
    checkStructuredOutputs(body, null);
    checkPromptLogprobs(body, TOP_LOGPROBS);
    JsonNode top = body.get(TOP_LOGPROBS);
    if (top != null && top.doubleValue() != 0 && !isTrue(body, LOGPROBS)) {
      throw EngineApiException.parameter(
          "when using `top_logprobs`, `logprobs` must be set to true.", TOP_LOGPROBS);
    }
    checkStream(body);
    checkResponseFormat(body);
    checkSalt(body);
    String effort = body.text("reasoning_effort");
    if (effort != null && !EFFORTS.contains("'" + effort + "'")) {
      throw RequestBody.literal("reasoning_effort", EFFORTS, body.json().path("reasoning_effort"));
    }
  }

  /** Of {@code /v1/completions}. */
  static void checkCompletion(RequestBody body) throws EngineApiException {
    JsonNode prompt = body.get("prompt");
    if (prompt == null || (prompt.isTextual() && prompt.textValue().isEmpty())) {
      throw EngineApiException.parameter("Either prompt or prompt_embeds must be provided and non-empty.", "prompt");
    }
    checkStream(body);
    checkPromptLogprobs(body, LOGPROBS);
    checkStructuredOutputs(body, STRUCTURED_OUTPUTS);
    checkResponseFormat(body);
    checkSalt(body);
  }

  /** Of {@code /v1/responses}. */
  static void checkResponse(RequestBody body) throws EngineApiException {
    ToolRules.checkResponse(body);
    JsonNode format = body.json().path("text").path("format");
    if (format.isObject() && !Set.of("text", "json_object", "json_schema").contains(format.path("type").asText())) {
      throw RequestBody.literal("text.format.ResponseFormatText.type", "'text'", format.path("type"));
    }
    for (String field : List.of("name", "schema")) {
      if (format.path("type").asText().equals("json_schema") && !format.has(field)) {
        throw RequestBody.missing("text.format.ResponseFormatTextJSONSchemaConfig." + field, format);
      }
    }
    if (body.get("prompt") != null) {
      throw EngineApiException.parameter("prompt template is not supported", "prompt");
    }
    checkStream(body);
    checkSalt(body);
    JsonNode input = body.get("input");
    if (input == null) {
      throw body.missing("input");
    }
    if (!input.isTextual() && !input.isArray()) {
      throw body.invalid("string_type", "input", "Input should be a valid string");
    }
  }

  /** Of {@code /v1/messages}, in the order of its fields. */
  static void checkMessage(RequestBody body) throws EngineApiException {
    for (String field : List.of("model", "messages", "max_tokens")) {
      if (!body.json().has(field)) {
        throw body.missing(field);
      }
    }
    checkSalt(body);
    if (String.valueOf(body.text("model")).isEmpty()) {
      throw body.value("model", "Model is required");
    }
    JsonNode messages = body.get("messages");
    if (messages == null || !messages.isArray()) {
      throw body.invalid("list_type", "messages", "Input should be a valid list");
    }
    for (int i = 0; i < messages.size(); i++) {
      JsonNode role = messages.get(i).path("role");
      if (!Set.of("user", "assistant", "system").contains(role.asText())) {
        throw RequestBody.literal("messages." + i + ".role", "'user', 'assistant' or 'system'", role);
      }
    }
    Integer most = body.integer("max_tokens");
    if (most == null || most < 1) {
      throw body.value("max_tokens", "max_tokens must be positive");
    }
    ToolRules.checkMessage(body);
  }

  private static void checkStructuredOutputs(RequestBody body, @Nullable String param) throws EngineApiException {
    JsonNode given = body.get(STRUCTURED_OUTPUTS);
    if (given == null) {
      return;
    }
    if (!given.isObject()) {
      throw body.invalid("dataclass_type", STRUCTURED_OUTPUTS, "Input should be a dictionary or an instance of "
          + "StructuredOutputsParams");
    }
    long kinds = List.of("json", "regex", "choice").stream().filter(given::hasNonNull).count();
    if (kinds > 1) {
      String message =
          "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice').";
      throw param == null ? EngineApiException.badRequest(message) : EngineApiException.parameter(message, param);
    }
    JsonNode choice = body.get(TOOL_CHOICE);
    if (kinds > 0 && choice != null && !Set.of("none", "auto", "required").contains(choice.asText())) {
      throw EngineApiException.badRequest(
          "You can only either use constraints for structured outputs or tools, not both.");
    }
    long all = kinds + List.of("grammar", "json_object", "structural_tag").stream().filter(given::hasNonNull).count();
    if (all == 0) {
      throw noConstraint();
    }
  }

  /** {@code prompt_logprobs}, and {@code sampled}, the answer's. */
  private static void checkPromptLogprobs(RequestBody body, String sampled) throws EngineApiException {
    for (String field : List.of("prompt_logprobs", sampled)) {
      JsonNode value = body.get(field);
      if (value != null && !value.isNumber() && !value.isBoolean()) {
        throw EngineApiException.parameter("`" + field + "` must be an integer.", field, value.asText());
      }
      double number = value == null ? 0 : value.doubleValue();
      if (field.equals("prompt_logprobs") && isTrue(body, "stream") && (number > 0 || number == -1)) {
        throw EngineApiException.parameter("`prompt_logprobs` are not available when `stream=True`.", field);
      }
      if (value != null && number < 0 && number != -1) {
        throw EngineApiException.parameter("`" + field + "` must be a positive value or -1.", field, value);
      }
    }
  }

  private static void checkStream(RequestBody body) throws EngineApiException {
    JsonNode options = body.get("stream_options");
    if (options != null && !options.isEmpty() && !isTrue(body, "stream")) {
      throw EngineApiException.parameter("Stream options can only be defined when `stream=True`.", "stream_options");
    }
  }

  private static void checkResponseFormat(RequestBody body) throws EngineApiException {
    JsonNode format = body.get("response_format");
    if (format == null) {
      return;
    }
    String type = format.path("type").asText();
    JsonNode schema = format.path("json_schema");
    if (type.equals("json_schema") && (schema.isMissingNode() || schema.isNull())) {
      throw EngineApiException.parameter(
          "When response_format type is 'json_schema', the 'json_schema' field must be provided.", "response_format");
    }
    if (!Set.of("text", "json_object", "json_schema", "structural_tag").contains(type)) {
      throw RequestBody.literal(
          "response_format.type", "'text', 'json_object' or 'json_schema'", format.path("type"));
    }
    if (type.equals("json_schema") && !schema.has("name")) {
      throw RequestBody.missing("response_format.json_schema.name", schema);
    }
    if (type.equals("json_schema") && !schema.hasNonNull("schema")) {
      throw noConstraint();
    }
  }

  private static EngineApiException noConstraint() {
    return EngineApiException.badRequest(
        "You must use one kind of structured outputs constraint but none are specified: {'json': None, 'regex': None, "
            + "'choice': None, 'grammar': None, 'json_object': None, 'disable_any_whitespace': False, "
            + "'disable_additional_properties': False, 'whitespace_pattern': None, 'structural_tag': None, "
            + "'_backend': None, '_backend_was_auto': False}");
  }

  private static void checkSalt(RequestBody body) throws EngineApiException {
    JsonNode salt = body.get("cache_salt");
    if (salt == null) {
      return;
    }
    if (!salt.isTextual() || salt.textValue().isEmpty()) {
      throw EngineApiException.parameter(
          "Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt");
    }
    if (salt.textValue().length() > LONGEST_SALT || salt.textValue().matches("(?s).*[@/\\\\\\x00].*")) {
      throw EngineApiException.parameter(
          "Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL.",
          "cache_salt");
    }
  }

  private static boolean isTrue(RequestBody body, String field) {
    JsonNode value = body.get(field);
    return value != null && value.asBoolean();
  }
}

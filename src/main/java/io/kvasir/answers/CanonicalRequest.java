package io.kvasir.answers;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Writes a request down so that two are equal bytes exactly when every engine has to read the same from both.
 *
 * <p>Blanks, escapes, the order of members and the spelling of numbers have no meaning where engines read by name: at
 * the top of the body, in messages and in the few objects of {@link #READ_BY_NAME}. Everything else (tools, schemas,
 * documents, template arguments, what we do not know) is shown to the model as it stands, in its own order, and is
 * therefore written as it stands: a tool whose parameters come in another order is another prompt. Every part is led by
 * its length, so that no part can pose as another.
 */
final class CanonicalRequest {
  private static final byte FORMAT = 1;

  /** Members of the body that hold nothing a template prints as it stands, but for {@link #PRINTED} in them. */
  private static final Set<String> READ_BY_NAME = Set.of(
      "messages", "input", "system", "stream_options", "logit_bias", "reasoning", "thinking", "metadata");

  /** Within those: calls of tools and their results, which templates print. */
  private static final Set<String> PRINTED = Set.of(
      "tool_calls", "function_call", "arguments", "input", "output", "parameters", "input_schema");

  private final List<String> keyHeaders;
  private final Set<String> ignoredFields;

  CanonicalRequest(AnswerSettings.KeySettings settings) {
    this.keyHeaders = settings.headers();
    this.ignoredFields = settings.ignoredFields();
  }

  /** The key of a request whose body is an object. */
  AnswerKey of(AnswerRequest request, JsonNode body) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(1024);
    out.write(FORMAT);
    part(out, request.owner());
    part(out, request.tenant());
    part(out, request.model());
    part(out, request.profile());
    part(out, request.path());
    part(out, request.query());
    for (String name : keyHeaders) {
      String value = request.header().apply(name);
      part(out, value == null ? "0" : "1" + value);
    }
    StringBuilder text = new StringBuilder(1024);
    text.append('{');
    sorted(body).forEach((name, value) -> {
      if (!ignoredFields.contains(name)) {
        string(text, name);
        text.append(':');
        if (READ_BY_NAME.contains(name) || value.isValueNode()) {
          byName(text, value);
        } else {
          text.append(value);
        }
        text.append(',');
      }
    });
    text.append('}');
    part(out, text.toString());
    return new AnswerKey(request.tenant(), request.model(), out.toByteArray());
  }

  private static void byName(StringBuilder text, JsonNode node) {
    if (node.isObject()) {
      text.append('{');
      sorted(node).forEach((name, value) -> {
        string(text, name);
        text.append(':');
        if (PRINTED.contains(name)) {
          text.append(value);
        } else {
          byName(text, value);
        }
        text.append(',');
      });
      text.append('}');
    } else if (node.isArray()) {
      text.append('[');
      for (JsonNode element : node) {
        byName(text, element);
        text.append(',');
      }
      text.append(']');
    } else if (node.isNumber() && isFinite(node)) {
      text.append(node.decimalValue().stripTrailingZeros());
    } else {
      text.append(node);
    }
  }

  /** A number too large for a double was read as infinity: nothing to calculate with. */
  private static boolean isFinite(JsonNode number) {
    return !number.isDouble() || Double.isFinite(number.doubleValue());
  }

  private static Map<String, JsonNode> sorted(JsonNode object) {
    Map<String, JsonNode> sorted = new TreeMap<>();
    object.properties().forEach(member -> sorted.put(member.getKey(), member.getValue()));
    return sorted;
  }

  private static void string(StringBuilder text, String value) {
    text.append('"');
    JsonStringEncoder.getInstance().quoteAsString(value, text);
    text.append('"');
  }

  private static void part(ByteArrayOutputStream out, String value) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    for (int shift = 24; shift >= 0; shift -= 8) {
      out.write(bytes.length >>> shift);
    }
    out.writeBytes(bytes);
  }
}

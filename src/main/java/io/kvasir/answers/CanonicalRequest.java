package io.kvasir.answers;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Digests a request so that two have the same digest exactly when every engine has to read the same from both.
 *
 * <p>Blanks, escapes, the order of members and the spelling of numbers have no meaning where engines read by name: at
 * the top of the body, in messages and in the few objects of {@link #READ_BY_NAME}. Everything else (tools, schemas,
 * documents, template arguments, what we do not know) is shown to the model as it stands, in its own order, and is
 * therefore digested as it stands: a tool whose parameters come in another order is another prompt.
 */
final class CanonicalRequest {
  /** Of what is digested: another one when the same request begins to be digested in another way. */
  private static final String FORMAT = "2";

  /** As much text is collected before it is digested. */
  private static final int PIECE = 8192;

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
    RequestDigest digest = new RequestDigest();
    digest.part(FORMAT);
    digest.part(request.owner());
    digest.part(request.tenant());
    digest.part(request.model());
    digest.part(request.profile());
    digest.part(request.path());
    digest.part(request.query());
    for (String name : keyHeaders) {
      String value = request.header().apply(name);
      digest.part(value == null ? "0" : "1" + value);
    }
    new CanonicalText(digest).body(body);
    return new AnswerKey(request.tenant(), request.model(), digest.finish());
  }

  /** A body's canonical text, digested piece by piece, so that it never stands in memory whole. */
  private final class CanonicalText {
    private final StringBuilder text = new StringBuilder(1024);
    private final RequestDigest digest;

    CanonicalText(RequestDigest digest) {
      this.digest = digest;
    }

    void body(JsonNode body) {
      text.append('{');
      sorted(body).forEach((name, value) -> {
        if (!ignoredFields.contains(name)) {
          name(name);
          if (READ_BY_NAME.contains(name) || value.isValueNode()) {
            byName(value);
          } else {
            text.append(value);
          }
          next();
        }
      });
      text.append('}');
      digest.characters(text);
    }

    private void byName(JsonNode node) {
      if (node.isObject()) {
        text.append('{');
        sorted(node).forEach((name, value) -> {
          name(name);
          if (PRINTED.contains(name)) {
            text.append(value);
          } else {
            byName(value);
          }
          next();
        });
        text.append('}');
      } else if (node.isArray()) {
        text.append('[');
        for (JsonNode element : node) {
          byName(element);
          next();
        }
        text.append(']');
      } else if (node.isNumber() && isFinite(node)) {
        text.append(node.decimalValue().stripTrailingZeros());
      } else {
        text.append(node);
      }
    }

    private void name(String name) {
      text.append('"');
      JsonStringEncoder.getInstance().quoteAsString(name, text);
      text.append("\":");
    }

    private void next() {
      text.append(',');
      if (text.length() > PIECE) {
        digest.characters(text);
        // Not just emptied: a long text's room would be kept.
        text.setLength(0);
        text.trimToSize();
      }
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
}

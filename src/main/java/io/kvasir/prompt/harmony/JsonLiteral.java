package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.math.BigDecimal;
import java.util.StringJoiner;

/** JSON as the reference library prints it (Rust's {@code serde_json}): without white space, fields as they came. */
final class JsonLiteral {
  private static final int LONGEST_WHOLE = 16;
  private static final int MOST_ZEROS = 4;

  private JsonLiteral() {}

  static String of(JsonNode value) {
    if (value.isObject()) {
      StringJoiner fields = new StringJoiner(",", "{", "}");
      value.properties().forEach(
          field -> fields.add(TextNode.valueOf(field.getKey()) + ":" + of(field.getValue())));
      return fields.toString();
    }
    if (value.isArray()) {
      StringJoiner elements = new StringJoiner(",", "[", "]");
      value.forEach(element -> elements.add(of(element)));
      return elements.toString();
    }
    return value.isNumber() ? number(value) : value.toString();
  }

  /** Whole numbers of 64 bits, with or without a sign, and doubles. */
  private static String number(JsonNode value) {
    if (value.isIntegralNumber()
        && (value.canConvertToLong()
            || (value.bigIntegerValue().signum() > 0 && value.bigIntegerValue().bitLength() <= Long.SIZE))) {
      return value.asText();
    }
    double number = value.doubleValue();
    if (number == 0) {
      return 1 / number < 0 ? "-0.0" : "0.0";
    }
    BigDecimal shortest = new BigDecimal(Double.toString(Math.abs(number))).stripTrailingZeros();
    String digits = shortest.unscaledValue().toString();
    int whole = digits.length() - shortest.scale();
    String text;
    if (whole > 0 && whole <= LONGEST_WHOLE) {
      text = shortest.scale() > 0 ? shortest.toPlainString() : shortest.toPlainString() + ".0";
    } else if (whole <= 0 && whole >= -MOST_ZEROS) {
      text = shortest.toPlainString();
    } else {
      String fraction = digits.length() == 1 ? "" : "." + digits.substring(1);
      text = digits.charAt(0) + fraction + "e" + (whole > 0 ? "+" : "") + (whole - 1);
    }
    return number < 0 ? "-" + text : text;
  }
}

package io.kvasir.lab.trace;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** A JSON object of a trace, whose fields are checked as they are read. */
final class TraceRecord {
  private static final int SHOWN = 40;

  private final JsonNode json;
  private final int line;
  private final String path;

  /** A record that ends in a line. */
  TraceRecord(JsonNode json, int line) {
    this(json, line, "");
  }

  private TraceRecord(JsonNode json, int line, String path) {
    this.json = json;
    this.line = line;
    this.path = path;
  }

  boolean has(String field) {
    return json.hasNonNull(field);
  }

  /** A number of tokens: 0 counts as 1, since an engine computes at least one and answers with at least one. */
  int tokens(String field) {
    JsonNode value = json.path(field);
    if (!value.canConvertToInt() || !value.isIntegralNumber() || value.intValue() < 0) {
      throw fault(field, "a whole number of tokens");
    }
    return Math.max(1, value.intValue());
  }

  /** A number that may be missing. */
  double number(String field, double otherwise) {
    if (has(field) && !json.path(field).isNumber()) {
      throw fault(field, "a number");
    }
    return has(field) ? json.path(field).doubleValue() : otherwise;
  }

  /** A name that may be missing. */
  String name(String field, String otherwise) {
    if (has(field) && !json.path(field).isValueNode()) {
      throw fault(field, "a name");
    }
    return has(field) ? json.path(field).asText() : otherwise;
  }

  /** A text: empty when it is missing, as JSON when it is made of parts. */
  String text(String field) {
    JsonNode value = json.path(field);
    return !has(field) ? "" : value.isTextual() ? value.textValue() : value.toString();
  }

  /** The numbers of blocks. */
  long[] ids(String field) {
    JsonNode values = json.path(field);
    if (!values.isArray()) {
      throw fault(field, "a list of blocks' numbers");
    }
    long[] ids = new long[values.size()];
    for (int i = 0; i < ids.length; i++) {
      if (!values.get(i).isIntegralNumber()) {
        throw fault(field, "a list of blocks' whole numbers");
      }
      ids[i] = values.get(i).longValue();
    }
    return ids;
  }

  /** The objects of a list. */
  List<TraceRecord> records(String field) {
    if (!json.path(field).isArray()) {
      throw fault(field, "a list");
    }
    List<TraceRecord> records = new ArrayList<>();
    for (JsonNode each : json.path(field)) {
      if (!each.isObject()) {
        throw fault(field, "a list of objects");
      }
      records.add(new TraceRecord(each, line, path + field + "[" + records.size() + "]."));
    }
    return records;
  }

  /** The fault of a field that should be something else. */
  IllegalArgumentException fault(String field, String expected) {
    String is = has(field) ? json.path(field).toString() : "missing";
    String shown = is.length() > SHOWN ? is.substring(0, SHOWN) + "…" : is;
    return new IllegalArgumentException(
        "line " + line + ": " + path + field + " must be " + expected + ", is " + shown);
  }
}

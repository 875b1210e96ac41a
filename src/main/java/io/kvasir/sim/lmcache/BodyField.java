package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.lmcache.FastApi.HttpException;
import java.util.ArrayList;
import java.util.List;

/**
 * A value in a request's body, and where it is, for errors as Pydantic words them.
 *
 * @param location names of members and indices of items, from the body on
 * @param value what is there
 */
record BodyField(List<Object> location, JsonNode value) {
  /** Copies the list. */
  BodyField {
    location = List.copyOf(location);
  }

  /** A whole body. */
  static BodyField of(JsonNode body) {
    return new BodyField(List.of("body"), body);
  }

  /** A member that has to be there. */
  BodyField get(String name) throws HttpException {
    BodyField member = at(name, value.path(name));
    if (member.value.isMissingNode()) {
      throw new BodyField(member.location, value).invalid("missing", "Field required");
    }
    return member;
  }

  /** The items of a list; none when it is not there. */
  List<BodyField> items(String name) throws HttpException {
    JsonNode list = value.path(name);
    if (!list.isMissingNode() && !list.isArray()) {
      throw at(name, list).invalid("list_type", "Input should be a valid list");
    }
    List<BodyField> items = new ArrayList<>();
    for (JsonNode item : list) {
      items.add(at(name, list).at(items.size(), item));
    }
    return items;
  }

  String text() throws HttpException {
    if (!value.isTextual()) {
      throw invalid("string_type", "Input should be a valid string");
    }
    return value.textValue();
  }

  /** A text that may be missing. */
  String text(String name, String otherwise) throws HttpException {
    return value.has(name) ? get(name).text() : otherwise;
  }

  long integer() throws HttpException {
    if (!value.isIntegralNumber() || !value.canConvertToLong()) {
      throw invalid("int_type", "Input should be a valid integer");
    }
    return value.longValue();
  }

  /** A number that may be missing. */
  long integer(String name, long otherwise) throws HttpException {
    return value.has(name) ? get(name).integer() : otherwise;
  }

  /** The error of a value that has the right type, and cannot be meant. */
  HttpException invalid(String fault) {
    ArrayNode detail = detail("value_error", "Value error, " + fault);
    ((ObjectNode) detail.get(0)).putObject("ctx").putObject("error");
    return new HttpException(422, detail);
  }

  /** The error of a text that is none of a few. */
  HttpException notOneOf(String expected) {
    ArrayNode detail = detail("enum", "Input should be " + expected);
    ((ObjectNode) detail.get(0)).putObject("ctx").put("expected", expected);
    return new HttpException(422, detail);
  }

  /** The error of a number below the least one. */
  HttpException tooSmall(int least) {
    ArrayNode detail = detail("greater_than_equal", "Input should be greater than or equal to " + least);
    ((ObjectNode) detail.get(0)).putObject("ctx").put("ge", least);
    return new HttpException(422, detail);
  }

  private HttpException invalid(String type, String message) {
    return new HttpException(422, detail(type, message));
  }

  private ArrayNode detail(String type, String message) {
    ArrayNode detail = JSON.createArrayNode();
    ObjectNode one = detail.addObject().put("type", type);
    ArrayNode path = one.putArray("loc");
    location.forEach(step -> {
      if (step instanceof Integer index) {
        path.add(index);
      } else {
        path.add(step.toString());
      }
    });
    one.put("msg", message).set("input", value);
    return detail;
  }

  private BodyField at(Object step, JsonNode there) {
    List<Object> path = new ArrayList<>(location);
    path.add(step);
    return new BodyField(path, there);
  }
}

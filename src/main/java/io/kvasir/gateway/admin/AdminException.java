package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reason why the admin API refuses a request. The answer is {@code {"error": {"code", "message", "field",
 * "faults"}}}: {@code field} where one is to blame, {@code faults} where there can be several, each with a
 * {@code field} and a {@code message} of its own.
 */
public final class AdminException extends Exception {
  private static final long serialVersionUID = 1;

  private final int status;
  private final @Nullable String field;
  private final transient List<ObjectNode> faults;

  private AdminException(int status, String message, @Nullable String field, List<ObjectNode> faults) {
    super(message);
    this.status = status;
    this.field = field;
    this.faults = faults;
  }

  /** With a status from 400 up, the kind of refusal. */
  public static AdminException of(int status, String message) {
    return new AdminException(status, message, null, List.of());
  }

  /** The request itself is wrong: the field of the body, the parameter or the header to mend, and how. */
  public static AdminException invalid(String field, String message) {
    return new AdminException(400, message, field, List.of());
  }

  /** The request is right, and what a field of it names does not allow what it is for. */
  static AdminException unprocessable(String field, String message) {
    return new AdminException(422, message, field, List.of());
  }

  /** Several things are wrong, see {@link #fault}. */
  static AdminException faulty(int status, String message, List<ObjectNode> faults) {
    return new AdminException(status, message, null, faults);
  }

  /** One of several things that are wrong, to which more may be added. */
  static ObjectNode fault(String field, String message) {
    return AdminResponse.object().put("field", field).put("message", message);
  }

  int status() {
    return status;
  }

  /** The answer's body. */
  ObjectNode body() {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    ObjectNode error = body.putObject("error").put("code", code()).put("message", getMessage());
    if (field != null) {
      error.put("field", field);
    }
    if (!faults.isEmpty()) {
      error.putArray("faults").addAll(faults);
    }
    return body;
  }

  private String code() {
    return switch (status) {
      case 400 -> "invalid_request";
      case 401 -> "unauthorized";
      case 403 -> "forbidden";
      case 404 -> "not_found";
      case 405 -> "method_not_allowed";
      case 408 -> "request_timeout";
      case 409 -> "conflict";
      case 413 -> "body_too_large";
      case 415 -> "unsupported_media_type";
      case 422 -> "refused";
      case 503 -> "unavailable";
      default -> "internal_error";
    };
  }
}

package io.kvasir.sim.json;

import org.jspecify.annotations.Nullable;

/** An error that the engine's API answers a request with. */
public final class EngineApiException extends Exception {
  private static final long serialVersionUID = 1;

  /** What refuses a request, as that decides the shape of the answer. */
  public enum Origin {
    /** The engine's own rules. */
    ENGINE,
    /** The types of the body's fields, which the server's framework checks before anything else. */
    FIELDS,
    /** The server's framework, which knows no such path or method. */
    ROUTES
  }

  private final int status;
  private final String type;
  private final @Nullable String param;
  private final Origin origin;

  private EngineApiException(int status, String type, String message, @Nullable String param, Origin origin) {
    super(message, null, false, false);
    this.status = status;
    this.type = type;
    this.param = param;
    this.origin = origin;
  }

  private static EngineApiException of(int status, String message, @Nullable String param) {
    return new EngineApiException(status, type(status), message, param, Origin.ENGINE);
  }

  public static EngineApiException badRequest(String message) {
    return of(400, message, null);
  }

  public static EngineApiException badRequest(String message, String param) {
    return of(400, message, param);
  }

  /** As vLLM reports a parameter that it does not allow, whose name it appends. */
  public static EngineApiException parameter(String message, String param) {
    return badRequest(message + " (parameter=" + param + ")", param);
  }

  /** As vLLM reports a parameter's value that it does not allow, which it appends. */
  public static EngineApiException parameter(String message, String param, Object value) {
    return badRequest(message + " (parameter=" + param + ", value=" + value + ")", param);
  }

  public static EngineApiException notFound(String message, @Nullable String param) {
    return of(404, message, param);
  }

  /** As the Responses API reports what it does not have. */
  public static EngineApiException invalidRequest(int status, String message, String param) {
    return new EngineApiException(status, "invalid_request_error", message, param, Origin.ENGINE);
  }

  public static EngineApiException of(int status, String message) {
    return of(status, message, null);
  }

  /** What FastAPI answers where there is no such path. */
  public static EngineApiException noRoute() {
    return new EngineApiException(404, "Not Found", "Not Found", null, Origin.ROUTES);
  }

  /**
   * What FastAPI answers where a path has other methods.
   *
   * @param methods that it has, the value of the header {@code Allow}
   */
  public static EngineApiException methodNotAllowed(String methods) {
    return new EngineApiException(405, "Method Not Allowed", "Method Not Allowed", methods, Origin.ROUTES);
  }

  /**
   * As vLLM reports fields that are wrong before it reads the request itself.
   *
   * @param errors each as Python writes it
   * @param param where the first is, such as {@code body.n}; null when it is nowhere
   */
  public static EngineApiException fields(String errors, @Nullable String param) {
    return new EngineApiException(
        400, "Bad Request", "1 validation error:\n  " + errors, param, Origin.FIELDS);
  }

  /** As vLLM reports an absent field of the body. */
  public static EngineApiException missing(String field) {
    return fields(
        "{'type': 'missing', 'loc': 'body." + field + "', 'msg': 'Field required'}", "body." + field);
  }

  public int status() {
    return status;
  }

  /** The parameter that is wrong, or the methods that are allowed; null where there is neither. */
  public @Nullable String param() {
    return param;
  }

  /** The error's type, as the engine names it. */
  public String type() {
    return type;
  }

  public Origin origin() {
    return origin;
  }

  private static String type(int status) {
    return switch (status) {
      case 400 -> "BadRequestError";
      case 404 -> "NotFoundError";
      case 422 -> "UnprocessableEntityError";
      case 429 -> "Too Many Requests";
      case 500 -> "InternalServerError";
      case 501 -> "NotImplementedError";
      case 503 -> "Service Unavailable";
      default -> "Error";
    };
  }
}

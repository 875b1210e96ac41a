package io.kvasir.sim.json;

import org.jspecify.annotations.Nullable;

/** An error that the engine's API answers a request with. */
public final class EngineApiException extends Exception {
  private static final long serialVersionUID = 1;

  private final int status;
  private final @Nullable String param;

  private EngineApiException(int status, String message, @Nullable String param) {
    super(message, null, false, false);
    this.status = status;
    this.param = param;
  }

  public static EngineApiException badRequest(String message) {
    return new EngineApiException(400, message, null);
  }

  public static EngineApiException badRequest(String message, String param) {
    return new EngineApiException(400, message, param);
  }

  public static EngineApiException notFound(String message, @Nullable String param) {
    return new EngineApiException(404, message, param);
  }

  public static EngineApiException of(int status, String message) {
    return new EngineApiException(status, message, null);
  }

  /** As the engine's request validation reports an absent field. */
  public static EngineApiException missing(String field) {
    return badRequest(
        "[{'type': 'missing', 'loc': ('body', '" + field + "'), 'msg': 'Field required', 'input': {}}]");
  }

  public int status() {
    return status;
  }

  public @Nullable String param() {
    return param;
  }

  /** The error's type, as the engine names it by its status. */
  public String type() {
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

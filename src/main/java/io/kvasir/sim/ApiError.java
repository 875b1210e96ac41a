package io.kvasir.sim;

import org.jspecify.annotations.Nullable;

/** A request the engine refuses, as its API says so. */
final class ApiError extends Exception {
  private static final long serialVersionUID = 1;

  private final int status;
  private final @Nullable String param;

  private ApiError(int status, String message, @Nullable String param) {
    super(message, null, false, false);
    this.status = status;
    this.param = param;
  }

  static ApiError badRequest(String message) {
    return new ApiError(400, message, null);
  }

  static ApiError badRequest(String message, String param) {
    return new ApiError(400, message, param);
  }

  static ApiError notFound(String message, @Nullable String param) {
    return new ApiError(404, message, param);
  }

  static ApiError of(int status, String message) {
    return new ApiError(status, message, null);
  }

  /** As the engine's request validation reports an absent field. */
  static ApiError missing(String field) {
    return badRequest(
        "[{'type': 'missing', 'loc': ('body', '" + field + "'), 'msg': 'Field required', 'input': {}}]");
  }

  int status() {
    return status;
  }

  @Nullable String param() {
    return param;
  }

  String type() {
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

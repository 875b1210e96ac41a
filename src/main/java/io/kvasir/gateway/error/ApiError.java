package io.kvasir.gateway.error;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An error of the router's own.
 *
 * @param status HTTP status, 400..599
 * @param message what is wrong and what to do about it
 * @param param the field at fault, null when it is none
 * @param code a short name for programs
 * @param type the kind of error in OpenAI's APIs, null for that of the status
 * @param retryAfterMillis when to come back, 0 when that would not help, {@link #NEVER} when the same request must
 *     not be sent again
 * @param refusal the gate that refused the request, null where the request itself is at fault or something failed
 */
public record ApiError(
    int status,
    String message,
    @Nullable String param,
    String code,
    @Nullable String type,
    long retryAfterMillis,
    @Nullable GateRefusal refusal) {
  /** The same request must not be sent again: clients that repeat failed requests by themselves are told so. */
  public static final int NEVER = -1;

  static final ApiError INTERNAL =
      of(500, "internal_error", "The router failed on this request. Its log says why, under its id.");

  /** Nobody reads it: the client has disconnected. */
  public static final ApiError CLIENT_LEFT =
      of(ClientCancelled.STATUS, "client_disconnected", "The client has disconnected.");

  /** A model that no worker serves, or not to this caller. */
  public static ApiError unknownModel(String model) {
    return new ApiError(
        404,
        "The model '%s' does not exist here. GET /v1/models lists those that do.".formatted(model),
        "model",
        "model_not_found",
        null,
        0,
        null);
  }

  /** Credentials that are nobody's. */
  public static ApiError unauthenticated(String message) {
    return of(401, "invalid_api_key", message);
  }

  /** Something that the caller may not do. */
  public static ApiError forbidden(String message) {
    return of(403, "permission_denied", message);
  }

  public static ApiError badField(String field, String code, String message) {
    return new ApiError(400, message, field, code, null, 0, null);
  }

  public static ApiError of(int status, String code, String message) {
    return new ApiError(status, message, null, code, null, 0, null);
  }

  /** The same, to be repeated after some seconds, or {@link #NEVER}. */
  public ApiError retryAfter(int seconds) {
    return new ApiError(status, message, param, code, type, seconds == NEVER ? NEVER : seconds * 1000L, refusal);
  }

  /** The same, to be repeated after a time. */
  public ApiError retryAfter(Duration time) {
    return new ApiError(status, message, param, code, type, time.toMillis(), refusal);
  }

  /** The same with another kind of error in OpenAI's APIs. */
  public ApiError typed(String kind) {
    return new ApiError(status, message, param, code, kind, retryAfterMillis, refusal);
  }

  /** The same, refused by a gate; null for none. */
  public ApiError refusedBy(@Nullable GateRefusal gate) {
    return new ApiError(status, message, param, code, type, retryAfterMillis, gate);
  }

  /** Whether the same request may be served when it is sent again later. */
  boolean isRetryable() {
    return retryAfterMillis > 0;
  }
}

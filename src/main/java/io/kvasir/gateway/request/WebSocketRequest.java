package io.kvasir.gateway.request;

import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Requests for a WebSocket (RFC 6455 §4). All that decides where one goes is in its head: nothing may be sent on it
 * before the answer.
 */
public final class WebSocketRequest {
  private static final String PROTOCOL = "websocket";
  private static final String MODEL = "model";
  private static final int KEY_LENGTH = 24;

  private WebSocketRequest() {}

  /** Whether a request is for a WebSocket: one that is only for another protocol is answered in HTTP. */
  public static boolean matches(ApiPath api, InboundRequest inbound) {
    // A proxy sees to it itself.
    return !api.postOnly() && inbound.handover() == null && matches(inbound.exchange());
  }

  private static boolean matches(Exchange exchange) {
    Headers headers = exchange.headers();
    return exchange.method().equals("GET")
        && headers.hasToken("Upgrade", PROTOCOL)
        && headers.hasToken("Connection", "upgrade");
  }

  /**
   * Checks a request for a WebSocket.
   *
   * @throws ApiException when it is not one that an engine can answer, or a page's that may not open one
   */
  public static void check(Exchange exchange, WebSocketSettings settings) throws ApiException {
    Headers headers = exchange.headers();
    if (!"13".equals(headers.only("Sec-WebSocket-Version"))) {
      throw new ApiException(
          upgradeRequired("This version of the protocol is not supported: send Sec-WebSocket-Version: 13."));
    }
    String key = headers.only("Sec-WebSocket-Key");
    if (key == null || key.length() != KEY_LENGTH) {
      throw new ApiException(
          ApiError.badField(
              "Sec-WebSocket-Key", "invalid_websocket",
              "A request for a WebSocket has one Sec-WebSocket-Key: 16 random bytes in Base64."));
    }
    if (exchange.body().length > 0) {
      throw new ApiException(
          ApiError.of(400, "invalid_websocket", "A request for a WebSocket has no body. Send it without one."));
    }
    String origin = headers.first("Origin");
    if (origin != null && !isOwn(origin, headers.first("Host"))
        && !settings.origins().contains(origin) && !settings.origins().contains("*")) {
      throw new ApiException(
          ApiError.forbidden(
              "Pages of %s may not open WebSockets here: the operator has to list it in kvasir.gateway.cors-origins."
                  .formatted(origin)));
    }
  }

  private static boolean isOwn(String origin, @Nullable String host) {
    String lower = origin.toLowerCase(Locale.ROOT);
    return host != null
        && (lower.equals("http://" + host.toLowerCase(Locale.ROOT))
            || lower.equals("https://" + host.toLowerCase(Locale.ROOT)));
  }

  /** The error of a request at a path that serves WebSockets only. */
  public static ApiError required(String path) {
    return upgradeRequired("%s is for WebSockets: open one, with GET and Upgrade: websocket.".formatted(path));
  }

  private static ApiError upgradeRequired(String message) {
    return ApiError.of(426, "upgrade_required", message);
  }

  /**
   * The model in a target's query, null without one.
   *
   * @throws ApiException when there are two: an engine could take another than the router
   */
  static @Nullable String model(String target) throws ApiException {
    int query = target.indexOf('?');
    if (query < 0) {
      return null;
    }
    String model = null;
    for (String parameter : target.substring(query + 1).split("&", -1)) {
      int equals = parameter.indexOf('=');
      if (equals < 0 || !decoded(parameter.substring(0, equals)).equals(MODEL)) {
        continue;
      }
      if (model != null) {
        throw new ApiException(
            ApiError.badField("model", "invalid_model", "The query names a model more than once. Send one."));
      }
      model = decoded(parameter.substring(equals + 1));
    }
    return model == null || model.isBlank() ? null : model;
  }

  private static String decoded(String value) throws ApiException {
    try {
      return URLDecoder.decode(value, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new ApiException(
          ApiError.badField("model", "invalid_model", "The query is not percent-encoded UTF-8."));
    }
  }

  /** Headers from which what belongs to one connection was taken, with the protocol, for the engine or the client. */
  public static Headers named(Headers headers) {
    return headers.toBuilder().set("Upgrade", PROTOCOL).build();
  }
}

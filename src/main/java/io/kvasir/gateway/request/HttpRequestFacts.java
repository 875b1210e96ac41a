package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.access.Caller;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.routing.RequestFacts;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A request's facts as the gateway has them. Its API key is hashed when the tenant is read, and never kept. */
public final class HttpRequestFacts implements RequestFacts {
  private static final String BEARER = "Bearer ";
  private static final int HASH_DIGITS = 16;
  private static final int LONGEST_TENANT = 128;

  private final Headers headers;
  private final ApiPath api;
  private final @Nullable JsonNode body;
  private final InetAddress client;
  private final Caller caller;
  private final List<String> tenantHeaders;
  private final boolean proxied;
  private @Nullable String tenant;
  private @Nullable Supplier<int @Nullable []> tokens;

  /**
   * The facts of a request.
   *
   * @param proxied whether a proxy has shown it, of which the picker has set what only that may set
   */
  HttpRequestFacts(
      Headers headers,
      ApiPath api,
      @Nullable JsonNode body,
      InetAddress client,
      Caller caller,
      List<String> tenantHeaders,
      boolean proxied) {
    this.headers = headers;
    this.api = api;
    this.body = body;
    this.client = client;
    this.caller = caller;
    this.tenantHeaders = tenantHeaders;
    this.proxied = proxied;
  }

  @Override
  public @Nullable String header(String name) {
    if (!proxied && name.equalsIgnoreCase(ProxiedRequest.PRIORITY)) {
      return null;
    }
    String value = headers.first(name);
    return value == null || value.isBlank() ? null : value;
  }

  @Override
  public @Nullable String field(String path) {
    JsonNode node = body;
    for (int from = 0; node != null && from <= path.length(); ) {
      int dot = path.indexOf('.', from);
      int to = dot < 0 ? path.length() : dot;
      node = node.get(path.substring(from, to));
      from = to + 1;
    }
    if (node == null || !node.isValueNode() || node.isNull()) {
      return null;
    }
    String value = node.asText();
    return value.isBlank() ? null : value;
  }

  @Override
  public @Nullable String userText(UserTurn turn) {
    return !api.generates() || body == null ? null : UserText.in(body, turn);
  }

  @Override
  public String tenant() {
    String known = tenant;
    if (known == null) {
      known = caller.isIdentified() ? caller.tenant() : describe();
      tenant = known;
    }
    return known;
  }

  /**
   * The identity of whom the request's answers are kept for, which nobody else shares, where {@link #tenant} is a name
   * for people.
   */
  public String owner() {
    if (caller.isIdentified()) {
      String group = caller.cacheGroup();
      return group == null ? "tenant " + caller.tenant() : group;
    }
    String named = named();
    if (named != null) {
      return "name " + named;
    }
    String key = apiKey();
    return key == null ? "" : "key " + hashed(key);
  }

  private String describe() {
    String named = named();
    if (named != null) {
      return named.length() <= LONGEST_TENANT ? named : named.substring(0, LONGEST_TENANT);
    }
    String key = apiKey();
    return key == null ? "" : "key-" + hashed(key).substring(0, HASH_DIGITS);
  }

  /** The tenant's name in one of the headers that the operator has configured, null without one. */
  private @Nullable String named() {
    for (String name : tenantHeaders) {
      String value = header(name);
      if (value != null) {
        return value;
      }
    }
    return null;
  }

  private @Nullable String apiKey() {
    String authorization = header("Authorization");
    if (authorization == null) {
      return header("X-Api-Key");
    }
    return authorization.regionMatches(true, 0, BEARER, 0, BEARER.length())
        ? authorization.substring(BEARER.length()).strip()
        : authorization;
  }

  private static String hashed(String key) {
    try {
      byte[] hash = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash);
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }

  /** Sets the supplier of the prompt's tokens, called when they are needed. */
  void setTokenSource(Supplier<int @Nullable []> source) {
    tokens = source;
  }

  @Override
  public int @Nullable [] tokens() {
    Supplier<int @Nullable []> source = tokens;
    return source == null ? null : source.get();
  }

  @Override
  public InetAddress client() {
    return client;
  }
}

package io.kvasir.routing;

import java.net.InetAddress;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Facts of a request of which only some headers, fields, texts and the tenant are known, all by their names. */
record TestFacts(Map<String, String> known) implements RequestFacts {
  static RequestFacts of(Map<String, String> known) {
    return new TestFacts(known);
  }

  @Override
  public @Nullable String header(String name) {
    return known.get(name);
  }

  @Override
  public @Nullable String field(String path) {
    return known.get(path);
  }

  @Override
  public @Nullable String userText(Turn turn) {
    return known.get(turn == Turn.FIRST ? "first text" : "last text");
  }

  @Override
  public String tenant() {
    return known.getOrDefault("tenant", "");
  }

  @Override
  public @Nullable InetAddress client() {
    return null;
  }
}

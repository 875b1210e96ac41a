package io.kvasir.routing;

import java.net.InetAddress;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Facts of a request of which only some are known.
 *
 * @param known headers, fields, texts and the tenant, all by their names
 * @param ids the prompt's tokens, made when they are read
 */
public record TestFacts(Map<String, String> known, Supplier<int @Nullable []> ids) implements RequestFacts {
  /** Facts of a request whose tokens are not known. */
  public static TestFacts of(Map<String, String> known) {
    return new TestFacts(known, () -> null);
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
  public @Nullable String userText(UserTurn turn) {
    return known.get(turn == UserTurn.FIRST ? "first text" : "last text");
  }

  @Override
  public String tenant() {
    return known.getOrDefault("tenant", "");
  }

  @Override
  public int @Nullable [] tokens() {
    return ids.get();
  }

  @Override
  public @Nullable InetAddress client() {
    return null;
  }
}

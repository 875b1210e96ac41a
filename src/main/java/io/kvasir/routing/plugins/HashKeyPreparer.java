package io.kvasir.routing.plugins;

import io.kvasir.index.Chain;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The hash key that related requests share. It is a hash of the first of the {@code from} sources that the request has:
 * {@code prefix}, the prompt's first {@code blocks} (2) blocks, as many prompts share the very first; {@code session};
 * {@code tenant}; {@code header:NAME}; {@code field:PATH}. A request with none of them has no key.
 */
final class HashKeyPreparer implements Preparer {
  private static final String HEADER = "header:";
  private static final String FIELD = "field:";

  private final List<String> from;
  private final int blocks;

  HashKeyPreparer(Parameters parameters) {
    this.from = parameters.texts("from", List.of("prefix"));
    this.blocks = parameters.whole("blocks", 2, 1, 1_000_000);
    for (String source : from) {
      boolean known =
          switch (source) {
            case "prefix", "session", "tenant" -> true;
            default ->
                (source.startsWith(HEADER) && source.length() > HEADER.length())
                    || (source.startsWith(FIELD) && source.length() > FIELD.length());
          };
      if (!known) {
        throw new IllegalArgumentException(
            "\"from\" has \"" + source + "\", which is none of prefix, session, tenant, header:NAME, field:PATH");
      }
    }
  }

  @Override
  public void prepare(RoutingContext context) {
    long key = Slots.NO_KEY;
    for (int i = 0; i < from.size() && key == Slots.NO_KEY; i++) {
      key = from.get(i).equals("prefix") ? prefix(context) : hash(text(from.get(i), context));
    }
    context.put(Slots.HASH_KEY, key);
  }

  private long prefix(RoutingContext context) {
    Chain chain = context.get(Slots.CHAIN);
    int last = Math.min(blocks, chain.length()) - 1;
    return last < 0 ? Slots.NO_KEY : Hashing.mix(chain.hashes()[last]);
  }

  private static @Nullable String text(String source, RoutingContext context) {
    return switch (source) {
      case "session" -> context.get(Slots.SESSION_KEY);
      case "tenant" -> context.facts().tenant();
      default ->
          source.startsWith(HEADER)
              ? context.facts().header(source.substring(HEADER.length()))
              : context.facts().field(source.substring(FIELD.length()));
    };
  }

  private static long hash(@Nullable String text) {
    return text == null || text.isEmpty() ? Slots.NO_KEY : Hashing.mix(Hashing.of(text));
  }

  @Override
  public Set<Slot<?>> reads() {
    Set<Slot<?>> reads = new HashSet<>();
    reads.add(Slots.FACTS);
    if (from.contains("prefix")) {
      reads.add(Slots.CHAIN);
    }
    if (from.contains("session")) {
      reads.add(Slots.SESSION_KEY);
    }
    return reads;
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(Slots.HASH_KEY);
  }
}

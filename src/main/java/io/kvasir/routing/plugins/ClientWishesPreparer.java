package io.kvasir.routing.plugins;

import io.kvasir.routing.InvalidRoutingHintException;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * The client's routing hints: labels in {@code labels-header} (X-Router-Labels), worker names in {@code allow-header}
 * (X-Router-Allow) and {@code exclude-header} (X-Router-Exclude), each at most {@value #MAX_LENGTH} characters. Filters
 * read them where they have {@code from-client = true}; invalid label selectors are an error for the client.
 */
final class ClientWishesPreparer implements Preparer {
  private static final int MAX_LENGTH = 1024;

  private final String labelsHeader;
  private final String allowHeader;
  private final String excludeHeader;

  ClientWishesPreparer(Parameters parameters) {
    this.labelsHeader = parameters.text("labels-header", "X-Router-Labels");
    this.allowHeader = parameters.text("allow-header", "X-Router-Allow");
    this.excludeHeader = parameters.text("exclude-header", "X-Router-Exclude");
  }

  @Override
  public void prepare(RoutingContext context) {
    String labels = hint(context, labelsHeader);
    try {
      LabelSelector.of(labels);
    } catch (IllegalArgumentException invalid) {
      throw new InvalidRoutingHintException("Header " + labelsHeader + ": " + invalid.getMessage() + ".");
    }
    context.put(Slots.REQUIRED_LABELS, labels);
    context.put(Slots.ALLOWED_WORKERS, hint(context, allowHeader));
    context.put(Slots.EXCLUDED_WORKERS, hint(context, excludeHeader));
  }

  private static String hint(RoutingContext context, String header) {
    String value = context.facts().header(header);
    if (value == null) {
      return "";
    }
    if (value.length() > MAX_LENGTH) {
      throw new InvalidRoutingHintException(
          "Header %s has %d characters; at most %d are allowed.".formatted(header, value.length(), MAX_LENGTH));
    }
    return value;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.FACTS);
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(Slots.REQUIRED_LABELS, Slots.ALLOWED_WORKERS, Slots.EXCLUDED_WORKERS);
  }
}
